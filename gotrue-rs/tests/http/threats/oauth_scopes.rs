//! What an OAuth client learns of its user beyond its scopes. Worlds are as served, unless the test says otherwise.

use gotrue_rs::testing::{OAuthClient, TestUser, World};
use platform::testing::Answer;
use serde_json::{Value, json};

use super::oauth_server::{recorded, served};

const ANN: &str = "ann@example.com";
const PHONE: &str = "15550100";

/// A user with address, number and metadata that repeats them.
async fn known_user(world: &World) -> TestUser {
    let ann = world.create_user(ANN).await;
    let metadata = json!({"picture": "https://img.example.com/a.png", "contact": {"mail": ANN, "tel": "+15550100"}});
    let statement = format!(
        "UPDATE auth.users SET phone = '{PHONE}', phone_confirmed_at = now(),
                raw_user_meta_data = raw_user_meta_data || '{metadata}'::jsonb,
                raw_app_meta_data = raw_app_meta_data || '{{\"tenant\": \"t1\"}}'::jsonb"
    );
    world.database.query(&statement).await;
    ann
}

async fn tokens_for(world: &World, app: &OAuthClient, user: &TestUser, scope: &str) -> Answer {
    let code = world.obtain_code(app, user, scope).await;
    world.exchange_code(app, &code).await.expect(200)
}

#[tokio::test]
async fn b8_access_token_has_only_claims_of_its_scopes() {
    let world = served().await;
    let ann = known_user(&world).await;
    let app = world.create_oauth_client(json!({})).await;
    for (scope, email, phone, has_metadata) in [
        ("openid", Value::Null, Value::Null, false),
        ("openid email", json!(ANN), Value::Null, false),
        ("openid phone", Value::Null, json!(PHONE), false),
        ("openid profile", Value::Null, Value::Null, true),
    ] {
        let tokens = tokens_for(&world, &app, &ann, scope).await;
        let renewed = world.refresh_client_session(&app, tokens.str("refresh_token")).await.expect(200);
        for answer in [&tokens, &renewed] {
            let claims = world.decode_claims(answer.str("access_token"));
            assert_eq!((&claims["email"], &claims["phone"]), (&email, &phone), "{scope}");
            assert_eq!(claims.get("user_metadata").is_some(), has_metadata, "{scope}");
            assert_eq!((&claims["app_metadata"], &claims["scope"]), (&json!({"tenant": "t1"}), &json!(scope)));
            let text = claims.to_string();
            assert_eq!(text.contains(ANN), scope.contains("email"), "{scope}: {text}");
            assert_eq!(text.contains(PHONE), scope.contains("phone"), "{scope}: {text}");
        }
    }
    let own = world.decode_claims(&world.sign_in(ANN).await.access_token);
    assert_eq!((&own["email"], &own["phone"]), (&json!(ANN), &json!(PHONE)), "the user's own token has all");
}

#[tokio::test]
async fn b8_access_token_of_a_client_is_complete_as_recorded() {
    let world = recorded().await;
    let ann = known_user(&world).await;
    let app = world.create_oauth_client(json!({})).await;
    let tokens = tokens_for(&world, &app, &ann, "openid").await;
    let claims = world.decode_claims(tokens.str("access_token"));
    assert_eq!((&claims["email"], &claims["phone"]), (&json!(ANN), &json!(PHONE)));
    assert_eq!(world.get_as(tokens.str("access_token"), "/user").await.expect(200).str("email"), ANN);
}

#[tokio::test]
async fn b8_user_of_client_token_is_limited_by_scopes() {
    let world = served().await;
    let ann = known_user(&world).await;
    let app = world.create_oauth_client(json!({})).await;
    for (scope, email, phone) in
        [("openid", "", ""), ("email", ANN, ""), ("phone", "", PHONE), ("profile", "", ""), ("email phone", ANN, PHONE)]
    {
        let tokens = tokens_for(&world, &app, &ann, scope).await;
        let token = tokens.str("access_token");
        let user = world.get_as(token, "/user").await.expect(200);
        assert_eq!((user.str("id"), user.str("email"), user.str("phone")), (&*ann.id, email, phone), "{scope}");
        let picture = user.json["user_metadata"].get("picture").is_some();
        assert_eq!(picture, scope == "profile", "{scope}: {}", user.text);
        assert_eq!((&user.json["identities"], &user.json["app_metadata"]), (&json!([]), &json!({})), "{scope}");
        let userinfo = world.get_as(token, "/oauth/userinfo").await.expect(200);
        for answer in [&user, &userinfo] {
            assert_eq!(answer.text.contains(ANN), scope.contains("email"), "{scope}: {}", answer.text);
            assert_eq!(answer.text.contains(PHONE), scope.contains("phone"), "{scope}: {}", answer.text);
        }
    }
    assert_eq!(world.get_as(&ann.access_token, "/user").await.expect(200).str("phone"), PHONE, "the user's own token");
}

#[tokio::test]
async fn b8_name_is_never_an_address() {
    for (is_served, expected) in [(true, Value::Null), (false, json!(ANN))] {
        let world = if is_served { served().await } else { recorded().await };
        let ann = world.create_user(ANN).await;
        let app = world.create_oauth_client(json!({})).await;
        let tokens = tokens_for(&world, &app, &ann, "openid email profile").await;
        let userinfo = world.get_as(tokens.str("access_token"), "/oauth/userinfo").await.expect(200);
        assert_eq!(userinfo.json["name"], expected);
        assert_eq!(world.decode_claims(tokens.str("id_token"))["name"], expected);
        let named = "UPDATE auth.users SET raw_user_meta_data = raw_user_meta_data || '{\"name\": \"Ann\"}'::jsonb";
        world.database.query(named).await;
        let userinfo = world.get_as(tokens.str("access_token"), "/oauth/userinfo").await.expect(200);
        assert_eq!(userinfo.str("name"), "Ann");
    }
}

#[tokio::test]
async fn b8_service_scopes_are_requested_and_listed() {
    for is_served in [true, false] {
        let world = if is_served { served().await } else { recorded().await };
        let ann = world.create_user(ANN).await;
        let app = world.create_oauth_client(json!({})).await;
        let listed = world.get("/.well-known/oauth-authorization-server").await.expect(200);
        let scopes = listed.json["scopes_supported"].to_string();
        for service in ["functions", "rest", "graphql", "storage", "realtime"] {
            assert_eq!(scopes.contains(service), is_served, "{service}");
        }
        let answer = world.get(&app.request(&[("scope", "openid rest")])).await.expect(302);
        let is_accepted = answer.header("location").contains("authorization_id=");
        assert_eq!(is_accepted, is_served, "{}", answer.header("location"));
        if is_served {
            let tokens = tokens_for(&world, &app, &ann, "openid rest").await;
            assert_eq!(world.decode_claims(tokens.str("access_token"))["scope"], "openid rest");
        }
    }
}
