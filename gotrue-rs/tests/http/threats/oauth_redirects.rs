//! Where an OAuth client, which anyone may register, sends a browser. Worlds are as served, unless the test says otherwise.

use gotrue_rs::testing::{CALLBACK, OAuthClient, World, parse_query};
use gotrue_rules::domain::policy::Policy;
use platform::testing::Answer;
use serde_json::{Value, json};

use super::oauth_server::{oauth_error, recorded, served};

const ANN: &str = "ann@example.com";

async fn with_registration(is_served: bool) -> World {
    let world = World::builder().with_oauth_server().policy(|policy: &mut Policy| {
        policy.oauth_server.allow_dynamic_registration = true;
    });
    if is_served { world.as_served().build().await } else { world.build().await }
}

async fn registered(world: &World, body: Value) -> OAuthClient {
    OAuthClient::from_registration(&world.post("/oauth/clients/register", body).await.expect(201))
}

#[tokio::test]
async fn a2_risky_redirect_uris_are_not_registered() {
    let long = format!("https://app.example.com/{}", "a".repeat(2_000));
    let risky = [
        "intent://scan/#Intent",
        "intent://app.example.com/cb",
        "INTENT://app.example.com/cb",
        "view-source://app.example.com/cb",
        "jar://app.example.com/cb",
        "filesystem://app.example.com/cb",
        "ms-word://app.example.com/cb",
        "search-ms://app.example.com/cb",
        "mailto://app.example.com/cb",
        "wss://app.example.com/cb",
        "chrome-extension://abc/cb",
        "ftp://app.example.com/cb",
        "https://*.example.com/cb",
        "https://app.example.*/cb",
        "https://user@app.example.com/cb",
        &*long,
    ];
    let (served, recorded) = (served().await, recorded().await);
    let register = async |world: &World, uri: &str| -> Answer {
        let body = json!({"client_name": "Shop app", "redirect_uris": [uri]});
        world.post_as(&world.service_token(), "/admin/oauth/clients", body).await
    };
    for uri in risky {
        assert_eq!(register(&served, uri).await.refusal(), (400, "validation_failed"), "{uri}");
    }
    for uri in ["myapp://back/cb", "com.example.app://cb", "cursor://x/cb", "http://127.0.0.1:1/cb", CALLBACK] {
        register(&served, uri).await.expect(201);
        register(&recorded, uri).await.expect(201);
    }
    for uri in &risky[1..] {
        register(&recorded, uri).await.expect(201);
    }
}

#[tokio::test]
async fn a2_risky_redirect_uri_stored_before_is_not_followed() {
    let world = served().await;
    let app = world.create_oauth_client(json!({})).await;
    world.database.query("UPDATE auth.oauth_clients SET redirect_uris = 'intent://app.example.com/cb'").await;
    let answer = world.get(&app.request(&[("redirect_uri", "intent://app.example.com/cb")])).await.expect(400);
    assert_eq!(answer.header("location"), "");
}

#[tokio::test]
async fn a2_error_of_unconfirmed_client_is_not_redirected() {
    let body = json!({"client_name": "Free gifts", "redirect_uris": ["https://evil.example/cb"]});
    let wrong = [("redirect_uri", "https://evil.example/cb"), ("response_type", "token")];
    let world = with_registration(true).await;
    let unconfirmed = registered(&world, body.clone()).await;
    let answer = world.get(&unconfirmed.request(&wrong)).await.expect(400);
    assert_eq!((answer.header("location"), oauth_error(&answer).0), ("", "invalid_request"));
    // The request itself leads to the page that asks, which is ours.
    let answer = world.get(&unconfirmed.request(&[("redirect_uri", "https://evil.example/cb")])).await.expect(302);
    assert!(answer.header("location").contains("authorization_id="), "{}", answer.header("location"));
    // A client of the operator gets its errors by redirect.
    let known = world.create_oauth_client(json!({})).await;
    let answer = world.get(&known.request(&[("response_type", "token")])).await.expect(302);
    assert!(answer.header("location").starts_with(CALLBACK), "{}", answer.header("location"));

    let world = with_registration(false).await;
    let unconfirmed = registered(&world, body).await;
    let answer = world.get(&unconfirmed.request(&wrong)).await.expect(302);
    assert!(answer.header("location").starts_with("https://evil.example/cb"), "as recorded");
}

#[tokio::test]
async fn b7_native_public_client_needs_consent_each_time() {
    for (is_served, uri, client_type, needs_consent) in [
        (true, "http://127.0.0.1:4000/cb", "public", true),
        (true, "myapp://back/cb", "public", true),
        (true, "https://localhost:4000/cb", "public", true),
        (true, "https://app.example.com/cb", "public", false),
        (true, "http://127.0.0.1:4000/cb", "confidential", false),
        (false, "http://127.0.0.1:4000/cb", "public", false),
    ] {
        let world = if is_served { served().await } else { recorded().await };
        let ann = world.create_user(ANN).await;
        let app = world.create_oauth_client(json!({"redirect_uris": [uri], "client_type": client_type})).await;
        let members = [("redirect_uri", uri), ("scope", "email")];
        let path = world.request_authorization(&app, &members).await;
        world.get_as(&ann.access_token, &path).await.expect(200);
        let approved = world.consent(&ann, &path, "approve").await.expect(200);
        assert!(parse_query(approved.str("redirect_url")).contains_key("code"), "{uri}");
        let path = world.request_authorization(&app, &members).await;
        let shown = world.get_as(&ann.access_token, &path).await.expect(200);
        assert_eq!(shown.str("redirect_url").is_empty(), needs_consent, "{uri} {client_type} {is_served}");
    }
}
