//! With an outbox, a mail is stored in the transaction of its request.

use gotrue_rs::testing::{TestUser, World};
use platform::journal::Step;
use serde_json::json;

use super::{Acting, create_user};

const NEW: &str = "new@example.com";

/// A user in a world with an outbox and autoconfirm.
async fn ann() -> (World, TestUser) {
    let world = World::builder().with_outbox().policy(|policy| policy.mail.autoconfirm = true).build().await;
    let ann = create_user(&world, "ann").await;
    (world, ann)
}

async fn written(world: &World) -> Vec<String> {
    world.database.query("SELECT recipient FROM basalt.outbox ORDER BY number").await
}

#[tokio::test]
async fn email_change_and_its_mails_are_stored_together() {
    let (world, ann) = ann().await;
    ann.change(&world, json!({ "email": NEW })).await.expect(200);
    assert_eq!(written(&world).await, [NEW, "ann@example.com"]);
    assert_eq!(world.mailbox.all().len(), 0);
    let steps = world.journal().steps();
    assert!(!steps.contains(&Step::Call("mail.send")), "{steps:?}");

    let code = world.database.query("SELECT code FROM basalt.outbox ORDER BY number").await.remove(0);
    let confirmed = json!({ "type": "email_change", "email": NEW, "token": code });
    world.post("/verify", confirmed).await.expect(200);
}

#[tokio::test]
async fn failed_email_change_sends_no_mail() {
    let (world, ann) = ann().await;
    world.faults.fail("contact_changes.store_email_change", 1);
    ann.change(&world, json!({ "email": NEW, "password": "battery staple" })).await.expect(500);
    assert_eq!(written(&world).await, [""; 0]);
    world.sign_in(&ann.email).await;
}

#[tokio::test]
async fn failed_recovery_sends_no_mail() {
    let (world, ann) = ann().await;
    world.faults.fail("one_time_tokens.issue_recovery", 1);
    world.post("/recover", json!({ "email": ann.email })).await.expect(500);
    assert_eq!(written(&world).await, [""; 0]);
    world.post("/recover", json!({ "email": ann.email })).await.expect(200);
    assert_eq!(written(&world).await, [ann.email]);
}
