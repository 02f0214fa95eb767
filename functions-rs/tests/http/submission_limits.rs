//! Rate limits by visitor and by e-mail address.

use chrono::TimeDelta;
use futures::future::join_all;

use crate::shop::{Submission, TestShop, accepted_id};
use crate::support::TestResponse;

/// Sends until the first rejection; returns it with the number of accepted submissions.
async fn send_until_rejected(shop: &TestShop, visit: Submission<'_>) -> (usize, TestResponse) {
    for n in 0..30 {
        let text = format!("{} {n}", visit.text);
        let seen = shop.send_submission(Submission { text: &text, ..visit }).await;
        if seen.status != 200 {
            return (n, seen);
        }
    }
    panic!("thirty were taken");
}

#[tokio::test]
async fn visitor_is_limited_to_twenty_per_hour() {
    let shop = TestShop::start().await;
    let (count, seen) = send_until_rejected(&shop, Submission::with_text("Hello")).await;
    assert_eq!(count, 20);
    let message = "Too many submissions from your network: at most 20 in 1 hour. Try again in 3 minutes";
    assert_eq!(seen.error(), (429, "over_submission_rate_limit".into(), message.into()));
    assert_eq!(seen.header("retry-after"), "180");
    assert_eq!(shop.counts().await, (20, 20));
    shop.clock.advance(TimeDelta::seconds(179));
    assert_eq!(shop.send_submission(Submission::with_text("Not yet")).await.status, 429);
    shop.clock.advance(TimeDelta::seconds(1));
    assert_eq!(shop.send_submission(Submission::with_text("Now")).await.status, 200);
    assert_eq!(shop.send_submission(Submission::with_text("And again")).await.status, 429);
    shop.clock.advance(TimeDelta::hours(1));
    assert_eq!(send_until_rejected(&shop, Submission::with_text("Later")).await.0, 20);
}

#[tokio::test]
async fn limit_applies_across_servers_and_restarts() {
    let shop = TestShop::start().await;
    send_until_rejected(&shop, Submission::with_text("Hello")).await;
    let restarted = shop.second_server(100);
    assert_eq!(restarted.send_submission(Submission::with_text("Me again")).await.status, 429);
}

#[tokio::test]
async fn forwarded_headers_do_not_evade_limit() {
    let shop = TestShop::start().await;
    send_until_rejected(&shop, Submission::with_text("Hello")).await;
    for headers in [
        [("x-forwarded-for", "203.0.113.5")],
        [("x-real-ip", "203.0.113.5")],
        [("sb-forwarded-for", "203.0.113.5")],
        [("forwarded", "for=203.0.113.5")],
        [("cf-connecting-ip", "203.0.113.5")],
    ] {
        assert_eq!(
            shop.send_submission(Submission { headers: &headers, ..Submission::with_text("Me?") }).await.status,
            429,
            "{headers:?}"
        );
    }
    assert_eq!(
        shop.send_submission(Submission { peer: "::ffff:192.0.2.1", ..Submission::with_text("Me?") }).await.status,
        429
    );
    assert_eq!(
        shop.send_submission(Submission { peer: "192.0.2.2", ..Submission::with_text("Not me") }).await.status,
        200
    );
}

#[tokio::test]
async fn ipv6_network_shares_limit() {
    let shop = TestShop::start().await;
    send_until_rejected(&shop, Submission { peer: "2001:db8:0:1::1", ..Submission::with_text("Hello") }).await;
    assert_eq!(
        shop.send_submission(Submission { peer: "2001:db8:0:1:ffff::2", ..Submission::with_text("Me?") }).await.status,
        429
    );
    assert_eq!(
        shop.send_submission(Submission { peer: "2001:db8:0:2::1", ..Submission::with_text("Not me") }).await.status,
        200
    );
}

#[tokio::test]
async fn visitors_behind_trusted_proxy_have_separate_limits() {
    let shop = TestShop::start().await;
    let proxied = |from: &'static str| [("x-forwarded-for", from)];
    let first = proxied("203.0.113.5");
    send_until_rejected(&shop, Submission { peer: "10.0.0.1", headers: &first, text: "Hello" }).await;
    let lying = proxied("198.51.100.9, 203.0.113.5");
    assert_eq!(shop.send_submission(Submission { peer: "10.0.0.1", headers: &lying, text: "Me?" }).await.status, 429);
    let second = proxied("203.0.113.6");
    assert_eq!(
        shop.send_submission(Submission { peer: "10.0.0.1", headers: &second, text: "Not me" }).await.status,
        200
    );
}

#[tokio::test]
async fn concurrent_submissions_do_not_exceed_limit() {
    let shop = TestShop::start().await;
    let other = shop.second_server(100);
    let texts: Vec<_> = (0..50).map(|n| format!("Hello {n}")).collect();
    let sent = texts
        .iter()
        .enumerate()
        .map(|(n, text)| if n % 2 == 0 { &shop } else { &other }.send_submission(Submission::with_text(text)));
    let seen = join_all(sent).await;
    assert_eq!(seen.iter().filter(|seen| seen.status == 200).count(), 20);
    assert!(seen.iter().all(|seen| seen.status == 200 || seen.error().0 == 429));
    assert_eq!(shop.counts().await.0, 20);
}

#[tokio::test]
async fn duplicate_of_last_allowed_submission_succeeds() {
    let shop = TestShop::start().await;
    for n in 0..19 {
        shop.submit(&format!("Hello {n}")).await;
    }
    let other = shop.second_server(100);
    let (first, second) = tokio::join!(
        shop.send_submission(Submission::with_text("Last")),
        other.send_submission(Submission::with_text("Last"))
    );
    assert_eq!(accepted_id(&first), accepted_id(&second));
    assert_eq!(shop.submit("Last").await, accepted_id(&first));
}

#[tokio::test]
async fn service_role_is_not_limited_as_visitor() {
    let shop = TestShop::start().await;
    let headers = [("apikey", "sb_secret_test")];
    for n in 0..25 {
        let text = format!("Hello {n}");
        accepted_id(&shop.send_submission(Submission { headers: &headers, ..Submission::with_text(&text) }).await);
    }
}

#[tokio::test]
async fn address_gets_three_confirmations_per_day() {
    let shop = TestShop::start().await;
    for n in 1..=6 {
        let (peer, text) = (
            format!("192.0.2.{n}"),
            format!("{n}: Bob@Example.com").replace("Bob", if n % 2 == 0 { "bob" } else { "Bob" }),
        );
        accepted_id(&shop.send_submission(Submission { peer: &peer, ..Submission::with_text(&text) }).await);
    }
    assert_eq!(shop.mails("bob@example.com").await.len(), 3);
    assert_eq!(shop.mails("owner@shop.example").await.len(), 6);
    shop.clock.advance(TimeDelta::hours(8));
    shop.submit("Once more: bob@example.com").await;
    assert_eq!(shop.mails("bob@example.com").await.len(), 4);
}

#[tokio::test]
async fn address_variants_share_confirmation_limit() {
    let shop = TestShop::start().await;
    for (n, address) in
        ["bob@example.com", "bob+1@example.com", "BOB+2@example.com", "bob+a+b@example.com", "bob+3@example.com"]
            .iter()
            .enumerate()
    {
        let peer = format!("192.0.2.{}", n + 1);
        accepted_id(
            &shop
                .send_submission(Submission { peer: &peer, ..Submission::with_text(&format!("Write to {address}")) })
                .await,
        );
    }
    assert_eq!(shop.database.query(CONFIRMATIONS_SQL).await.len(), 3);
    for (n, address) in
        ["a.d.a@gmail.com", "ad.a+1@gmail.com", "ada@googlemail.com", "a.da@gmail.com"].iter().enumerate()
    {
        let peer = format!("192.0.2.{}", n + 11);
        accepted_id(
            &shop
                .send_submission(Submission { peer: &peer, ..Submission::with_text(&format!("Write to {address}")) })
                .await,
        );
    }
    assert_eq!(shop.database.query(CONFIRMATIONS_SQL).await.len(), 6);
    assert_eq!(shop.counts().await.0, 9, "every submission is stored");
}

const CONFIRMATIONS_SQL: &str = "SELECT recipient FROM basalt.outbox WHERE purpose = 'submission_confirmation'";
const NOTICES_SQL: &str = "SELECT subject FROM basalt.outbox WHERE purpose = 'submission_notice'";
const DIGESTS_SQL: &str = "SELECT subject FROM basalt.outbox WHERE purpose = 'submission_digest' ORDER BY number";

/// Sends concurrent submissions, each from a distinct visitor, alternating between two servers.
async fn send_concurrently(shop: &TestShop, other: &TestShop, round: usize, count: usize) {
    let peers: Vec<_> = (0..count).map(|n| format!("172.{round}.{}.{}", n / 250, n % 250 + 1)).collect();
    let sent = peers.iter().enumerate().map(|(n, peer)| {
        let server = if n % 2 == 0 { shop } else { other };
        async move { accepted_id(&server.send_submission(Submission { peer, ..Submission::with_text("Hello") }).await) }
    });
    join_all(sent).await;
}

#[tokio::test]
async fn notices_over_limit_are_collected_in_digest() {
    let shop = TestShop::start().await;
    let other = shop.second_server(100);
    send_concurrently(&shop, &other, 1, 100).await;
    assert_eq!(shop.database.query(NOTICES_SQL).await.len(), 60);
    assert_eq!(shop.counts().await.0, 100, "nothing is lost");
    assert_eq!(shop.write_digest().await, 0, "not before an hour");

    shop.clock.advance(TimeDelta::minutes(30));
    send_concurrently(&shop, &other, 2, 10).await;
    assert_eq!(shop.database.query(NOTICES_SQL).await.len(), 60);
    shop.clock.advance(TimeDelta::minutes(30));
    let written = tokio::join!(shop.write_digest(), other.write_digest());
    assert_eq!(written.0 + written.1, 50);
    assert_eq!(shop.write_digest().await, 0);
    assert_eq!(shop.database.query(DIGESTS_SQL).await, ["50 more submissions for Email Templates"]);
    let digest = shop.mails("owner@shop.example").await.into_iter().find(|mail| mail.kind == "submission_digest");
    assert!(digest.expect("a digest").text.expect("text").contains("basalt.submissions"));

    // An hour later, submissions have mails of their own again.
    send_concurrently(&shop, &other, 3, 5).await;
    assert_eq!(shop.database.query(NOTICES_SQL).await.len(), 65);
    assert_eq!(shop.write_digest().await, 0);
    let untold = "SELECT id FROM basalt.submissions WHERE NOT is_announced";
    assert!(shop.database.query(untold).await.is_empty());
}

#[tokio::test]
async fn rejected_or_repeated_submission_uses_no_notice_slot() {
    let shop = TestShop::start().await;
    send_until_rejected(&shop, Submission::with_text("Hello")).await;
    for _ in 0..30 {
        assert_eq!(shop.send_submission(Submission::with_text("One more")).await.status, 429);
        shop.submit("Hello 0").await;
    }
    let taken = "SELECT slot FROM basalt.notice_slots WHERE free_at > '2000-01-01'";
    assert_eq!(shop.database.query(taken).await.len(), 20);
}

#[tokio::test]
async fn visitor_causes_five_confirmations_per_hour() {
    let shop = TestShop::start().await;
    for n in 0..8 {
        shop.submit(&format!("Write to reader-{n}@example.com")).await;
    }
    let confirmations = "SELECT recipient FROM basalt.outbox WHERE purpose = 'submission_confirmation' ORDER BY number";
    let reported: Vec<_> = (0..5).map(|n| format!("reader-{n}@example.com")).collect();
    assert_eq!(shop.database.query(confirmations).await, reported);
    assert_eq!(shop.counts().await.0, 8);
}
