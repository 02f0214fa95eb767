//! C: sessions under races, after changes, and across accounts.

use chrono::TimeDelta;
use futures::future::{join, join_all};
use gotrue_rs::testing::{PASSWORD, TestUser, World};
use serde_json::json;

const ANN: &str = "ann@example.com";

async fn count(world: &World, sql: &str) -> usize {
    world.database.query(sql).await.len()
}

#[tokio::test]
async fn c1_hundred_concurrent_refreshes_issue_one_token() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    world.clock.run();
    let answers = join_all((0..100).map(|_| world.refresh(&user.refresh_token))).await;
    let mut tokens: Vec<&str> =
        answers.iter().map(|answer| answer.str("refresh_token")).filter(|token| !token.is_empty()).collect();
    assert!(tokens.len() > 1, "{} of 100 were answered", tokens.len());
    tokens.dedup();
    assert_eq!(tokens.len(), 1, "all get the same child: {tokens:?}");
    assert!(answers.iter().all(|answer| matches!(answer.status.as_u16(), 200 | 409)), "no session ends");
    assert_eq!(count(&world, "SELECT id FROM auth.refresh_tokens").await, 2);
    world.refresh(tokens[0]).await.expect(200);
}

#[tokio::test]
async fn c1_concurrent_refreshes_of_a_signed_token_count_once() {
    let world = World::with(|policy| policy.refresh.algorithm_version = 2).await;
    let user = world.create_user(ANN).await;
    world.clock.run();
    let answers = join_all((0..50).map(|_| world.refresh(&user.refresh_token))).await;
    assert!(answers.iter().all(|answer| matches!(answer.status.as_u16(), 200 | 409)), "no session ends");
    assert_eq!(world.database.query("SELECT refresh_token_counter FROM auth.sessions").await, ["1"]);
}

#[tokio::test]
async fn c1_two_refreshes_past_validation_issue_one_token() {
    let world = World::with(|policy| policy.sessions.single_per_user = true).await;
    let user = world.create_user(ANN).await;
    world.clock.run();
    // One stands between its look at the token and its lock while the other goes all the way.
    let gate = world.faults.wait("refresh_tokens.lock", 1);
    let first = world.refresh(&user.refresh_token);
    let second = async {
        gate.wait_until_reached().await;
        let answer = world.refresh(&user.refresh_token).await.expect(200);
        gate.open();
        answer
    };
    let (first, second) = join(first, second).await;
    assert_eq!(first.expect(200).str("refresh_token"), second.str("refresh_token"));
    assert_eq!(count(&world, "SELECT id FROM auth.refresh_tokens").await, 2);
}

#[tokio::test]
async fn c1_concurrent_sign_ups_of_one_email_create_one_user() {
    let world = World::new().await;
    let body = json!({"email": ANN, "password": PASSWORD});
    join_all((0..20).map(|_| world.post("/signup", body.clone()))).await;
    assert_eq!(count(&world, "SELECT id FROM auth.users").await, 1);
    assert_eq!(count(&world, "SELECT id FROM auth.identities").await, 1);
    assert_eq!(count(&world, "SELECT id FROM auth.one_time_tokens").await, 1);
}

#[tokio::test]
async fn c1_two_verifications_past_validation_succeed_once() {
    let world = World::new().await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    let body = json!({"type": "signup", "email": ANN, "token": world.code(ANN)});
    let gate = world.faults.wait("accounts.confirm_email", 1);
    let first = world.post("/verify", body.clone());
    let second = async {
        gate.wait_until_reached().await;
        let answer = world.post("/verify", body.clone()).await;
        gate.open();
        answer
    };
    let (first, second) = join(first, second).await;
    second.expect(200);
    assert_eq!(first.refusal(), (403, "otp_expired"));
    assert_eq!(count(&world, "SELECT id FROM auth.sessions").await, 1);
}

#[tokio::test]
async fn c1_two_exchanges_past_validation_succeed_once() {
    let world = World::new().await;
    let verifier = "a-verifier-of-forty-three-characters-or-more";
    let body =
        json!({"email": ANN, "password": PASSWORD, "code_challenge": verifier, "code_challenge_method": "plain"});
    world.post("/signup", body).await.expect(200);
    let location = world.get(&world.link(ANN)).await.header("location").to_owned();
    let code = location.split_once("code=").map(|(_, code)| code.to_owned()).expect("a code");
    let grant = json!({"auth_code": code, "code_verifier": verifier});
    let gate = world.faults.wait("flow_state.delete", 1);
    let first = world.post("/token?grant_type=pkce", grant.clone());
    let second = async {
        gate.wait_until_reached().await;
        let answer = world.post("/token?grant_type=pkce", grant.clone()).await;
        gate.open();
        answer
    };
    let (first, second) = join(first, second).await;
    second.expect(200);
    assert_eq!(first.refusal(), (404, "flow_state_not_found"));
}

/// The statuses of `GET /user` and of a refresh in this and another session after each operation.
const ENDINGS: [(&str, [u16; 4]); 6] = [
    ("a global logout", [403, 400, 403, 400]),
    ("a logout of the others", [200, 200, 403, 400]),
    ("a new password", [200, 200, 403, 400]),
    ("a ban", [403, 400, 403, 400]),
    ("the account's end", [403, 400, 403, 400]),
    ("a local logout", [403, 400, 200, 200]),
];

async fn perform(world: &World, what: &str, here: &TestUser) {
    let log_out = async |scope: &str| {
        world.post_as(&here.access_token, &format!("/logout?scope={scope}"), json!({})).await.expect(204);
    };
    match what {
        "a global logout" => log_out("global").await,
        "a logout of the others" => log_out("others").await,
        "a local logout" => log_out("local").await,
        "a new password" => {
            world.put_as(&here.access_token, "/user", json!({"password": "another password"})).await.expect(200);
        }
        "a ban" => {
            let until = world.now() + TimeDelta::hours(1);
            world.database.query(&format!("UPDATE auth.users SET banned_until = '{}'", until.to_rfc3339())).await;
        }
        _ => {
            world.database.query("DELETE FROM auth.users").await;
        }
    }
}

#[tokio::test]
async fn c2_ending_a_session_revokes_all_its_tokens() {
    for version in [1, 2] {
        for (what, expected) in ENDINGS {
            let world = World::with(|policy| policy.refresh.algorithm_version = version).await;
            let other = world.create_user(ANN).await;
            let here = world.sign_in(ANN).await;
            perform(&world, what, &here).await;
            let mut found = Vec::new();
            for user in [&here, &other] {
                found.push(world.get_as(&user.access_token, "/user").await.status.as_u16());
                found.push(world.refresh(&user.refresh_token).await.status.as_u16());
            }
            assert_eq!(found, expected, "{what}, version {version}");
        }
    }
}

#[tokio::test]
async fn c2_new_password_revokes_pending_tokens_and_the_old_password() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    world.post("/recover", json!({"email": ANN})).await.expect(200);
    let code = world.code(ANN);
    world.put_as(&user.access_token, "/user", json!({"password": "another password"})).await.expect(200);
    let verify = json!({"type": "recovery", "email": ANN, "token": code});
    assert_eq!(world.post("/verify", verify).await.refusal(), (403, "otp_expired"));
    world.try_password(ANN, PASSWORD).await.expect(400);
}

#[tokio::test]
async fn c2_banned_user_cannot_redeem_pending_tokens() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    world.post("/recover", json!({"email": ANN})).await.expect(200);
    perform(&world, "a ban", &user).await;
    let verify = json!({"type": "recovery", "email": ANN, "token": world.code(ANN)});
    assert_eq!(world.post("/verify", verify).await.refusal(), (403, "user_banned"));
    assert!(world.get(&world.link(ANN)).await.header("location").contains("error_code=user_banned"));
    assert_eq!(count(&world, "SELECT id FROM auth.sessions").await, 1);
}

#[tokio::test]
async fn c2_role_change_applies_from_the_next_refresh() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    world.database.query("UPDATE auth.users SET role = 'viewer'").await;
    let answer = world.refresh(&user.refresh_token).await.expect(200);
    assert_eq!(answer.str("user/role"), "viewer");
    let claims = world.app.keys.verify(answer.str("access_token"), world.now());
    assert_eq!(claims.ok().and_then(|claims| claims.get("role").cloned()), Some(json!("viewer")));
}

#[tokio::test]
async fn c3_every_sign_in_opens_a_new_session() {
    let world = World::new().await;
    let mut sessions = vec![world.create_user(ANN).await.session];
    for _ in 0..3 {
        sessions.push(world.sign_in(ANN).await.session);
    }
    let all = sessions.len();
    sessions.sort();
    sessions.dedup();
    assert_eq!(sessions.len(), all);
}

#[tokio::test]
async fn c3_verification_ignores_the_current_session() {
    let world = World::new().await;
    let eve = world.create_user("eve@example.com").await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    let body = json!({"type": "signup", "email": ANN, "token": world.code(ANN), "session_id": eve.session});
    let ann = TestUser::from_session(&world.post_as(&eve.access_token, "/verify", body).await);
    assert_eq!(ann.email, ANN);
    assert_ne!(ann.session, eve.session);
    assert_eq!(world.get_as(&eve.access_token, "/user").await.expect(200).str("id"), eve.id);
}

#[tokio::test]
async fn c3_refresh_token_is_bound_to_its_session() {
    let world = World::new().await;
    let (ann, eve) = (world.create_user(ANN).await, world.create_user("eve@example.com").await);
    let body = json!({"refresh_token": ann.refresh_token});
    let answer = world.post_as(&eve.access_token, "/token?grant_type=refresh_token", body).await.expect(200);
    assert_eq!((answer.str("user/id"), answer.header("sb-auth-session-id")), (&*ann.id, &*ann.session));
}
