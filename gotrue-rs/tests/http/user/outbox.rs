//! With an outbox a mail is a row of the write that asks for it: both or neither.

use gotrue_rs::journal::Step;
use gotrue_rs::testing::{Person, World};
use serde_json::json;

use super::{Acting, person};

const NEW: &str = "new@example.com";

/// Ann in a world with an outbox, where addresses of newcomers count at once.
async fn ann() -> (World, Person) {
    let world = World::builder().with_outbox().policy(|policy| policy.mail.autoconfirm = true).build().await;
    let ann = person(&world, "ann").await;
    (world, ann)
}

async fn written(world: &World) -> Vec<String> {
    world.database.query("SELECT recipient FROM basalt.outbox ORDER BY number").await
}

#[tokio::test]
async fn a_change_of_address_and_its_two_mails_are_stored_together() {
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
async fn a_change_that_cannot_be_stored_mails_nobody() {
    let (world, ann) = ann().await;
    world.faults.fail("contact_changes.ask_email", 1);
    ann.change(&world, json!({ "email": NEW, "password": "battery staple" })).await.expect(500);
    assert_eq!(written(&world).await, [""; 0]);
    world.sign_in(&ann.email).await;
}

#[tokio::test]
async fn a_recovery_that_cannot_be_stored_mails_nobody() {
    let (world, ann) = ann().await;
    world.faults.fail("one_time_tokens.issue_recovery", 1);
    world.post("/recover", json!({ "email": ann.email })).await.expect(500);
    assert_eq!(written(&world).await, [""; 0]);
    world.post("/recover", json!({ "email": ann.email })).await.expect(200);
    assert_eq!(written(&world).await, [ann.email]);
}
