//! Mail sent by API requests: recipients and failures.

mod recipients;
mod slow;

use gotrue_rs::testing::World;
use serde_json::json;

#[tokio::test]
async fn hardened_mails_have_a_plain_text_part() {
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
