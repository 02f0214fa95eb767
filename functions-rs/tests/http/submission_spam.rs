//! Quarantine of spam.

use functions_rs::functions::send_submission::spam::FORM_SIGNS;
use http::HeaderMap;
use serde_json::json;

use crate::shop::{Submission, TestShop, accepted_id};
use crate::support::TestResponse;

const KEY: (&str, &str) = ("apikey", "sb_publishable_test");

async fn stored(shop: &TestShop) -> Vec<String> {
    shop.database.query("SELECT concat_ws('|', status, spam_score, is_announced) FROM basalt.submissions").await
}

/// Returns the headers without the id of the request.
fn comparable(response: &TestResponse) -> HeaderMap {
    let mut headers = response.headers.clone();
    for name in ["sb-request-id", "x-request-id"] {
        headers.remove(name);
    }
    headers
}

#[tokio::test]
async fn trapped_submission_is_answered_alike_and_not_mailed() {
    let shop = TestShop::start().await;
    let headers = [KEY, (FORM_SIGNS, "trap")];
    let spam = Submission { peer: "192.0.2.2", headers: &headers, text: "Write to bob@example.com" };
    let quarantined = shop.send_submission(spam).await;
    assert_eq!(stored(&shop).await, ["spam|100|t"]);
    assert_eq!(shop.counts().await, (1, 0));
    let ordinary = shop.send_submission(Submission::with_text("Write to bob@example.com")).await;
    assert_eq!(shop.counts().await, (2, 2));
    assert_ne!(accepted_id(&quarantined), accepted_id(&ordinary));
    assert_eq!(quarantined.json()["message"], ordinary.json()["message"]);
    assert_eq!(quarantined.body.len(), ordinary.body.len());
    assert_eq!((quarantined.status, comparable(&quarantined)), (ordinary.status, comparable(&ordinary)));
    assert_eq!(quarantined.journal.statements(), ordinary.journal.statements());
    assert_eq!(accepted_id(&shop.send_submission(spam).await), accepted_id(&quarantined));
    assert_eq!(shop.counts().await, (2, 2));
}

#[tokio::test]
async fn spam_takes_no_notice_of_the_hour_and_is_in_no_digest() {
    let shop = TestShop::start().await;
    for number in 0..15 {
        let text = format!("[url=http://a.example]{number}[/url] http://b.example http://c.example http://d.example");
        shop.send_submission(Submission::with_text(&text)).await;
    }
    let slots = "SELECT count(*) FROM basalt.notice_slots WHERE free_at > '-infinity'";
    assert_eq!(shop.database.query(slots).await, ["0"]);
    shop.clock.advance(chrono::TimeDelta::hours(2));
    assert_eq!(shop.write_digest().await, 0);
    assert_eq!(shop.counts().await, (15, 0));
}

#[tokio::test]
async fn text_with_a_link_from_many_networks_is_quarantined() {
    let shop = TestShop::start().await;
    for last in 1..=5 {
        let peer = format!("192.0.2.{last}");
        let visit = Submission { peer: &peer, ..Submission::with_text("The best prices: https://a.example") };
        accepted_id(&shop.send_submission(visit).await);
    }
    assert_eq!(stored(&shop).await, ["new|0|t", "new|0|t", "new|0|t", "spam|60|t", "spam|60|t"]);
    shop.clock.advance(chrono::TimeDelta::hours(25));
    let later = Submission { peer: "192.0.2.9", ..Submission::with_text("The best prices: https://a.example") };
    accepted_id(&shop.send_submission(later).await);
    assert_eq!(stored(&shop).await.last().map(String::as_str), Some("new|0|t"));
}

#[tokio::test]
async fn server_of_the_operator_sends_no_spam() {
    let shop = TestShop::start().await;
    let headers = [("apikey", "sb_secret_test"), (FORM_SIGNS, "trap, fast")];
    let body = json!({ "description": "[url=http://a.example]" }).to_string();
    accepted_id(&shop.post("192.0.2.1", &headers, body).await);
    assert_eq!(stored(&shop).await, ["new|0|t"]);
}
