//! Timestamps that other programs stored: infinity, BC and years of five digits are read and shown by every reader.

use gotrue_rs::testing::World;
use serde_json::json;

const ANN: &str = "ann@example.com";
const PASSWORD: &str = "a long password";

const VALUES: [&str; 6] = [
    "infinity",
    "-infinity",
    "0044-03-15 12:00:00 BC",
    "10001-01-01 00:00:00",
    "294276-12-31 23:59:59.999999",
    "4714-11-24 00:00:00 BC",
];

/// The timestamp columns of the tables that a user, its session and its factor have rows in.
async fn timestamp_columns(world: &World) -> Vec<(String, String)> {
    let sql = "SELECT table_name || '.' || column_name
               FROM information_schema.columns
               WHERE table_schema = 'auth'
                 AND table_name IN ('users', 'identities', 'sessions', 'refresh_tokens', 'mfa_factors', 'mfa_amr_claims',
                                    'one_time_tokens', 'audit_log_entries')
                 AND data_type LIKE 'timestamp%'
                 AND is_generated = 'NEVER'
               ORDER BY 1";
    let names = world.database.query(sql).await;
    let pair = |name: String| name.split_once('.').map(|(table, column)| (table.to_owned(), column.to_owned()));
    names.into_iter().filter_map(pair).collect()
}

/// Requests of every reader of these tables; none of them may fail.
async fn read_everything(world: &World, id: &str, token: &str, refresh_token: &str) -> Vec<(String, u16)> {
    let service = world.service_token();
    let mut answers = Vec::new();
    for path in [
        "/admin/users".to_owned(),
        format!("/admin/users/{id}"),
        format!("/admin/users/{id}/factors"),
        "/admin/audit".to_owned(),
    ] {
        answers.push((path.clone(), world.get_as(&service, &path).await.status.as_u16()));
    }
    answers.push(("/user".to_owned(), world.get_as(token, "/user").await.status.as_u16()));
    answers.push(("/token".to_owned(), world.try_password(ANN, PASSWORD).await.status.as_u16()));
    let refresh = world.post("/token?grant_type=refresh_token", json!({"refresh_token": refresh_token})).await;
    answers.push(("refresh".to_owned(), refresh.status.as_u16()));
    answers.push(("/recover".to_owned(), world.post("/recover", json!({"email": ANN})).await.status.as_u16()));
    let update = world.put_as(&service, &format!("/admin/users/{id}"), json!({"user_metadata": {"seen": true}})).await;
    answers.push(("update".to_owned(), update.status.as_u16()));
    answers
}

#[tokio::test]
async fn extreme_times_of_every_column_are_read_by_every_reader() {
    let world = World::builder().policy(|policy| policy.mail.autoconfirm = true).build().await;
    let columns = timestamp_columns(&world).await;
    assert!(columns.len() > 20, "{columns:?}");
    for (table, column) in columns {
        for value in VALUES {
            world.database.query("TRUNCATE auth.users CASCADE").await;
            let session = world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
            let (id, token) = (
                session.json["user"]["id"].as_str().expect("an id").to_owned(),
                session.str("access_token").to_owned(),
            );
            let body = json!({"factor_type": "totp", "friendly_name": "phone"});
            world.post_as(&token, "/factors", body).await.expect(200);
            world.database.query(&format!("UPDATE auth.{table} SET {column} = '{value}'")).await;
            for (request, status) in read_everything(&world, &id, &token, session.str("refresh_token")).await {
                assert_ne!(status, 500, "{table}.{column} = {value}: {request}");
            }
        }
    }
}

#[tokio::test]
async fn ban_without_end_is_a_ban() {
    for builder in [World::builder(), World::builder().as_served()] {
        let world = builder.policy(|policy| policy.mail.autoconfirm = true).build().await;
        world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
        world.database.query("UPDATE auth.users SET banned_until = 'infinity'").await;
        assert_eq!(world.try_password(ANN, PASSWORD).await.refusal(), (400, "user_banned"));
        let listed = world.get_as(&world.service_token(), "/admin/users").await.expect(200);
        assert_eq!(listed.json["users"][0]["banned_until"], "9999-12-31T23:59:59.999999Z");
    }
}
