//! OAuth clients: dynamic and administrative registration, update, deletion.

use std::net::IpAddr;

use foundation::limits::LimitKey;
use gotrue_rs::testing::{CALLBACK, OAuthClient, World};
use http::Method;
use serde_json::{Value, json};

use super::{ANN, world, world_of_profile, world_with};

const ADMIN: &str = "/admin/oauth/clients";
const REGISTER: &str = "/oauth/clients/register";

async fn admin(world: &World, method: Method, path: &str, body: Option<Value>) -> platform::testing::Answer {
    let bearer = format!("Bearer {}", world.service_token());
    world.request(method, &format!("{ADMIN}{path}"), &[("authorization", &bearer)], body).await
}

#[tokio::test]
async fn dynamically_registered_client_can_request_tokens() {
    let world = world().await;
    let answer = world.post(REGISTER, json!({"redirect_uris": [CALLBACK]})).await.expect(201);
    assert_eq!((answer.str("registration_type"), answer.str("client_secret").len()), ("dynamic", 43));
    let app = OAuthClient::from_registration(&answer);
    let refused = world.exchange_code(&app, "unknown").await.expect(400);
    assert_eq!(refused.str("error"), "invalid_grant");
}

#[tokio::test]
async fn hardened_registration_returns_client_secret_expires_at() {
    for (is_served, end) in [(false, None), (true, Some(&json!(0)))] {
        let world = world_of_profile(is_served).await;
        let body = json!({"redirect_uris": [CALLBACK]});
        let itself = world.post(REGISTER, body.clone()).await.expect(201);
        let made = admin(&world, Method::POST, "", Some(body)).await.expect(201);
        let path = format!("/{}/regenerate_secret", made.str("client_id"));
        let anew = admin(&world, Method::POST, &path, None).await.expect(200);
        for answer in [&itself, &made, &anew] {
            assert_eq!(answer.json.get("client_secret_expires_at"), end);
        }
        let public = json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"});
        let public = world.post(REGISTER, public).await.expect(201);
        assert_eq!(public.json.get("client_secret_expires_at"), None);
    }
}

#[tokio::test]
async fn dynamic_registration_can_be_disabled() {
    let world = world_with(|policy| policy.oauth_server.allow_dynamic_registration = false).await;
    let answer = world.post(REGISTER, json!({"redirect_uris": [CALLBACK]})).await;
    assert_eq!(answer.refusal(), (403, "oauth_dynamic_client_registration_disabled"));
    let reported = world.get("/.well-known/oauth-authorization-server").await.expect(200);
    assert!(reported.json.get("registration_endpoint").is_none());
}

#[tokio::test]
async fn dynamic_registration_is_limited_per_network() {
    let world = world_with(|policy| policy.limits.key = LimitKey::Peer { trusted_proxies: Vec::new() }).await;
    let peer: IpAddr = [203, 0, 113, 7].into();
    let body = || json!({"redirect_uris": [CALLBACK]});
    let mut made = 0;
    while world.post_from(peer, REGISTER, &[], body()).await.status == 201 {
        made += 1;
        assert!(made < 1000, "nothing is limited");
    }
    assert!(made > 0);
    assert_eq!(world.post_from(peer, REGISTER, &[], body()).await.refusal(), (429, "over_request_rate_limit"));
    world.post_from([203, 0, 113, 8].into(), REGISTER, &[], body()).await.expect(201);
}

#[tokio::test]
async fn update_keeps_unnamed_members() {
    let world = world().await;
    let app =
        world.create_oauth_client(json!({"client_uri": "https://app.example.com", "logo_uri": "/logo.png"})).await;
    let path = format!("/{}", app.id);
    let both = [json!({"client_name": "New"}), json!({"redirect_uris": ["myapp://a", "myapp://b"]})];
    let [name, uris] = both.map(|body| admin(&world, Method::PUT, &path, Some(body)));
    futures::future::join(name, uris).await;
    admin(&world, Method::PUT, &path, Some(json!({"logo_uri": ""}))).await.expect(200);
    let read = admin(&world, Method::GET, &path, None).await.expect(200);
    assert_eq!((read.str("client_name"), read.str("client_uri")), ("New", "https://app.example.com"));
    assert_eq!(read.json["redirect_uris"], json!(["myapp://a", "myapp://b"]));
    assert!(read.json.get("logo_uri").is_none());
}

#[tokio::test]
async fn regenerated_secret_replaces_the_previous_one() {
    let world = world().await;
    let old = world.create_oauth_client(json!({})).await;
    let answer = admin(&world, Method::POST, &format!("/{}/regenerate_secret", old.id), None).await.expect(200);
    let new = OAuthClient::from_registration(&answer);
    assert_ne!(new.secret, old.secret);
    assert_eq!(world.exchange_code(&old, "unknown").await.refusal(), (400, "invalid_credentials"));
    assert_eq!(world.exchange_code(&new, "unknown").await.str("error"), "invalid_grant");
}

#[tokio::test]
async fn deleted_client_is_unknown_everywhere() {
    let world = world().await;
    let (app, user) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let path = world.request_authorization(&app, &[]).await;
    let code = world.obtain_code(&app, &user, "email").await;
    admin(&world, Method::DELETE, &format!("/{}", app.id), None).await.expect(204);
    for (method, below) in [(Method::GET, ""), (Method::DELETE, ""), (Method::POST, "/regenerate_secret")] {
        let answer = admin(&world, method, &format!("/{}{below}", app.id), None).await;
        assert_eq!(answer.refusal(), (404, "oauth_client_not_found"));
    }
    assert_eq!(world.get(&app.request(&[])).await.refusal(), (400, "oauth_client_not_found"));
    assert_eq!(world.exchange_code(&app, &code).await.refusal(), (400, "invalid_credentials"));
    assert_eq!(world.get_as(&user.access_token, &path).await.refusal(), (404, "oauth_authorization_not_found"));
    assert_eq!(world.get_as(&user.access_token, "/user/oauth/grants").await.expect(200).json, json!([]));
    assert_eq!(admin(&world, Method::GET, "", None).await.expect(200).text, "{}");
}

#[tokio::test]
async fn client_ids_are_accepted_in_any_uuid_spelling() {
    let world = world().await;
    let app = world.create_oauth_client(json!({})).await;
    for id in [app.id.to_uppercase(), app.id.replace('-', ""), format!("urn:uuid:{}", app.id)] {
        let read = admin(&world, Method::GET, &format!("/{id}"), None).await.expect(200);
        assert_eq!(read.str("client_id"), app.id);
        world.get(&app.request(&[("client_id", &id)])).await.expect(302);
    }
    assert_eq!(admin(&world, Method::GET, "/shop", None).await.refusal(), (400, "validation_failed"));
}

#[tokio::test]
async fn oversized_or_malformed_body_is_bad_json() {
    let world = world().await;
    let huge = json!({"redirect_uris": [CALLBACK], "client_name": "x".repeat(1 << 20)});
    for body in [huge, json!([]), json!({"redirect_uris": CALLBACK}), json!({"client_name": 1})] {
        let answer = world.post(REGISTER, body).await;
        assert_eq!((answer.refusal(), answer.str("msg")), ((400, "bad_json"), "Invalid JSON body"));
    }
    world.post(REGISTER, json!({"redirect_uris": [CALLBACK], "client_name": "a\u{0}b"})).await.expect(400);
}
