use gotrue_rs::testing::HookServer;
use gotrue_rules::domain::policy::HookKind;
use serde_json::{Value, json};

use super::confirmed_at_once;

const KIND: HookKind = HookKind::PasswordVerificationAttempt;

#[tokio::test]
async fn password_hook_is_called_for_existing_users_only() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    let ann = world.create_user("ann@example.com").await;
    world.sign_in(&ann.email).await;
    assert_eq!(world.try_password(&ann.email, "wrong horse").await.refusal(), (400, "invalid_credentials"));
    world.try_password("unknown@example.com", "correct horse").await;
    let events: Vec<(Value, Value)> =
        receiver.bodies("/hook").iter().map(|event| (event["user_id"].clone(), event["valid"].clone())).collect();
    assert_eq!(events, [(json!(ann.id), json!(true)), (json!(ann.id), json!(false))]);
}

#[tokio::test]
async fn password_hook_rejection_returns_its_message() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    let ann = world.create_user("ann@example.com").await;
    for (answer, message) in [
        (json!({"decision": "reject"}), "Further password verification attempts will be rejected."),
        (json!({"decision": "reject", "message": "Too many tries"}), "Too many tries"),
    ] {
        receiver.answer("/hook", answer);
        let refused = world.try_password(&ann.email, "correct horse").await;
        assert_eq!((refused.refusal(), refused.str("msg")), ((400, "invalid_credentials"), message));
    }
    world.get_as(&ann.access_token, "/user").await.expect(200);
}

#[tokio::test]
async fn password_hook_can_revoke_sessions() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    let ann = world.create_user("ann@example.com").await;
    let bob = world.create_user("bob@example.com").await;
    receiver.answer("/hook", json!({"decision": "reject", "should_logout_user": true}));
    assert_eq!(world.try_password(&ann.email, "wrong horse").await.status, 400);
    assert_eq!(world.get_as(&ann.access_token, "/user").await.refusal(), (403, "session_not_found"));
    world.get_as(&bob.access_token, "/user").await.expect(200);
}

#[tokio::test]
async fn unreadable_hook_response_refuses_the_sign_in() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    world.create_user("ann@example.com").await;
    for odd in [json!([]), json!("continue"), json!({"decision": 5}), json!({"should_logout_user": "yes"})] {
        receiver.answer("/hook", odd);
        let answer = world.try_password("ann@example.com", "correct horse").await;
        assert_eq!((answer.status.as_u16(), answer.str("msg")), (500, "Error unmarshaling JSON output."));
    }
}

#[tokio::test]
async fn mfa_hook_is_called_for_wrong_code_and_revokes_sessions() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, HookKind::MfaVerificationAttempt).build().await;
    let ann = world.create_user("ann@example.com").await;
    let token = ann.access_token.as_str();
    let factor = world.post_as(token, "/factors", json!({"factor_type": "totp"})).await.expect(200);
    let path = format!("/factors/{}", factor.str("id"));
    let challenge = world.post_as(token, &format!("{path}/challenge"), json!({})).await.expect(200);
    let attempt = json!({"challenge_id": challenge.str("id"), "code": "000000"});
    let wrong = world.post_as(token, &format!("{path}/verify"), attempt.clone()).await;
    assert_eq!(wrong.refusal(), (422, "mfa_verification_failed"));
    let events = receiver.bodies("/hook").remove(0);
    assert_eq!((&events["user_id"], &events["factor_id"]), (&json!(ann.id), &json!(factor.str("id"))));
    assert_eq!((&events["factor_type"], &events["valid"]), (&json!("totp"), &json!(false)));
    receiver.answer("/hook", json!({"decision": "reject", "message": "Call the help desk"}));
    let rejected = world.post_as(token, &format!("{path}/verify"), attempt).await;
    assert_eq!(rejected.refusal(), (403, "mfa_verification_rejected"));
    assert_eq!(rejected.str("msg"), "Call the help desk");
    assert_eq!(world.get_as(token, "/user").await.refusal(), (403, "session_not_found"));
}
