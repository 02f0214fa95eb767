use gotrue_rs::testing::{HookCall, HookServer, PASSWORD, TestUser, World};
use gotrue_rules::domain::one_time_token::TokenHash;
use gotrue_rules::domain::policy::{HookKind, MailKind};
use serde_json::{Value, json};

use super::{SECRET, accounts, with_hook};

const ANN: &str = "ann@example.com";

/// A user that was confirmed with the token sent to the hook.
async fn confirmed_user(world: &World, receiver: &HookServer) -> TestUser {
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    let mail = latest(receiver)["email_data"].clone();
    TestUser::from_session(
        &world.post("/verify", json!({"type": "signup", "email": ANN, "token": mail["token"]})).await,
    )
}

fn latest(receiver: &HookServer) -> Value {
    receiver.calls().pop().expect("the hook was called").json()
}

fn hash(address: &str, code: &Value) -> String {
    TokenHash::new(address, code.as_str().unwrap_or_default()).as_str().to_owned()
}

#[tokio::test]
async fn email_hook_replaces_the_mail_server() {
    let receiver = HookServer::start().await;
    let world = with_hook(&receiver, HookKind::SendEmail).build().await;
    let ann = confirmed_user(&world, &receiver).await;
    let event = receiver.calls().remove(0).json();
    let mail = &event["email_data"];
    assert_eq!(event["user"]["id"], ann.id);
    assert_eq!(
        (&mail["email_action_type"], &mail["token_hash"]),
        (&json!("signup"), &json!(hash(ANN, &mail["token"])))
    );
    assert_eq!(
        (&mail["site_url"], &mail["redirect_to"]),
        (&json!("http://auth.example.com"), &json!("http://shop.example.com"))
    );
    for empty in ["token_new", "token_hash_new", "old_email", "old_phone", "provider", "factor_type"] {
        assert_eq!(mail[empty], "", "{empty}");
    }
    assert!(world.mailbox.all().is_empty());
}

#[tokio::test]
async fn email_change_is_one_call_with_swapped_token_hashes() {
    let receiver = HookServer::start().await;
    let world = with_hook(&receiver, HookKind::SendEmail).build().await;
    let ann = confirmed_user(&world, &receiver).await;
    world.put_as(&ann.access_token, "/user", json!({"email": "new@example.com"})).await.expect(200);
    assert_eq!(receiver.calls().len(), 2);
    let event = latest(&receiver);
    let mail = &event["email_data"];
    assert_eq!(mail["token_hash_new"], hash(ANN, &mail["token"]));
    assert_eq!(mail["token_hash"], hash("new@example.com", &mail["token_new"]));
    assert_eq!((&event["user"]["email"], &event["user"]["new_email"]), (&json!(ANN), &json!("new@example.com")));
}

#[tokio::test]
async fn single_confirmation_email_change_has_one_code() {
    let receiver = HookServer::start().await;
    let world = with_hook(&receiver, HookKind::SendEmail);
    let world = world.policy(|policy| policy.mail.secure_email_change = false).build().await;
    let ann = confirmed_user(&world, &receiver).await;
    world.put_as(&ann.access_token, "/user", json!({"email": "new@example.com"})).await.expect(200);
    let mail = latest(&receiver)["email_data"].clone();
    assert_eq!(mail["token_hash"], hash("new@example.com", &mail["token"]));
    assert_eq!((&mail["token_new"], &mail["token_hash_new"]), (&json!(""), &json!("")));
}

#[tokio::test]
async fn rejected_mail_leaves_no_user_and_no_token() {
    let receiver = HookServer::start().await;
    let world = with_hook(&receiver, HookKind::SendEmail).build().await;
    let ann = confirmed_user(&world, &receiver).await;
    receiver.answer("/hook", json!({"error": {"http_code": 403, "message": "Blocked"}}));
    let recovery = world.post("/recover", json!({"email": ann.email})).await;
    assert_eq!((recovery.status.as_u16(), recovery.str("msg")), (403, "Blocked"));
    let bob = world.post("/signup", json!({"email": "bob@example.com", "password": PASSWORD})).await;
    assert_eq!((bob.status.as_u16(), bob.str("msg")), (403, "Blocked"));
    assert_eq!(accounts(&world).await, "1");
    assert_eq!(world.database.query("SELECT count(*) FROM auth.one_time_tokens").await, ["0"]);
}

#[tokio::test]
async fn notification_uses_the_hook_and_its_failure_is_ignored() {
    let receiver = HookServer::start().await;
    let world = with_hook(&receiver, HookKind::SendEmail);
    let world = world.policy(|policy| {
        policy.mail.notifications = [gotrue_rules::domain::policy::MailKind::PasswordChanged].into_iter().collect();
    });
    let world = world.build().await;
    let ann = confirmed_user(&world, &receiver).await;
    receiver.answer("/hook", json!({"error": {"http_code": 403, "message": "Blocked"}}));
    world.put_as(&ann.access_token, "/user", json!({"password": "another horse"})).await.expect(200);
    let event = latest(&receiver);
    assert_eq!(event["email_data"]["email_action_type"], "password_changed_notification");
    assert_eq!((&event["email_data"]["token"], &event["user"]["id"]), (&json!(""), &json!(ann.id)));
}

#[tokio::test]
async fn with_an_outbox_the_hook_still_sends_the_mail() {
    let receiver = HookServer::start().await;
    let world = with_hook(&receiver, HookKind::SendEmail).with_outbox().build().await;
    confirmed_user(&world, &receiver).await;
    assert_eq!(world.database.query("SELECT count(*) FROM basalt.outbox").await, ["0"]);
}

#[tokio::test]
async fn sms_hook_replaces_the_sms_provider() {
    let receiver = HookServer::start().await;
    let world = with_hook(&receiver, HookKind::SendSms).build().await;
    let body = json!({"phone": "+15550100200", "password": PASSWORD});
    receiver.answer("/hook", json!({"error": {"http_code": 406, "message": "No such country"}}));
    let refused = world.post("/signup", body.clone()).await;
    assert_eq!((refused.status.as_u16(), refused.str("msg")), (406, "No such country"));
    assert_eq!(accounts(&world).await, "0");
    receiver.answer("/hook", json!({}));
    world.post("/signup", body).await.expect(200);
    let sms = latest(&receiver)["sms"].clone();
    assert_eq!((&sms["phone"], sms.get("sms_type")), (&json!("15550100200"), None));
    let code = json!({"type": "sms", "phone": "15550100200", "token": sms["otp"]});
    let ann = TestUser::from_session(&world.post("/verify", code).await);
    world.put_as(&ann.access_token, "/user", json!({"phone": "15550100201"})).await.expect(200);
    assert_eq!(latest(&receiver)["user"]["new_phone"], "15550100201");
}

#[tokio::test]
async fn both_hooks_may_be_on() {
    let receiver = HookServer::start().await;
    let texts = receiver.hook("/texts", &[SECRET]);
    let world = with_hook(&receiver, HookKind::SendEmail).policy(|policy| policy.hooks.send_sms = Some(texts));
    let world = world.build().await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    world.post("/otp", json!({"phone": "15550100200"})).await.expect(200);
    assert_eq!((receiver.bodies("/hook").len(), receiver.bodies("/texts").len()), (1, 1));
}

#[tokio::test]
async fn message_contains_the_updated_user() {
    let receiver = HookServer::start().await;
    let (mail, text) = (receiver.hook("/mail", &[SECRET]), receiver.hook("/text", &[SECRET]));
    let world = World::builder()
        .policy(|policy| {
            policy.hooks.send_email = Some(mail);
            policy.hooks.send_sms = Some(text);
            policy.sign_up.phone_enabled = true;
            policy.mail.notifications.insert(MailKind::PasswordChanged);
        })
        .build()
        .await;
    let ann = confirmed_user(&world, &receiver).await;
    let before = receiver.calls().len();
    let body = json!({
        "email": "new@example.com",
        "phone": "15550100002",
        "password": "another horse",
        "data": {"plan": "pro"},
    });
    world.put_as(&ann.access_token, "/user", body).await.expect(200);
    let events: Vec<Value> = receiver.calls()[before..].iter().map(HookCall::json).collect();
    let [reported, mailed, texted] = events.as_slice() else { panic!("three calls, not {}", events.len()) };
    assert_eq!(reported["email_data"]["email_action_type"], "password_changed_notification");
    assert_eq!(mailed["user"]["user_metadata"]["plan"], "pro");
    assert_eq!(mailed["user"]["new_email"], "new@example.com");
    assert_eq!(texted["user"]["user_metadata"]["plan"], "pro");
    assert_eq!(texted["user"]["new_email"], "new@example.com", "the number follows the address");
}
