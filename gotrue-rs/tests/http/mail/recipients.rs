use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::Policy;
use serde_json::json;

use crate::ports::pages::Pages;
use crate::user::{Acting, create_user};

async fn accounts(world: &World) -> String {
    world.database.query("SELECT count(*)::text FROM auth.users").await.concat()
}

fn only_ann(policy: &mut Policy) {
    policy.mail.authorized_addresses = vec!["Ann@example.com".to_owned()];
}

#[tokio::test]
async fn mail_is_sent_only_to_allowed_recipients() {
    let world = World::with(only_ann).await;
    for (email, status) in [("ann@example.com", 200), ("ann+news@example.com", 200), ("bob@example.com", 400)] {
        let answer = world.post("/signup", json!({ "email": email, "password": "correct horse" })).await;
        answer.expect(status);
    }
    let refused = world.post("/otp", json!({ "email": "bob@example.com" })).await;
    assert_eq!(refused.refusal(), (400, "email_address_not_authorized"));
    assert_eq!(refused.str("msg"), "Email address \"bob@example.com\" cannot be used as it is not authorized");
    assert_eq!(world.mailbox.all().len(), 2);
    assert_eq!(accounts(&world).await, "2", "no account is left of the others");
}

#[tokio::test]
async fn email_change_requires_allowed_recipients() {
    let world = World::with(|policy| {
        policy.mail.authorized_addresses = ["ann@example.com", "dora@example.com"].map(str::to_owned).into();
    })
    .await;
    let ann = create_user(&world, "ann").await;
    let refused = ann.change(&world, json!({ "email": "new@example.com" })).await;
    assert_eq!(refused.refusal(), (400, "email_address_not_authorized"));
    assert!(refused.str("msg").contains("new@example.com"));
    ann.change(&world, json!({ "email": "dora@example.com" })).await.expect(200);
}

#[tokio::test]
async fn refused_recipient_does_not_consume_the_quota() {
    let world = World::with(|policy| {
        only_ann(policy);
        policy.limits.email_sent =
            foundation::limits::Quota::Window { events: 1.0, per: std::time::Duration::from_hours(1) };
    })
    .await;
    world.post("/otp", json!({ "email": "bob@example.com" })).await.expect(400);
    world.post("/otp", json!({ "email": "ann@example.com" })).await.expect(200);
}

#[tokio::test]
async fn email_refused_by_validation_service_is_named() {
    let pages = Pages::serve(&[("/check", r#"{"valid":false}"#)]).await;
    let world = World::with(|policy| policy.mail.address_check.service_url = format!("{}/check", pages.base)).await;
    let refused = world.post("/otp", json!({ "email": "ann@example.com" })).await;
    assert_eq!(refused.refusal(), (400, "email_address_invalid"));
    assert_eq!(refused.str("msg"), "Email address \"ann@example.com\" is invalid");
    assert_eq!(accounts(&world).await, "0");
    pages.put("/check", r#"{"valid":true}"#);
    world.post("/otp", json!({ "email": "ann@example.com" })).await.expect(200);
}

#[tokio::test]
async fn email_change_names_the_current_email() {
    let pages = Pages::serve(&[("/check", r#"{"valid":true}"#)]).await;
    let world = World::with(|policy| policy.mail.address_check.service_url = format!("{}/check", pages.base)).await;
    let ann = create_user(&world, "ann").await;
    pages.put("/check", r#"{"valid":false}"#);
    let sent = world.mailbox.all().len();
    let refused = ann.change(&world, json!({ "email": "new@example.com" })).await;
    assert_eq!(refused.str("msg"), "Email address \"ann@example.com\" is invalid");
    assert_eq!(world.mailbox.all().len(), sent, "neither address is written to");
}

#[tokio::test]
async fn background_mail_failure_is_not_returned() {
    let world = World::with(|policy| {
        policy.mail.background_sending = true;
        policy.mail.address_check.extended = true;
    })
    .await;
    world.post("/otp", json!({ "email": "ann@example.com" })).await.expect(200);
    assert_eq!(world.mailbox.all().len(), 0, "no user reads mail at example.com");
    assert_eq!(accounts(&world).await, "1");
}
