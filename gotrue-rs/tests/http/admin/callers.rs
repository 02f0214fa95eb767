//! Authorization of every route below `/admin` for every kind of caller.

use chrono::TimeDelta;
use gotrue_rs::routes::{RouteSummary, list_routes};
use gotrue_rs::testing::World;
use http::Method;
use serde_json::json;

use super::{ANN, UNKNOWN_USER_ID, account, admin_request_by, read, update};

fn admin_lines() -> Vec<RouteSummary> {
    list_routes().into_iter().filter(|line| line.path.starts_with("/admin") || line.path == "/invite").collect()
}

#[tokio::test]
async fn f2_every_admin_route_refuses_non_administrators() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    let ann = world.create_user(ANN).await;
    let anonymous = world.post("/signup", json!({})).await.expect(200);
    let exp = world.now().timestamp() + 600;
    let callers = [
        (None, (401, "no_authorization")),
        (Some(ann.access_token.clone()), (403, "not_admin")),
        (Some(anonymous.str("access_token").to_owned()), (403, "not_admin")),
        (Some(world.sign_claims(&json!({"role": "anon", "exp": exp}))), (403, "not_admin")),
        (Some(world.sign_claims(&json!({"role": "", "exp": exp}))), (403, "not_admin")),
        (Some(world.sign_claims(&json!({"exp": exp}))), (403, "not_admin")),
        (Some(world.sign_claims(&json!({"role": "service_role", "exp": exp - 601}))), (403, "bad_jwt")),
        (Some("nonsense".to_owned()), (403, "bad_jwt")),
    ];
    assert!(!admin_lines().is_empty());
    for line in admin_lines() {
        for id in [ann.id.as_str(), UNKNOWN_USER_ID, "nonsense"] {
            let path = line.path.replace("{user_id}", id);
            for (token, refusal) in &callers {
                let answer = admin_request_by(&world, token.as_deref(), &line.method, &path).await;
                assert_eq!(answer.refusal(), *refusal, "{} {path} by {token:?}", line.method);
            }
        }
    }
}

#[tokio::test]
async fn f2_every_admin_route_authorizes_before_parsing() {
    for line in admin_lines() {
        assert_eq!(line.guards.first(), Some(&"Admin"), "{} {}", line.method, line.path);
    }
}

#[tokio::test]
async fn unknown_admin_path_or_method_is_reported_to_administrators_only() {
    let world = World::new().await;
    let (service, ann) = (world.service_token(), world.create_user(ANN).await);
    for (method, path, status) in [
        (Method::PATCH, format!("/admin/users/{}", ann.id), 405),
        (Method::GET, format!("/admin/users/{}/nothing", ann.id), 404),
        (Method::GET, "/admin/nothing".to_owned(), 404),
    ] {
        let answer = admin_request_by(&world, Some(&service), &method, &path).await;
        assert_eq!(answer.status.as_u16(), status, "{path}");
        let answer = admin_request_by(&world, Some(&ann.access_token), &method, &path).await;
        assert_eq!(answer.refusal(), (403, "not_admin"), "{path}");
    }
}

#[tokio::test]
async fn malformed_or_unknown_user_id_is_refused() {
    let world = World::new().await;
    for line in admin_lines().into_iter().filter(|line| line.path.contains("{user_id}")) {
        for (id, refusal) in [("nonsense", (404, "validation_failed")), (UNKNOWN_USER_ID, (404, "user_not_found"))] {
            let path = line.path.replace("{user_id}", id);
            let answer = admin_request_by(&world, Some(&world.service_token()), &line.method, &path).await;
            assert_eq!(answer.refusal(), refusal, "{} {path}", line.method);
        }
    }
}

#[tokio::test]
async fn c2_signed_out_admin_user_is_refused() {
    let world = World::new().await;
    let ann = account(&world, ANN).await;
    let boss = account(&world, "boss@example.com").await;
    update(&world, boss.str("id"), json!({"role": "service_role"})).await.expect(200);
    let boss = world.sign_in("boss@example.com").await;
    let path = format!("/admin/users/{}", ann.str("id"));
    world.get_as(&boss.access_token, &path).await.expect(200);
    world.post_as(&boss.access_token, "/logout", json!({})).await.expect(204);
    assert_eq!(world.get_as(&boss.access_token, &path).await.refusal(), (403, "session_not_found"));
}

#[tokio::test]
async fn admin_user_with_expired_session_is_refused() {
    let world = World::with(|policy| policy.sessions.timebox = Some(std::time::Duration::from_mins(10))).await;
    let boss = account(&world, ANN).await;
    update(&world, boss.str("id"), json!({"role": "supabase_admin"})).await.expect(200);
    let signed_in = world.sign_in(ANN).await;
    world.advance(TimeDelta::minutes(11));
    let path = format!("/admin/users/{}", boss.str("id"));
    assert_eq!(world.get_as(&signed_in.access_token, &path).await.refusal(), (403, "session_expired"));
}

#[tokio::test]
async fn reading_a_user_sends_one_statement() {
    let world = World::new().await;
    let ann = account(&world, ANN).await;
    let answer = read(&world, ann.str("id")).await.expect(200);
    assert_eq!(answer.str("email"), ANN);
    assert_eq!(world.journal().statements(), ["users.with_session"]);
}
