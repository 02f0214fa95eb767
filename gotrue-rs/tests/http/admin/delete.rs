//! `DELETE /admin/users/{id}`.

use gotrue_rs::testing::World;
use http::Method;
use platform::testing::Answer;
use serde_json::{Value, json};

use super::{ANN, account, read, update};

async fn delete(world: &World, id: &str, body: Option<Value>) -> Answer {
    let bearer = format!("Bearer {}", world.service_token());
    world.request(Method::DELETE, &format!("/admin/users/{id}"), &[("authorization", &bearer)], body).await
}

async fn count(world: &World, table: &str) -> String {
    world.database.query(&format!("SELECT count(*) FROM auth.{table}")).await.remove(0)
}

#[tokio::test]
async fn deleting_a_user_leaves_only_audit_entries() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let answer = delete(&world, &ann.id, None).await.expect(200);
    assert_eq!(answer.text, "{}");
    assert_eq!(world.journal().statements(), ["users.with_session", "admin.delete"]);
    for table in ["users", "identities", "sessions", "refresh_tokens", "mfa_amr_claims"] {
        assert_eq!(count(&world, table).await, "0", "{table}");
    }
    assert_eq!(read(&world, &ann.id).await.refusal(), (404, "user_not_found"));
    assert_eq!(world.get_as(&ann.access_token, "/user").await.refusal(), (403, "user_not_found"));
    assert_eq!(world.try_password(ANN, "correct horse").await.refusal(), (400, "invalid_credentials"));
}

#[tokio::test]
async fn email_of_deleted_user_can_be_used_again() {
    let world = World::new().await;
    for body in [None, Some(json!({"should_soft_delete": true}))] {
        let ann = account(&world, ANN).await;
        delete(&world, ann.str("id"), body).await.expect(200);
    }
    account(&world, ANN).await;
}

#[tokio::test]
async fn soft_deletion_keeps_the_row_without_personal_data() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    world.post("/recover", json!({"email": ANN})).await.expect(200);
    world.get_as(&ann.access_token, "/reauthenticate").await.expect(200);
    update(&world, &ann.id, json!({"phone": "15550100", "app_metadata": {"plan": "gold"}})).await.expect(200);
    delete(&world, &ann.id, Some(json!({"should_soft_delete": true}))).await.expect(200);
    let answer = read(&world, &ann.id).await.expect(200);
    assert!(!answer.text.contains("ann@") && !answer.text.contains("15550100") && !answer.text.contains("gold"));
    assert_eq!((answer.str("email").len(), answer.str("phone").len()), (43, 15));
    assert_eq!(answer.str("deleted_at"), "2026-06-01T12:00:00Z");
    for table in ["sessions", "refresh_tokens", "one_time_tokens", "mfa_factors", "webauthn_credentials"] {
        assert_eq!(count(&world, table).await, "0", "{table}");
    }
    let data =
        "SELECT DISTINCT identity_data || jsonb_build_object('length', length(provider_id)) FROM auth.identities";
    assert_eq!(world.database.query(data).await, [r#"{"length": 43}"#]);
    let row =
        "SELECT concat(encrypted_password, recovery_token, raw_app_meta_data, raw_user_meta_data) FROM auth.users";
    assert_eq!(world.database.query(row).await, ["{}{}"]);
    // As in the reference; the code is deleted.
    assert_eq!(world.database.query("SELECT reauthentication_token <> '' FROM auth.users").await, ["true"]);
}

#[tokio::test]
async fn c2_soft_deletion_revokes_every_credential() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    delete(&world, &ann.id, Some(json!({"should_soft_delete": true}))).await.expect(200);
    assert_eq!(world.get_as(&ann.access_token, "/user").await.refusal(), (403, "session_not_found"));
    assert_eq!(world.refresh(&ann.refresh_token).await.refusal(), (400, "refresh_token_not_found"));
    assert_eq!(world.try_password(ANN, "correct horse").await.refusal(), (400, "invalid_credentials"));
}

#[tokio::test]
async fn repeated_soft_deletion_changes_nothing_and_is_logged() {
    let world = World::new().await;
    let ann = account(&world, ANN).await;
    delete(&world, ann.str("id"), Some(json!({"should_soft_delete": true}))).await.expect(200);
    let first = read(&world, ann.str("id")).await;
    world.advance(chrono::TimeDelta::minutes(1));
    delete(&world, ann.str("id"), Some(json!({"should_soft_delete": true}))).await.expect(200);
    assert_eq!(read(&world, ann.str("id")).await.json, first.json);
    let logged = "SELECT count(*) FROM auth.audit_log_entries WHERE payload ->> 'action' = 'user_deleted'";
    assert_eq!(world.database.query(logged).await, ["2"]);
}

#[tokio::test]
async fn a_malformed_body_deletes_nothing() {
    let world = World::new().await;
    let ann = account(&world, ANN).await;
    for body in [json!({"should_soft_delete": "yes"}), json!([])] {
        assert_eq!(delete(&world, ann.str("id"), Some(body)).await.refusal(), (400, "bad_json"));
    }
    read(&world, ann.str("id")).await.expect(200);
}

#[tokio::test]
async fn soft_deletion_keeps_the_update_time_of_identities() {
    let world = World::new().await;
    let ann = account(&world, ANN).await;
    world.advance(chrono::TimeDelta::minutes(1));
    delete(&world, ann.str("id"), Some(json!({"should_soft_delete": true}))).await.expect(200);
    let stored = read(&world, ann.str("id")).await.expect(200);
    assert_ne!(stored.str("updated_at"), ann.str("updated_at"));
    assert_eq!(stored.str("identities/0/updated_at"), ann.str("identities/0/updated_at"));
}
