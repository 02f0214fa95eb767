use gotrue_rs::testing::Receiver;
use gotrue_rules::domain::policy::HookKind;
use serde_json::{Value, json};

use super::confirmed_at_once;

const KIND: HookKind = HookKind::MfaVerificationAttempt;

#[tokio::test]
async fn the_hook_hears_of_right_and_wrong_codes() {
    let receiver = Receiver::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    let ann = world.person("ann@example.com").await;
    let app = world.app_factor(&ann, "").await;
    let asked = world.challenge(&ann.access_token, &app.id).await.expect(200);
    for (code, status) in [("000000", 422), (&*world.app_code(&app), 200)] {
        world.answer(&ann.access_token, &app.id, asked.str("id"), code).await.expect(status);
    }
    let heard: Vec<Value> = receiver.bodies("/hook");
    for (event, valid) in heard.iter().zip([false, true]) {
        assert_eq!((&event["user_id"], &event["factor_id"]), (&json!(ann.id), &json!(app.id)));
        assert_eq!((&event["factor_type"], &event["valid"]), (&json!("totp"), &json!(valid)));
    }
    assert_eq!(heard.len(), 2);
}

#[tokio::test]
async fn a_right_code_is_refused_in_the_hooks_own_words_and_every_session_ends() {
    let receiver = Receiver::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    let ann = world.person("ann@example.com").await;
    let bob = world.person("bob@example.com").await;
    let app = world.app_factor(&ann, "").await;
    receiver.answer("/hook", json!({"decision": "reject", "message": "Too many attempts, call us"}));
    let refused = world.try_app(&ann, &app).await;
    assert_eq!(refused.refusal(), (403, "mfa_verification_rejected"));
    assert_eq!(refused.str("msg"), "Too many attempts, call us");
    assert_eq!(world.get_as(&ann.access_token, "/user").await.refusal(), (403, "session_not_found"));
    world.get_as(&bob.access_token, "/user").await.expect(200);
    let stored = "SELECT status::text FROM auth.mfa_factors";
    assert_eq!(world.database.query(stored).await, ["unverified"]);
}
