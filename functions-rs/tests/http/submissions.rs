//! What becomes of a submission.

use chrono::TimeDelta;
use functions_rs::functions::send_submission::store;
use futures::future::join_all;
use http::Request;
use sqlx::{ConnectOptions, Executor};

use crate::shop::{PATH, Shop, Visit, taken};
use crate::support::ADA;

#[tokio::test]
async fn a_submission_is_stored_and_mailed_in_two_statements() {
    let shop = Shop::open().await;
    let seen = shop.visit(Visit::saying("  We need a newsletter. \n")).await;
    let id = taken(&seen);
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
async fn the_account_that_is_signed_in_gets_a_confirmation() {
    let shop = Shop::open().await;
    let headers = [("apikey", "sb_publishable_test"), ("authorization", "Bearer token-of-ada")];
    taken(&shop.visit(Visit { headers: &headers, ..Visit::saying("Write to bob@example.com") }).await);
    assert_eq!(shop.database.query("SELECT user_id FROM basalt.submissions").await, [ADA]);
    assert_eq!(shop.mails("ada@example.com").await.len(), 1);
    assert!(shop.mails("bob@example.com").await.is_empty());
    assert!(shop.mails("owner@shop.example").await[0].html.contains("Sent by ada@example.com, who was signed in."));
}

#[tokio::test]
async fn the_one_address_in_the_text_gets_a_confirmation_that_echoes_nothing() {
    let shop = Shop::open().await;
    shop.submit("Buy cheap pills at evil.example! bob@example.com").await;
    let mails = shop.mails("bob@example.com").await;
    assert_eq!((mails.len(), mails[0].kind.as_str()), (1, "submission_confirmation"));
    let whole = format!("{} {} {}", mails[0].subject, mails[0].html, mails[0].text.as_deref().unwrap_or_default());
    assert!(!whole.contains("pills") && !whole.contains("evil"), "{whole}");
    assert!(whole.contains("We have received your details"));
}

#[tokio::test]
async fn two_addresses_in_the_text_are_nobodys() {
    let shop = Shop::open().await;
    shop.submit("ada@example.com or bob@example.com").await;
    assert_eq!(shop.counts().await, (1, 1));
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_and_nothing_is_stored() {
    let shop = Shop::open().await;
    let cases: [(&[u8], &str, &str); 8] = [
        (b"{\"description\":\"  \"}", "validation_failed", "Details are required"),
        (b"{}", "validation_failed", "Details are required"),
        (b"{\"description\":\"a\\u0000\"}", "validation_failed", "Details must not contain a NUL character"),
        (b"{\"description\":[\"a\"]}", "validation_failed", "description must be a string"),
        (b"{\"description\":\"a\",\"to\":\"b\"}", "validation_failed", "The body may hold description alone"),
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
async fn a_bad_token_is_401_and_nothing_is_stored() {
    let shop = Shop::open().await;
    let headers = [("apikey", "sb_publishable_test"), ("authorization", "Bearer expired")];
    let seen = shop.visit(Visit { headers: &headers, ..Visit::saying("Hello") }).await;
    assert_eq!(seen.error().0, 401);
    assert_eq!(shop.counts().await, (0, 0));
}

#[tokio::test]
async fn a_submission_is_posted() {
    let shop = Shop::open().await;
    let seen = shop.send(Request::get(PATH)).await;
    assert_eq!((seen.error().0, seen.header("allow")), (405, "POST, OPTIONS"));
}

#[tokio::test]
async fn a_double_click_stores_one_and_answers_the_same() {
    let shop = Shop::open().await;
    let clicks = join_all((0..8).map(|_| shop.visit(Visit::saying("Hello, ada@example.com")))).await;
    let ids: Vec<_> = clicks.iter().map(taken).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(shop.counts().await, (1, 2));
    shop.clock.advance(TimeDelta::seconds(119));
    assert_eq!(shop.submit("Hello, ada@example.com").await, ids[0]);
    assert_ne!(shop.submit("Hello again").await, ids[0]);
    let elsewhere = Visit { peer: "192.0.2.2", ..Visit::saying("Hello, ada@example.com") };
    assert_ne!(taken(&shop.visit(elsewhere).await), ids[0]);
    shop.clock.advance(TimeDelta::seconds(2));
    assert_ne!(shop.submit("Hello, ada@example.com").await, ids[0]);
}

#[tokio::test]
async fn two_servers_on_one_database_store_a_double_click_once() {
    let here = Shop::open().await;
    let there = here.second_server(100);
    let (first, second) = tokio::join!(here.visit(Visit::saying("Hello")), there.visit(Visit::saying("Hello")));
    assert_eq!(taken(&first), taken(&second));
    assert_eq!(here.counts().await, (1, 1));
}

#[tokio::test]
async fn an_idempotency_key_stores_one_for_each_visitor() {
    let shop = Shop::open().await;
    let headers = [("idempotency-key", "4f8e")];
    let visits = (1..=6).map(|_| shop.visit(Visit { headers: &headers, ..Visit::saying("Hello") }));
    let ids: Vec<_> = join_all(visits).await.iter().map(taken).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(shop.counts().await, (1, 1));
    shop.clock.advance(TimeDelta::days(2));
    assert_eq!(taken(&shop.visit(Visit { headers: &headers, ..Visit::saying("Hello") }).await), ids[0]);
    let other = shop.visit(Visit { headers: &headers, ..Visit::saying("Something else") }).await;
    assert_eq!((other.error().0, other.error().1.as_str()), (422, "idempotency_key_reused"));
    let another_key = [("idempotency-key", "4f8f")];
    assert_ne!(taken(&shop.visit(Visit { headers: &another_key, ..Visit::saying("Hello") }).await), ids[0]);
    assert_eq!(shop.counts().await, (2, 2));
}

#[tokio::test]
async fn another_visitor_with_the_same_key_learns_and_takes_nothing() {
    let shop = Shop::open().await;
    let other = shop.second_server(100);
    let headers = [("idempotency-key", "4f8e")];
    let first = taken(&shop.visit(Visit { headers: &headers, ..Visit::saying("Hello") }).await);
    for (n, text) in ["Hello", "Something else"].into_iter().enumerate() {
        let peer = format!("192.0.2.{}", n + 2);
        let visit = Visit { peer: &peer, headers: &headers, text };
        let own = taken(&other.visit(visit).await);
        assert_ne!(own, first, "{text}");
        assert_eq!(taken(&shop.visit(visit).await), own, "{text}");
    }
    assert_eq!(shop.counts().await, (3, 3));
}

#[tokio::test]
async fn of_one_key_sent_to_two_servers_at_once_one_is_stored() {
    let here = Shop::open().await;
    let there = here.second_server(100);
    let headers = [("apikey", "sb_secret_test"), ("idempotency-key", "4f8e")];
    let visit = Visit { headers: &headers, ..Visit::saying("Hello") };
    let sent = (0..8).map(|n| if n % 2 == 0 { &here } else { &there }.visit(visit));
    let ids: Vec<_> = join_all(sent).await.iter().map(taken).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(here.counts().await, (1, 1));
}

#[tokio::test]
async fn an_idempotency_key_has_a_form() {
    let shop = Shop::open().await;
    let long = "k".repeat(256);
    let twice = [("idempotency-key", "a"), ("idempotency-key", "b")];
    for headers in [&[("idempotency-key", "")][..], &[("idempotency-key", long.as_str())], &twice] {
        let seen = shop.visit(Visit { headers, ..Visit::saying("Hello") }).await;
        assert_eq!((seen.error().0, seen.error().1.as_str()), (400, "invalid_header"));
    }
    assert_eq!(shop.counts().await, (0, 0));
}

#[tokio::test]
async fn every_statement_fits_the_schema() {
    let shop = Shop::open().await;
    let mut connection = shop.pool.connect_options().connect().await.expect("the test server answers");
    for statement in store::ALL {
        let prepared = connection.prepare(sqlx::SqlSafeStr::into_sql_str(statement.sql)).await;
        assert!(prepared.is_ok(), "{}: {:?}", statement.name, prepared.err());
    }
}
