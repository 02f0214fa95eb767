use gotrue_rs::testing::Receiver;
use gotrue_rules::domain::policy::HookKind;
use serde_json::{Value, json};

use super::confirmed_at_once;

const KIND: HookKind = HookKind::PasswordVerificationAttempt;

#[tokio::test]
async fn the_hook_hears_of_right_and_wrong_passwords_and_of_no_stranger() {
    let receiver = Receiver::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    let ann = world.person("ann@example.com").await;
    world.sign_in(&ann.email).await;
    assert_eq!(world.try_password(&ann.email, "wrong horse").await.refusal(), (400, "invalid_credentials"));
    world.try_password("nobody@example.com", "correct horse").await;
    let heard: Vec<(Value, Value)> =
        receiver.bodies("/hook").iter().map(|event| (event["user_id"].clone(), event["valid"].clone())).collect();
    assert_eq!(heard, [(json!(ann.id), json!(true)), (json!(ann.id), json!(false))]);
}

#[tokio::test]
async fn a_right_password_is_refused_in_the_hooks_own_words() {
    let receiver = Receiver::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    let ann = world.person("ann@example.com").await;
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
async fn the_hook_can_end_the_sessions_of_the_account() {
    let receiver = Receiver::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    let ann = world.person("ann@example.com").await;
    let bob = world.person("bob@example.com").await;
    receiver.answer("/hook", json!({"decision": "reject", "should_logout_user": true}));
    assert_eq!(world.try_password(&ann.email, "wrong horse").await.status, 400);
    assert_eq!(world.get_as(&ann.access_token, "/user").await.refusal(), (403, "session_not_found"));
    world.get_as(&bob.access_token, "/user").await.expect(200);
}

#[tokio::test]
async fn what_cannot_be_read_lets_nobody_in() {
    let receiver = Receiver::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    world.person("ann@example.com").await;
    for odd in [json!([]), json!("continue"), json!({"decision": 5}), json!({"should_logout_user": "yes"})] {
        receiver.answer("/hook", odd);
        let answer = world.try_password("ann@example.com", "correct horse").await;
        assert_eq!((answer.status.as_u16(), answer.str("msg")), (500, "Error unmarshaling JSON output."));
    }
}
