use gotrue_rs::testing::World;
use http::Method;
use platform::testing::Answer;
use serde_json::{Value, json};

use super::{ANN, BOB, stored, world};
use crate::user::Acting;

/// `DELETE /passkeys/{id}`.
pub(super) async fn delete(world: &World, token: &str, id: &str) -> Answer {
    as_holder(world, token, Method::DELETE, &format!("/passkeys/{id}"), None).await
}

async fn rename(world: &World, token: &str, id: &str, name: Value) -> Answer {
    let body = json!({ "friendly_name": name });
    as_holder(world, token, Method::PATCH, &format!("/passkeys/{id}"), Some(body)).await
}

async fn as_holder(world: &World, token: &str, method: Method, path: &str, body: Option<Value>) -> Answer {
    world.request(method, path, &[("authorization", &format!("Bearer {token}"))], body).await
}

async fn names(world: &World, token: &str) -> Vec<String> {
    let list = world.get_as(token, "/passkeys").await.expect(200);
    let all = list.json.as_array().cloned().unwrap_or_default();
    all.iter().map(|passkey| passkey["friendly_name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn owner_lists_renames_and_deletes_passkeys() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let (first, _) = world.create_passkey(&ann).await;
    world.advance(chrono::TimeDelta::seconds(1));
    let (second, _) = world.create_passkey(&ann).await;
    let renamed = rename(&world, &ann.access_token, &first, json!("Laptop")).await.expect(200);
    assert_eq!((renamed.str("id"), renamed.str("friendly_name")), (first.as_str(), "Laptop"));
    assert!(renamed.json.get("last_used_at").is_none());
    assert_eq!(names(&world, &ann.access_token).await, ["Laptop", "Passkey"]);
    delete(&world, &ann.access_token, &first).await.expect(204);
    assert_eq!(delete(&world, &ann.access_token, &first).await.refusal(), (404, "validation_failed"));
    assert_eq!(stored(&world, "id").await, second);
    let log = ann.log(&world).await;
    assert_eq!(log[log.len() - 4..], ["passkey_created", "passkey_created", "passkey_updated", "passkey_deleted"]);
}

#[tokio::test]
async fn invalid_names_are_refused() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let (id, _) = world.create_passkey(&ann).await;
    for (name, code) in [
        (json!(""), "validation_failed"),
        (json!(null), "validation_failed"),
        (json!("x".repeat(121)), "validation_failed"),
        (json!(1), "bad_json"),
    ] {
        assert_eq!(rename(&world, &ann.access_token, &id, name).await.refusal(), (400, code));
    }
    assert_eq!(rename(&world, &ann.access_token, "nonsense", json!("x")).await.status, 404);
}

#[tokio::test]
async fn passkeys_of_other_users_are_inaccessible() {
    let world = world().await;
    let (ann, bob) = (world.create_user(ANN).await, world.create_user(BOB).await);
    let (id, _) = world.create_passkey(&ann).await;
    assert!(names(&world, &bob.access_token).await.is_empty());
    let renamed = rename(&world, &bob.access_token, &id, json!("mine")).await;
    assert_eq!(renamed.refusal(), (404, "validation_failed"));
    assert_eq!(delete(&world, &bob.access_token, &id).await.refusal(), (404, "validation_failed"));
    assert_eq!(stored(&world, "friendly_name").await, "Passkey");
    let reported = "SELECT count(*)::text FROM auth.audit_log_entries WHERE payload ->> 'action' LIKE 'passkey_%'";
    assert_eq!(world.database.query(reported).await, ["1"], "a refused change is not reported");
}

#[tokio::test]
async fn administrator_lists_and_deletes_passkeys_even_if_disabled() {
    let world = world().await;
    let (ann, bob) = (world.create_user(ANN).await, world.create_user(BOB).await);
    let (id, _) = world.create_passkey(&ann).await;
    let token = world.service_token();
    let of = |user: &str| format!("/admin/users/{user}/passkeys");
    let list = world.get_as(&token, &of(&ann.id)).await.expect(200);
    assert_eq!(list.str("/0/id"), id);
    assert_eq!(world.get_as(&ann.access_token, &of(&ann.id)).await.refusal(), (403, "not_admin"));
    let elsewhere = as_holder(&world, &token, Method::DELETE, &format!("{}/{id}", of(&bob.id)), None).await;
    assert_eq!(elsewhere.refusal(), (404, "validation_failed"));
    as_holder(&world, &token, Method::DELETE, &format!("{}/{id}", of(&ann.id)), None).await.expect(204);
    let off = World::new().await;
    let carol = off.create_user("carol@example.com").await;
    assert_eq!(off.get_as(&off.service_token(), &of(&carol.id)).await.expect(200).json, json!([]));
}

#[tokio::test]
async fn ceremony_paths_are_not_passkey_ids() {
    let world = world().await;
    for (method, path, status) in [
        (Method::PATCH, "/passkeys/authentication", 404),
        (Method::GET, "/passkeys/authentication/options", 405),
        (Method::POST, "/passkeys/authentication/other", 404),
        (Method::GET, "/passkeys/registration/options", 401),
        (Method::GET, "/passkeys/nonsense", 401),
        (Method::GET, "/passkeys", 401),
        (Method::POST, "/passkeys", 405),
    ] {
        assert_eq!(world.request(method.clone(), path, &[], None).await.status, status, "{method} {path}");
    }
}
