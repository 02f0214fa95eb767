//! How much one visitor may send, and how much may be mailed to one address.

use chrono::TimeDelta;
use futures::future::join_all;

use crate::shop::{Shop, Visit, taken};
use crate::support::Seen;

/// Sends until the first refusal, which it returns with how many were taken.
async fn until_refused(shop: &Shop, visit: Visit<'_>) -> (usize, Seen) {
    for n in 0..30 {
        let text = format!("{} {n}", visit.text);
        let seen = shop.visit(Visit { text: &text, ..visit }).await;
        if seen.status != 200 {
            return (n, seen);
        }
    }
    panic!("thirty were taken");
}

#[tokio::test]
async fn one_visitor_sends_twenty_in_an_hour() {
    let shop = Shop::open().await;
    let (count, seen) = until_refused(&shop, Visit::saying("Hello")).await;
    assert_eq!(count, 20);
    let message = "Too many submissions from your network: at most 20 in 1 hour. Try again in 3 minutes";
    assert_eq!(seen.error(), (429, "over_submission_rate_limit".into(), message.into()));
    assert_eq!(seen.header("retry-after"), "180");
    assert_eq!(shop.counts().await, (20, 20));
    shop.clock.advance(TimeDelta::seconds(179));
    assert_eq!(shop.visit(Visit::saying("Not yet")).await.status, 429);
    shop.clock.advance(TimeDelta::seconds(1));
    assert_eq!(shop.visit(Visit::saying("Now")).await.status, 200);
    assert_eq!(shop.visit(Visit::saying("And again")).await.status, 429);
    shop.clock.advance(TimeDelta::hours(1));
    assert_eq!(until_refused(&shop, Visit::saying("Later")).await.0, 20);
}

#[tokio::test]
async fn a_limit_holds_across_servers_and_restarts() {
    let shop = Shop::open().await;
    until_refused(&shop, Visit::saying("Hello")).await;
    let restarted = shop.second_server(100);
    assert_eq!(restarted.visit(Visit::saying("Me again")).await.status, 429);
}

#[tokio::test]
async fn d1_a_visitor_cannot_become_another() {
    let shop = Shop::open().await;
    until_refused(&shop, Visit::saying("Hello")).await;
    for headers in [
        [("x-forwarded-for", "203.0.113.5")],
        [("x-real-ip", "203.0.113.5")],
        [("sb-forwarded-for", "203.0.113.5")],
        [("forwarded", "for=203.0.113.5")],
        [("cf-connecting-ip", "203.0.113.5")],
    ] {
        assert_eq!(shop.visit(Visit { headers: &headers, ..Visit::saying("Me?") }).await.status, 429, "{headers:?}");
    }
    assert_eq!(shop.visit(Visit { peer: "::ffff:192.0.2.1", ..Visit::saying("Me?") }).await.status, 429);
    assert_eq!(shop.visit(Visit { peer: "192.0.2.2", ..Visit::saying("Not me") }).await.status, 200);
}

#[tokio::test]
async fn d1_a_customers_ipv6_network_is_one_visitor() {
    let shop = Shop::open().await;
    until_refused(&shop, Visit { peer: "2001:db8:0:1::1", ..Visit::saying("Hello") }).await;
    assert_eq!(shop.visit(Visit { peer: "2001:db8:0:1:ffff::2", ..Visit::saying("Me?") }).await.status, 429);
    assert_eq!(shop.visit(Visit { peer: "2001:db8:0:2::1", ..Visit::saying("Not me") }).await.status, 200);
}

#[tokio::test]
async fn behind_a_trusted_proxy_each_visitor_has_a_limit() {
    let shop = Shop::open().await;
    let proxied = |from: &'static str| [("x-forwarded-for", from)];
    let first = proxied("203.0.113.5");
    until_refused(&shop, Visit { peer: "10.0.0.1", headers: &first, text: "Hello" }).await;
    let lying = proxied("198.51.100.9, 203.0.113.5");
    assert_eq!(shop.visit(Visit { peer: "10.0.0.1", headers: &lying, text: "Me?" }).await.status, 429);
    let second = proxied("203.0.113.6");
    assert_eq!(shop.visit(Visit { peer: "10.0.0.1", headers: &second, text: "Not me" }).await.status, 200);
}

#[tokio::test]
async fn of_many_at_once_no_more_are_taken_than_one_by_one() {
    let shop = Shop::open().await;
    let other = shop.second_server(100);
    let texts: Vec<_> = (0..50).map(|n| format!("Hello {n}")).collect();
    let sent =
        texts.iter().enumerate().map(|(n, text)| if n % 2 == 0 { &shop } else { &other }.visit(Visit::saying(text)));
    let seen = join_all(sent).await;
    assert_eq!(seen.iter().filter(|seen| seen.status == 200).count(), 20);
    assert!(seen.iter().all(|seen| seen.status == 200 || seen.error().0 == 429));
    assert_eq!(shop.counts().await.0, 20);
}

#[tokio::test]
async fn the_last_one_that_fits_may_be_clicked_twice() {
    let shop = Shop::open().await;
    for n in 0..19 {
        shop.submit(&format!("Hello {n}")).await;
    }
    let other = shop.second_server(100);
    let (first, second) = tokio::join!(shop.visit(Visit::saying("Last")), other.visit(Visit::saying("Last")));
    assert_eq!(taken(&first), taken(&second));
    assert_eq!(shop.submit("Last").await, taken(&first));
}

#[tokio::test]
async fn a_server_of_the_operators_is_not_limited_as_one_visitor() {
    let shop = Shop::open().await;
    let headers = [("apikey", "sb_secret_test")];
    for n in 0..25 {
        let text = format!("Hello {n}");
        taken(&shop.visit(Visit { headers: &headers, ..Visit::saying(&text) }).await);
    }
}

#[tokio::test]
async fn one_address_gets_three_confirmations_a_day_whoever_names_it() {
    let shop = Shop::open().await;
    for n in 1..=6 {
        let (peer, text) = (
            format!("192.0.2.{n}"),
            format!("{n}: Bob@Example.com").replace("Bob", if n % 2 == 0 { "bob" } else { "Bob" }),
        );
        taken(&shop.visit(Visit { peer: &peer, ..Visit::saying(&text) }).await);
    }
    assert_eq!(shop.mails("bob@example.com").await.len(), 3);
    assert_eq!(shop.mails("owner@shop.example").await.len(), 6);
    shop.clock.advance(TimeDelta::hours(8));
    shop.submit("Once more: bob@example.com").await;
    assert_eq!(shop.mails("bob@example.com").await.len(), 4);
}

#[tokio::test]
async fn variants_of_an_address_are_one_mailbox() {
    let shop = Shop::open().await;
    for (n, address) in
        ["bob@example.com", "bob+1@example.com", "BOB+2@example.com", "bob+a+b@example.com", "bob+3@example.com"]
            .iter()
            .enumerate()
    {
        let peer = format!("192.0.2.{}", n + 1);
        taken(&shop.visit(Visit { peer: &peer, ..Visit::saying(&format!("Write to {address}")) }).await);
    }
    assert_eq!(shop.database.query(CONFIRMED).await.len(), 3);
    for (n, address) in
        ["a.d.a@gmail.com", "ad.a+1@gmail.com", "ada@googlemail.com", "a.da@gmail.com"].iter().enumerate()
    {
        let peer = format!("192.0.2.{}", n + 11);
        taken(&shop.visit(Visit { peer: &peer, ..Visit::saying(&format!("Write to {address}")) }).await);
    }
    assert_eq!(shop.database.query(CONFIRMED).await.len(), 6);
    assert_eq!(shop.counts().await.0, 9, "every submission is stored");
}

const CONFIRMED: &str = "SELECT recipient FROM basalt.outbox WHERE purpose = 'submission_confirmation'";
const NOTICED: &str = "SELECT subject FROM basalt.outbox WHERE purpose = 'submission_notice'";
const DIGESTS: &str = "SELECT subject FROM basalt.outbox WHERE purpose = 'submission_digest' ORDER BY number";

/// Sends this many submissions at once, each from a visitor of its own, half of them to another server.
async fn flood(shop: &Shop, other: &Shop, round: usize, count: usize) {
    let peers: Vec<_> = (0..count).map(|n| format!("172.{round}.{}.{}", n / 250, n % 250 + 1)).collect();
    let sent = peers.iter().enumerate().map(|(n, peer)| {
        let server = if n % 2 == 0 { shop } else { other };
        async move { taken(&server.visit(Visit { peer, ..Visit::saying("Hello") }).await) }
    });
    join_all(sent).await;
}

#[tokio::test]
async fn the_owner_gets_sixty_mails_an_hour_and_then_a_digest_that_names_the_rest() {
    let shop = Shop::open().await;
    let other = shop.second_server(100);
    flood(&shop, &other, 1, 100).await;
    assert_eq!(shop.database.query(NOTICED).await.len(), 60);
    assert_eq!(shop.counts().await.0, 100, "nothing is lost");
    assert_eq!(shop.digest().await, 0, "not before an hour");

    shop.clock.advance(TimeDelta::minutes(30));
    flood(&shop, &other, 2, 10).await;
    assert_eq!(shop.database.query(NOTICED).await.len(), 60);
    shop.clock.advance(TimeDelta::minutes(30));
    let written = tokio::join!(shop.digest(), other.digest());
    assert_eq!(written.0 + written.1, 50);
    assert_eq!(shop.digest().await, 0);
    assert_eq!(shop.database.query(DIGESTS).await, ["50 more submissions for Email Templates"]);
    let digest = shop.mails("owner@shop.example").await.into_iter().find(|mail| mail.kind == "submission_digest");
    assert!(digest.expect("a digest").text.expect("text").contains("basalt.submissions"));

    // An hour later each has a mail of its own again.
    flood(&shop, &other, 3, 5).await;
    assert_eq!(shop.database.query(NOTICED).await.len(), 65);
    assert_eq!(shop.digest().await, 0);
    let untold = "SELECT id FROM basalt.submissions WHERE NOT is_announced";
    assert!(shop.database.query(untold).await.is_empty());
}

#[tokio::test]
async fn a_submission_that_is_refused_or_repeated_uses_up_no_notice() {
    let shop = Shop::open().await;
    until_refused(&shop, Visit::saying("Hello")).await;
    for _ in 0..30 {
        assert_eq!(shop.visit(Visit::saying("One more")).await.status, 429);
        shop.submit("Hello 0").await;
    }
    let taken = "SELECT slot FROM basalt.notice_slots WHERE free_at > '2000-01-01'";
    assert_eq!(shop.database.query(taken).await.len(), 20);
}

#[tokio::test]
async fn one_visitor_causes_five_confirmations_an_hour() {
    let shop = Shop::open().await;
    for n in 0..8 {
        shop.submit(&format!("Write to reader-{n}@example.com")).await;
    }
    let confirmations = "SELECT recipient FROM basalt.outbox WHERE purpose = 'submission_confirmation' ORDER BY number";
    let told: Vec<_> = (0..5).map(|n| format!("reader-{n}@example.com")).collect();
    assert_eq!(shop.database.query(confirmations).await, told);
    assert_eq!(shop.counts().await.0, 8);
}
