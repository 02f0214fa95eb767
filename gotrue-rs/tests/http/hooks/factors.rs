use gotrue_rs::testing::HookServer;
use gotrue_rules::domain::policy::HookKind;
use serde_json::{Value, json};

use super::confirmed_at_once;

const KIND: HookKind = HookKind::MfaVerificationAttempt;

#[tokio::test]
async fn mfa_hook_is_called_for_valid_and_invalid_codes() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    let ann = world.create_user("ann@example.com").await;
    let app = world.enroll_totp(&ann, "").await;
    let response = world.create_challenge(&ann.access_token, &app.id).await.expect(200);
    for (code, status) in [("000000", 422), (&*world.totp_code(&app), 200)] {
        world.verify_challenge(&ann.access_token, &app.id, response.str("id"), code).await.expect(status);
    }
    let events: Vec<Value> = receiver.bodies("/hook");
    for (event, valid) in events.iter().zip([false, true]) {
        assert_eq!((&event["user_id"], &event["factor_id"]), (&json!(ann.id), &json!(app.id)));
        assert_eq!((&event["factor_type"], &event["valid"]), (&json!("totp"), &json!(valid)));
    }
    assert_eq!(events.len(), 2);
}

#[tokio::test]
async fn mfa_hook_rejection_returns_its_message_and_revokes_sessions() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    let ann = world.create_user("ann@example.com").await;
    let bob = world.create_user("bob@example.com").await;
    let app = world.enroll_totp(&ann, "").await;
    receiver.answer("/hook", json!({"decision": "reject", "message": "Too many attempts, call us"}));
    let refused = world.verify_totp(&ann, &app).await;
    assert_eq!(refused.refusal(), (403, "mfa_verification_rejected"));
    assert_eq!(refused.str("msg"), "Too many attempts, call us");
    assert_eq!(world.get_as(&ann.access_token, "/user").await.refusal(), (403, "session_not_found"));
    world.get_as(&bob.access_token, "/user").await.expect(200);
    let stored = "SELECT status::text FROM auth.mfa_factors";
    assert_eq!(world.database.query(stored).await, ["unverified"]);
}
