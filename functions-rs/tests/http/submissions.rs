//! The outcomes of submissions.

use chrono::TimeDelta;
use functions_rs::functions::send_submission::store;
use futures::future::join_all;
use http::Request;
use platform::testing::{assert_part_is_repeated, check_statements, named_sql};
use sqlx::ConnectOptions;

use crate::shop::{PATH, Submission, TestShop, accepted_id};
use crate::support::ADA;

#[tokio::test]
async fn submission_is_stored_and_mailed_in_two_statements() {
    let shop = TestShop::start().await;
    let seen = shop.send_submission(Submission::with_text("  We need a newsletter. \n")).await;
    let id = accepted_id(&seen);
    assert_eq!(seen.json()["message"], "Thank you for your submission. We have successfully received your details.");
    assert_eq!(seen.header("content-type"), "application/json");
    assert_eq!(seen.journal.statements(), ["submissions.enter", "submissions.insert"]);
    let stored = shop.database.query("SELECT concat_ws('|', id, description, created_at = '2026-11-21T12:00:00Z', user_id, peer) FROM basalt.submissions").await;
    assert_eq!(stored, [format!("{id}|We need a newsletter.|t|192.0.2.1/32")]);
    let mails = shop.mails("owner@shop.example").await;
    assert_eq!(mails.len(), 1);
    assert_eq!(
        (mails[0].kind.as_str(), mails[0].subject.as_str()),
        ("submission_notice", "New submission for Email Templates")
    );
    assert!(mails[0].html.contains("We need a newsletter.") && mails[0].html.contains(&id));
}

#[tokio::test]
async fn signed_in_user_gets_confirmation() {
    let shop = TestShop::start().await;
    let headers = [("apikey", "sb_publishable_test"), ("authorization", "Bearer token-of-ada")];
    accepted_id(
        &shop
            .send_submission(Submission { headers: &headers, ..Submission::with_text("Write to bob@example.com") })
            .await,
    );
    assert_eq!(shop.database.query("SELECT user_id FROM basalt.submissions").await, [ADA]);
    assert_eq!(shop.mails("ada@example.com").await.len(), 1);
    assert!(shop.mails("bob@example.com").await.is_empty());
    assert!(shop.mails("owner@shop.example").await[0].html.contains("Sent by ada@example.com, who was signed in."));
}

#[tokio::test]
async fn only_address_in_text_gets_confirmation_without_text() {
    let shop = TestShop::start().await;
    shop.submit("Buy cheap pills at evil.example! bob@example.com").await;
    let mails = shop.mails("bob@example.com").await;
    assert_eq!((mails.len(), mails[0].kind.as_str()), (1, "submission_confirmation"));
    let whole = format!("{} {} {}", mails[0].subject, mails[0].html, mails[0].text.as_deref().unwrap_or_default());
    assert!(!whole.contains("pills") && !whole.contains("evil"), "{whole}");
    assert!(whole.contains("We have received your details"));
}

#[tokio::test]
async fn two_addresses_in_text_get_no_confirmation() {
    let shop = TestShop::start().await;
    shop.submit("ada@example.com or bob@example.com").await;
    assert_eq!(shop.counts().await, (1, 1));
    let notice = &shop.mails("owner@shop.example").await[0];
    assert!(notice.text.as_deref().is_some_and(|text| text.contains("several addresses")), "{:?}", notice.text);
}

#[tokio::test]
async fn template_is_stored_and_named_in_the_notice() {
    let shop = TestShop::start().await;
    let body = serde_json::json!({ "description": "Ours in blue", "template": 9 }).to_string();
    accepted_id(&shop.post("192.0.2.1", &[], body).await);
    let stored = shop.database.query("SELECT template::text FROM basalt.submissions").await;
    assert_eq!(stored, ["9"]);
    let [notice] = &shop.mails("owner@shop.example").await[..] else { panic!("one mail") };
    let text = notice.text.as_deref().unwrap_or_default();
    assert!(text.contains("It is about template 9, Executive Report."), "{text}");
    assert!(notice.html.contains("It is about template 9, Executive Report."), "{}", notice.html);
}

#[tokio::test]
async fn invalid_submission_is_rejected() {
    let shop = TestShop::start().await;
    let cases: [(&[u8], &str, &str); 8] = [
        (b"{\"description\":\"  \"}", "validation_failed", "Details are required"),
        (b"{}", "validation_failed", "Details are required"),
        (b"{\"description\":\"a\\u0000\"}", "validation_failed", "Details must not contain a NUL character"),
        (b"{\"description\":[\"a\"]}", "validation_failed", "description must be a string"),
        (
            b"{\"description\":\"a\",\"to\":\"b\"}",
            "validation_failed",
            "The body may hold description and template alone",
        ),
        (b"[]", "validation_failed", "The body must be a JSON object; send {\"description\": \"…\"}"),
        (b"{\"description\":", "bad_json", "The body is not JSON; send {\"description\": \"…\"}"),
        (b"{\"description\":\"\xff\"}", "bad_json", "The body is not UTF-8"),
    ];
    for (body, code, message) in cases {
        let seen = shop.post("192.0.2.1", &[], body.to_vec()).await;
        assert_eq!(seen.error(), (400, code.to_owned(), message.to_owned()));
        assert!(seen.journal.statements().is_empty());
    }
    let long = serde_json::json!({ "description": "x".repeat(1001) }).to_string();
    let seen = shop.post("192.0.2.1", &[], long).await;
    assert_eq!(seen.error().2, "Details must be less than 1000 characters");
    assert_eq!(shop.counts().await, (0, 0));
}

#[tokio::test]
async fn invalid_token_is_401() {
    let shop = TestShop::start().await;
    let headers = [("apikey", "sb_publishable_test"), ("authorization", "Bearer expired")];
    let seen = shop.send_submission(Submission { headers: &headers, ..Submission::with_text("Hello") }).await;
    assert_eq!(seen.error().0, 401);
    assert_eq!(shop.counts().await, (0, 0));
}

#[tokio::test]
async fn methods_other_than_post_are_rejected() {
    let shop = TestShop::start().await;
    let seen = shop.send(Request::get(PATH)).await;
    assert_eq!((seen.error().0, seen.header("allow")), (405, "POST, OPTIONS"));
}

#[tokio::test]
async fn duplicate_submission_returns_same_id() {
    let shop = TestShop::start().await;
    let clicks = join_all((0..8).map(|_| shop.send_submission(Submission::with_text("Hello, ada@example.com")))).await;
    let ids: Vec<_> = clicks.iter().map(accepted_id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(shop.counts().await, (1, 2));
    shop.clock.advance(TimeDelta::seconds(119));
    assert_eq!(shop.submit("Hello, ada@example.com").await, ids[0]);
    assert_ne!(shop.submit("Hello again").await, ids[0]);
    let elsewhere = Submission { peer: "192.0.2.2", ..Submission::with_text("Hello, ada@example.com") };
    assert_ne!(accepted_id(&shop.send_submission(elsewhere).await), ids[0]);
    shop.clock.advance(TimeDelta::seconds(2));
    assert_ne!(shop.submit("Hello, ada@example.com").await, ids[0]);
}

#[tokio::test]
async fn duplicate_on_two_servers_is_stored_once() {
    let here = TestShop::start().await;
    let there = here.second_server(100);
    let (first, second) = tokio::join!(
        here.send_submission(Submission::with_text("Hello")),
        there.send_submission(Submission::with_text("Hello"))
    );
    assert_eq!(accepted_id(&first), accepted_id(&second));
    assert_eq!(here.counts().await, (1, 1));
}

#[tokio::test]
async fn idempotency_key_identifies_submission_of_visitor() {
    let shop = TestShop::start().await;
    let headers = [("idempotency-key", "4f8e")];
    let visits =
        (1..=6).map(|_| shop.send_submission(Submission { headers: &headers, ..Submission::with_text("Hello") }));
    let ids: Vec<_> = join_all(visits).await.iter().map(accepted_id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(shop.counts().await, (1, 1));
    shop.clock.advance(TimeDelta::days(2));
    assert_eq!(
        accepted_id(&shop.send_submission(Submission { headers: &headers, ..Submission::with_text("Hello") }).await),
        ids[0]
    );
    let other = shop.send_submission(Submission { headers: &headers, ..Submission::with_text("Something else") }).await;
    assert_eq!((other.error().0, other.error().1.as_str()), (422, "idempotency_key_reused"));
    let another_key = [("idempotency-key", "4f8f")];
    assert_ne!(
        accepted_id(
            &shop.send_submission(Submission { headers: &another_key, ..Submission::with_text("Hello") }).await
        ),
        ids[0]
    );
    assert_eq!(shop.counts().await, (2, 2));
}

#[tokio::test]
async fn idempotency_keys_of_visitors_are_separate() {
    let shop = TestShop::start().await;
    let other = shop.second_server(100);
    let headers = [("idempotency-key", "4f8e")];
    let first =
        accepted_id(&shop.send_submission(Submission { headers: &headers, ..Submission::with_text("Hello") }).await);
    for (n, text) in ["Hello", "Something else"].into_iter().enumerate() {
        let peer = format!("192.0.2.{}", n + 2);
        let visit = Submission { peer: &peer, headers: &headers, text };
        let own = accepted_id(&other.send_submission(visit).await);
        assert_ne!(own, first, "{text}");
        assert_eq!(accepted_id(&shop.send_submission(visit).await), own, "{text}");
    }
    assert_eq!(shop.counts().await, (3, 3));
}

#[tokio::test]
async fn idempotency_key_on_two_servers_is_stored_once() {
    let here = TestShop::start().await;
    let there = here.second_server(100);
    let headers = [("apikey", "sb_secret_test"), ("idempotency-key", "4f8e")];
    let visit = Submission { headers: &headers, ..Submission::with_text("Hello") };
    let sent = (0..8).map(|n| if n % 2 == 0 { &here } else { &there }.send_submission(visit));
    let ids: Vec<_> = join_all(sent).await.iter().map(accepted_id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(here.counts().await, (1, 1));
}

#[tokio::test]
async fn duplicates_of_the_operators_servers_are_stored_once() {
    let here = TestShop::start().await;
    let there = here.second_server(100);
    let headers = [("apikey", "sb_secret_test")];
    for round in 1..=20 {
        // Nothing in this text leads to a rate limit, whose lock would separate the calls.
        let text = format!("Hello {round}");
        let visit = Submission { headers: &headers, ..Submission::with_text(&text) };
        let sent = (0..8).map(|n| if n % 2 == 0 { &here } else { &there }.send_submission(visit));
        let seen = join_all(sent).await;
        let ids: Vec<_> = seen.iter().map(accepted_id).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "round {round}: {ids:?}");
        assert!(
            seen.iter().all(|response| response.journal.statements() == ["submissions.enter", "submissions.insert"]
                || response.journal.statements() == ["submissions.enter"]),
            "no statement is added"
        );
        assert_eq!(here.counts().await, (round, round));
    }
}

#[tokio::test]
async fn malformed_idempotency_key_is_rejected() {
    let shop = TestShop::start().await;
    let long = "k".repeat(256);
    let twice = [("idempotency-key", "a"), ("idempotency-key", "b")];
    for headers in [&[("idempotency-key", "")][..], &[("idempotency-key", long.as_str())], &twice] {
        let seen = shop.send_submission(Submission { headers, ..Submission::with_text("Hello") }).await;
        assert_eq!((seen.error().0, seen.error().1.as_str()), (400, "invalid_header"));
    }
    assert_eq!(shop.counts().await, (0, 0));
}

#[tokio::test]
async fn statements_match_schema() {
    let shop = TestShop::start().await;
    let mut connection = shop.pool.connect_options().connect().await.expect("the test server answers");
    assert_eq!(check_statements(&mut connection, store::list_statements()).await, [""; 0]);
}

#[test]
fn repeated_parts_are_alike() {
    let find = |name: &str| store::list_statements().into_iter().find(|one| one.name() == name).expect("it is listed");
    assert_part_is_repeated(store::list_statements(), ":key", &named_sql(find("submissions.find")));
}
