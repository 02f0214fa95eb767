//! Mail as the API sends it: to whom, and what happens when it cannot be sent.

mod recipients;
mod slow;

use gotrue_rs::testing::World;
use serde_json::json;

#[tokio::test]
async fn served_mails_have_their_words_as_plain_text_too() {
    let world = World::builder().as_served().build().await;
    world.post("/signup", json!({ "email": "ann@example.com", "password": "correct horse" })).await.expect(200);
    let mail = world.mailbox.latest("ann@example.com");
    let text = mail.text.expect("a text");
    assert!(text.contains("ann@example.com") && text.contains(&mail.link.expect("a link")), "{text}");
    assert!(!text.contains('<') && !text.contains("color"), "{text}");
    let recorded = World::new().await;
    recorded.post("/otp", json!({ "email": "ann@example.com" })).await.expect(200);
    assert_eq!(recorded.mailbox.latest("ann@example.com").text, None);
}
