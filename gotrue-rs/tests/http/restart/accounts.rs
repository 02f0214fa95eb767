use gotrue_rs::testing::{PASSWORD, TestUser, World};
use http::Method;
use serde_json::{Value, json};

use super::in_turns;

/// As an administrator.
async fn administer(world: &World, method: Method, path: &str, body: Option<Value>) -> Value {
    let bearer = format!("Bearer {}", world.service_token());
    world.request(method, path, &[("authorization", &bearer)], body).await.expect(200).json
}

#[tokio::test]
async fn created_user_exists_after_restart() {
    in_turns(async |turn| {
        let email = turn.new_address();
        let body =
            json!({"email": email, "password": PASSWORD, "email_confirm": true, "app_metadata": {"plan": "free"}});
        let made = administer(turn.first, Method::POST, "/admin/users", Some(body)).await;
        let path = format!("/admin/users/{}", made["id"].as_str().expect("an id"));
        assert_eq!(administer(turn.second, Method::GET, &path, None).await["app_metadata"]["plan"], "free");
        turn.second.try_password(&email, PASSWORD).await.expect(200);

        administer(turn.second, Method::PUT, &path, Some(json!({"ban_duration": "24h"}))).await;
        assert_eq!(turn.first.try_password(&email, PASSWORD).await.refusal(), (400, "user_banned"));
        administer(turn.first, Method::DELETE, &path, None).await;
        assert_eq!(turn.second.try_password(&email, PASSWORD).await.refusal(), (400, "invalid_credentials"));
    })
    .await;
}

#[tokio::test]
async fn generated_link_works_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        let body = json!({"type": "recovery", "email": ann.email});
        let made = administer(turn.first, Method::POST, "/admin/generate_link", Some(body)).await;
        let code = json!({"type": "recovery", "token_hash": made["hashed_token"]});
        assert_eq!(TestUser::from_session(&turn.second.post("/verify", code).await).id, ann.id);
    })
    .await;
}

#[tokio::test]
async fn admin_user_stays_administrator_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        let path = format!("/admin/users/{}", ann.id);
        administer(turn.first, Method::PUT, &path, Some(json!({"role": "service_role"}))).await;
        let boss = turn.second.sign_in(&ann.email).await;
        turn.first.get_as(&boss.access_token, "/admin/users").await.expect(200);
        turn.first.get_as(&ann.access_token, "/admin/users").await.expect(403);
    })
    .await;
}

#[tokio::test]
async fn invitation_is_accepted_after_restart() {
    in_turns(async |turn| {
        let email = turn.new_address();
        administer(turn.first, Method::POST, "/invite", Some(json!({"email": email}))).await;
        let link = turn.first.link(&email);
        assert!(turn.second.get(&link).await.expect(303).header("location").contains("type=invite"));
    })
    .await;
}

#[tokio::test]
async fn anonymous_user_becomes_permanent_after_restart() {
    in_turns(async |turn| {
        let unknown = TestUser::from_session(&turn.first.post("/signup", json!({"data": {"cart": 1}})).await);
        let email = turn.new_address();
        turn.second.put_as(&unknown.access_token, "/user", json!({"email": email})).await.expect(200);
        turn.first.get(&turn.second.link(&email)).await.expect(303);
        let user = turn.second.get_as(&unknown.access_token, "/user").await.expect(200);
        assert_eq!((user.str("email"), &user.json["is_anonymous"]), (email.as_str(), &json!(false)));
    })
    .await;
}
