//! A mistyped address of a buyer is changed with the next link.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use chrono::TimeDelta;
use foundation::email::Email;
use http::Method;
use orders::Provider;
use orders::admin::{self, OrderFilter, Recipient, ResendError};
use sqlx::{ConnectOptions, Connection};
use uuid::Uuid;

use crate::fixture::{TestShop, refund, session};

/// The address of the fixture's payments.
const MISTYPED: &str = "ada@example.com";
const RIGHT: &str = "grace@example.com";

/// Starts a shop with an order; returns it with the id of the order.
async fn start() -> (TestShop, Uuid) {
    let shop = TestShop::start().await;
    shop.deliver(Provider::Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await.expect("an order");
    let list = admin::list(&shop.service, &OrderFilter::default()).await.expect("a list");
    (shop, list.orders[0].id)
}

async fn resend(shop: &TestShop, id: Uuid, email: &str, previous: Option<&str>) -> Result<bool, ResendError> {
    let email = Email::parse(email).expect("an address");
    admin::resend_download_to(&shop.service, id, Recipient { email: Some(&email), previous }).await
}

/// Returns address, state and number of the link of the order.
async fn stored(shop: &TestShop) -> String {
    let sql = "SELECT buyer_email || ' ' || state || ' ' || download_generation FROM basalt.orders";
    shop.database.query(sql).await.concat()
}

/// Returns the recipients of the mails with a link, in the order of writing.
async fn recipients(shop: &TestShop) -> Vec<String> {
    let sql = "SELECT recipient FROM basalt.outbox WHERE purpose = 'order_delivery' ORDER BY number";
    shop.database.query(sql).await
}

/// Returns the path of the latest link.
async fn latest_link(shop: &TestShop) -> String {
    let links = shop.database.query("SELECT link FROM basalt.outbox ORDER BY number DESC LIMIT 1").await;
    links[0].strip_prefix("https://shop.example").expect("a link of the shop").to_owned()
}

async fn download(shop: &TestShop, path: &str) -> u16 {
    let request = Request::builder().method(Method::GET).uri(path).body(Body::empty()).expect("a request");
    shop.answer(request).await.status().as_u16()
}

/// Sends the form of the page of lost links, and waits until what it asks for is written.
async fn ask_again(shop: &TestShop, form: &str) {
    let request = Request::builder().method(Method::POST).uri("/orders");
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let response = shop.answer(request.body(Body::from(form.to_owned())).expect("a request")).await;
    assert_eq!(response.status(), 200);
    tokio::time::sleep(Duration::from_millis(300)).await;
}

#[tokio::test]
async fn link_to_another_address_changes_the_order_and_ends_the_link_of_the_former() {
    let (shop, id) = start().await;
    let former = latest_link(&shop).await;
    assert_eq!(download(&shop, &former).await, 200);
    assert!(resend(&shop, id, "Grace@Example.com", Some(MISTYPED)).await.expect("a link"), "it is another address");
    assert_eq!(stored(&shop).await, format!("{RIGHT} delivered 2"));
    assert_eq!(recipients(&shop).await, [MISTYPED, RIGHT]);
    assert_eq!(download(&shop, &former).await, 410);
    assert_eq!(download(&shop, &latest_link(&shop).await).await, 200);
    let mail = shop.database.query("SELECT html || text FROM basalt.outbox ORDER BY number DESC LIMIT 1").await;
    assert!(mail[0].contains(&format!("Käufer: {RIGHT}")) && !mail[0].contains(MISTYPED), "{}", mail[0]);
    let details = admin::find(&shop.service, id).await.expect("a result").expect("an order");
    let listed: Vec<_> = details.mails.iter().map(|mail| mail.recipient.as_str()).collect();
    assert_eq!((details.order.buyer_email.as_str(), listed), (RIGHT, vec![MISTYPED, RIGHT]));
}

#[tokio::test]
async fn former_address_and_its_link_lead_to_no_download() {
    let (shop, id) = start().await;
    let former = latest_link(&shop).await;
    resend(&shop, id, RIGHT, None).await.expect("a link");
    let (right, mistyped) = ("email=grace%40example.com", "email=ada%40example.com");
    ask_again(&shop, right).await;
    assert_eq!(recipients(&shop).await, [MISTYPED, RIGHT], "the link was sent less than ten minutes ago");
    shop.clock.advance(TimeDelta::minutes(11));
    ask_again(&shop, mistyped).await;
    assert_eq!(recipients(&shop).await, [MISTYPED, RIGHT], "the former address has no order");
    let token = former.rsplit('/').next().expect("a token");
    ask_again(&shop, &format!("token={token}")).await;
    assert_eq!(recipients(&shop).await, [MISTYPED, RIGHT, RIGHT], "the page of the former link sends the buyer one");
    assert_eq!(download(&shop, &former).await, 410);
    shop.clock.advance(TimeDelta::minutes(11));
    ask_again(&shop, right).await;
    shop.clock.advance(TimeDelta::minutes(11));
    ask_again(&shop, right).await;
    assert_eq!(recipients(&shop).await, [MISTYPED, RIGHT, RIGHT, RIGHT], "four mails in 24 hours, whoever got them");
}

#[tokio::test]
async fn the_same_address_is_no_change() {
    let (shop, id) = start().await;
    assert!(!resend(&shop, id, "ADA@example.com", Some("Ada@Example.com")).await.expect("a link"));
    assert_eq!(stored(&shop).await, format!("{MISTYPED} paid 2"));
    assert_eq!(recipients(&shop).await, [MISTYPED, MISTYPED]);
}

#[tokio::test]
async fn owner_who_read_a_former_address_changes_nothing() {
    let (shop, id) = start().await;
    resend(&shop, id, RIGHT, Some(MISTYPED)).await.expect("a link");
    let late = resend(&shop, id, "joan@example.com", Some(MISTYPED)).await;
    assert!(matches!(late, Err(ResendError::Conflict)), "{late:?}");
    let keep = Recipient { email: None, previous: Some(MISTYPED) };
    let late = admin::resend_download_to(&shop.service, id, keep).await;
    assert!(matches!(late, Err(ResendError::Conflict)), "{late:?}");
    assert_eq!(stored(&shop).await, format!("{RIGHT} paid 2"));
    assert_eq!(recipients(&shop).await, [MISTYPED, RIGHT]);
    let keep = Recipient { previous: Some(RIGHT), ..keep };
    assert!(!admin::resend_download_to(&shop.service, id, keep).await.expect("a link"));
    assert_eq!(recipients(&shop).await, [MISTYPED, RIGHT, RIGHT]);
}

#[tokio::test]
async fn of_owners_at_the_same_time_one_changes_the_address() {
    let (shop, id) = start().await;
    let mut connection = shop.pool.connect_options().connect().await.expect("the test server answers");
    let mut holder = connection.begin().await.expect("a transaction");
    sqlx::query("SELECT id FROM basalt.orders FOR UPDATE").execute(&mut *holder).await.expect("a lock");
    let addresses = ["grace@example.com", "joan@example.com"];
    let owners = futures::future::join_all(addresses.map(|address| resend(&shop, id, address, None)));
    let release = async {
        // Both have read the order by then.
        let waiting =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        for _ in 0..400 {
            if shop.database.query(waiting).await == ["2"] {
                return holder.rollback().await.expect("a rollback");
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("the owners do not wait for the order");
    };
    let (outcomes, ()) = tokio::join!(owners, release);
    let winner = outcomes.iter().position(|outcome| matches!(outcome, Ok(true))).expect("one owner");
    assert!(matches!(outcomes[1 - winner], Err(ResendError::Conflict)), "{outcomes:?}");
    assert_eq!(stored(&shop).await, format!("{} paid 2", addresses[winner]));
    assert_eq!(recipients(&shop).await, [MISTYPED, addresses[winner]]);
    assert_eq!(download(&shop, &latest_link(&shop).await).await, 200);
}

#[tokio::test]
async fn later_events_of_the_provider_keep_the_address() {
    let (shop, id) = start().await;
    resend(&shop, id, RIGHT, None).await.expect("a link");
    for (event, outcome) in [("evt_1", "repeated"), ("evt_2", "known_payment")] {
        assert_eq!(shop.outcome(Provider::Stripe, &session(event, "pi_1", 2800, "plink_1")).await, outcome);
    }
    assert_eq!(stored(&shop).await, format!("{RIGHT} paid 2"));
    assert_eq!(shop.outcome(Provider::Stripe, &refund("evt_3", "pi_1", 1000)).await, "refund_stored");
    assert_eq!(shop.outcome(Provider::Stripe, &refund("evt_4", "pi_1", 2800)).await, "refunded");
    assert_eq!(stored(&shop).await, format!("{RIGHT} refunded 2"));
    let refunds = [format!("order_refund {RIGHT}"), format!("order_refund {RIGHT}")];
    assert_eq!(shop.mails().await[2..], refunds);
}

#[tokio::test]
async fn refunded_and_unknown_orders_get_no_address() {
    let (shop, id) = start().await;
    shop.deliver(Provider::Stripe, &refund("evt_2", "pi_1", 2800)).await.expect("a refund");
    for previous in [None, Some(MISTYPED), Some("another@example.com")] {
        let refused = resend(&shop, id, RIGHT, previous).await;
        assert!(matches!(refused, Err(ResendError::Refunded)), "{previous:?}: {refused:?}");
    }
    let unknown = resend(&shop, Uuid::nil(), RIGHT, None).await;
    assert!(matches!(unknown, Err(ResendError::NotFound)), "{unknown:?}");
    assert_eq!(stored(&shop).await, format!("{MISTYPED} refunded 1"));
    assert_eq!(recipients(&shop).await, [MISTYPED]);
}
