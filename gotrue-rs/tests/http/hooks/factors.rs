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

const CODES: &str = "/factors/recovery-codes";

#[tokio::test]
async fn mfa_hook_is_called_for_recovery_codes_and_rejection_uses_none() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND)
        .policy(|policy| {
            policy.mfa.recovery_codes.enroll_enabled = true;
            policy.mfa.recovery_codes.verify_enabled = true;
        })
        .build()
        .await;
    let (ann, _) = world.create_user_with_totp("ann@example.com").await;
    let verify = format!("{CODES}/verify");
    let calls = receiver.bodies("/hook").len();
    let absent = world.post_as(&ann.access_token, &verify, json!({"code": "aaaa"})).await;
    assert_eq!(absent.refusal(), (422, "mfa_verification_failed"));
    assert_eq!(receiver.bodies("/hook").len(), calls, "not called for users without codes");
    let made = world.post_as(&ann.access_token, CODES, json!({})).await.expect(200);
    for (code, status) in [("aaaa", 422), (made.str("codes/0"), 200)] {
        world.post_as(&ann.access_token, &verify, json!({"code": code})).await.expect(status);
    }
    let events: Vec<Value> = receiver.bodies("/hook");
    for (event, valid) in events.iter().skip(calls).zip([false, true]) {
        assert_eq!((&event["user_id"], &event["factor_id"]), (&json!(ann.id), &made.json["id"]));
        assert_eq!((&event["factor_type"], &event["valid"]), (&json!("recovery_code"), &json!(valid)));
    }
    receiver.answer("/hook", json!({"decision": "reject"}));
    let refused = world.post_as(&ann.access_token, &verify, json!({"code": made.str("codes/1")})).await;
    assert_eq!(refused.refusal(), (403, "mfa_verification_rejected"));
    assert_eq!(world.get_as(&ann.access_token, "/user").await.refusal(), (403, "session_not_found"));
    let stored = "SELECT concat_ws(' ', failed_verification_count, (SELECT count(*) FROM auth.mfa_recovery_codes
                                                                   WHERE consumed_at IS NULL)) AS state
                  FROM auth.mfa_recovery_code_sets";
    assert_eq!(world.database.query(stored).await, ["0 9"]);
}
