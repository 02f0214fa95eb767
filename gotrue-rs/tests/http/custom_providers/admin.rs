//! Making, reading, changing and taking away.

use foundation::secret::SecretKey;
use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::Policy;
use http::Method;
use serde_json::json;

use super::{ACME, PROVIDERS, acme, admin_request, create};

#[tokio::test]
async fn provider_is_created_read_updated_and_deleted() {
    let world = World::new().await;
    let made = create(&world, acme(&json!({}))).await.expect(201);
    assert_eq!((made.str("/identifier"), made.json["pkce_enabled"].as_bool()), ("custom:acme", Some(true)));
    assert_eq!(admin_request(&world, Method::GET, ACME, None).await.expect(200).json, made.json);
    let listed = admin_request(&world, Method::GET, &format!("{PROVIDERS}?type=oauth2"), None).await.expect(200);
    assert_eq!(listed.json["providers"], json!([made.json]));
    let none = admin_request(&world, Method::GET, &format!("{PROVIDERS}?type=oidc"), None).await.expect(200);
    assert_eq!(none.json, json!({"providers": []}));
    let change = json!({"name": "Acme Inc.", "enabled": false, "scopes": [], "identifier": "custom:b"});
    let changed = admin_request(&world, Method::PUT, ACME, Some(change)).await.expect(200);
    assert_eq!((changed.str("/name"), changed.str("/identifier")), ("Acme Inc.", "custom:acme"));
    assert_eq!((&changed.json["enabled"], &changed.json["scopes"]), (&json!(false), &json!([])));
    admin_request(&world, Method::DELETE, ACME, None).await.expect(204);
    for method in [Method::GET, Method::DELETE] {
        assert_eq!(admin_request(&world, method, ACME, None).await.refusal(), (404, "custom_provider_not_found"));
    }
    let gone = admin_request(&world, Method::PUT, ACME, Some(json!({}))).await;
    assert_eq!(gone.refusal(), (404, "custom_provider_not_found"));
}

#[tokio::test]
async fn client_secret_is_encrypted_and_never_returned() {
    let world = World::with(sealing).await;
    create(&world, acme(&json!({}))).await.expect(201);
    admin_request(&world, Method::PUT, ACME, Some(json!({"client_secret": "an0ther-secret"}))).await.expect(200);
    for path in [ACME, PROVIDERS] {
        let text = admin_request(&world, Method::GET, path, None).await.expect(200).json.to_string();
        assert!(!text.contains("secret"), "{text}");
    }
    let stored = gotrue_rs::store::custom_providers::find_by_identifier(&mut connection(&world), "custom:acme").await;
    let stored = stored.expect("the database answers").expect("it is there").client_secret;
    assert!(stored.reveal().contains("aes-gcm-hkdf") && !stored.reveal().contains("an0ther"));
}

fn sealing(policy: &mut Policy) {
    policy.security.encryption.encrypt_with = Some("k1".to_owned());
    policy.security.encryption.keys.insert("k1".to_owned(), SecretKey::new([1; 32]));
}

fn connection(world: &World) -> platform::store::Connection {
    platform::store::Connection::pooled(world.app.pool.clone(), std::sync::Arc::default())
}

#[tokio::test]
async fn schema_violations_are_reported_without_row_contents() {
    let world = World::new().await;
    for changes in [
        json!({"identifier": "custom:"}),
        json!({"identifier": "custom:Acme"}),
        json!({"name": "x".repeat(101)}),
        json!({"client_id": "x".repeat(513)}),
        json!({"jwks_uri": format!("https://203.0.113.10/{}", "x".repeat(2048))}),
    ] {
        let answer = create(&world, acme(&changes)).await;
        assert_eq!(answer.refusal(), (400, "validation_failed"), "{changes}");
        assert!(!answer.json.to_string().contains("s3cret"));
    }
    create(&world, acme(&json!({"jwks_uri": ""}))).await.expect(201);
}

#[tokio::test]
async fn provider_names_are_unique_and_their_number_is_limited() {
    let world = World::with(|policy| policy.custom_oauth.max_providers = Some(2)).await;
    create(&world, acme(&json!({}))).await.expect(201);
    assert_eq!(create(&world, acme(&json!({}))).await.refusal(), (400, "conflict"));
    let (one, two) = tokio::join!(
        create(&world, acme(&json!({"identifier": "custom:b"}))),
        create(&world, acme(&json!({"identifier": "custom:b"})))
    );
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 400]);
    let third = create(&world, acme(&json!({"identifier": "custom:c"}))).await;
    assert_eq!(third.refusal(), (400, "over_custom_provider_quota"));
}

#[tokio::test]
async fn routes_require_an_administrator_and_the_feature_flag() {
    let world = World::new().await;
    let ann = world.create_user("ann@example.com").await;
    for (method, path) in [(Method::GET, PROVIDERS), (Method::POST, PROVIDERS), (Method::DELETE, ACME)] {
        assert_eq!(world.request(method.clone(), path, &[], None).await.refusal(), (401, "no_authorization"));
        let bearer = format!("Bearer {}", ann.access_token);
        let answer = world.request(method, path, &[("authorization", &bearer)], None).await;
        assert_eq!(answer.refusal(), (403, "not_admin"));
    }
    let off = World::with(|policy| policy.custom_oauth.enabled = false).await;
    for path in [PROVIDERS, ACME] {
        assert_eq!(admin_request(&off, Method::GET, path, None).await.refusal(), (404, "feature_disabled"));
    }
}
