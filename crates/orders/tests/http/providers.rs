//! Calls of providers: buyers at PayPal and refunds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use orders::admin::{self, OrderFilter, RefundError};
use orders::{OrderState, Provider};
use uuid::Uuid;

use crate::fixture::{TestShop, capture, session};
use crate::provider_server::{ProviderAnswer, ProviderServer};

/// Starts a shop with one order at Stripe, whose API answers like this.
async fn shop_with_order(status: u16, body: &'static str) -> (TestShop, ProviderServer, Uuid) {
    let server = ProviderServer::start(status, body);
    let shop = TestShop::start()
        .await
        .with_settings(|settings| settings.stripe.as_mut().expect("Stripe").api.url = server.url.clone());
    shop.deliver(Provider::Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await.expect("an order");
    let list = admin::list(&shop.service, &OrderFilter::default()).await.expect("a list");
    let id = list.orders[0].id;
    (shop, server, id)
}

#[tokio::test]
async fn refund_is_requested_anew_each_time_and_stored() {
    let (shop, server, id) = shop_with_order(200, "{\"object\": \"refund\", \"status\": \"succeeded\"}").await;
    let order = admin::refund(&shop.service, id).await.expect("a refund");
    assert_eq!(order.state, OrderState::Refunded);
    let requests = server.requests();
    let expected = ["POST /v1/refunds ", "authorization: Bearer ", "payment_intent=pi_1"];
    assert!(requests.len() == 1 && expected.iter().all(|part| requests[0].contains(part)), "{requests:?}");
    assert!(!requests[0].contains("idempotency-key"), "Stripe repeats the first answer to a key for a day");
    assert!(matches!(admin::refund(&shop.service, id).await, Err(RefundError::AlreadyRefunded)));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn refusal_of_a_provider_is_passed_on_and_changes_nothing() {
    let (shop, _server, id) = shop_with_order(402, "{\"error\": {\"message\": \"Insufficient funds.\"}}").await;
    let refused = admin::refund(&shop.service, id).await.expect_err("a refusal");
    assert_eq!(refused.to_string(), "the payment provider refused: Insufficient funds.");
    assert_eq!(shop.orders().await, ["pi_1 paid"]);
}

#[tokio::test]
async fn order_that_was_refunded_at_the_provider_is_refunded_here() {
    let (shop, _server, id) = shop_with_order(400, "{\"error\": {\"code\": \"charge_already_refunded\"}}").await;
    assert_eq!(admin::refund(&shop.service, id).await.expect("a refund").state, OrderState::Refunded);
}

/// Starts a shop and an API of PayPal, which refuses while the switch is on.
async fn shop_of_paypal() -> (TestShop, ProviderServer, Arc<AtomicBool>) {
    let is_refusing = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&is_refusing);
    let server = ProviderServer::start_with(move |_| {
        if switch.load(Ordering::SeqCst) {
            return ProviderAnswer::new(401, "{\"error_description\": \"Client Authentication failed\"}");
        }
        ProviderAnswer::new(200, "{\"access_token\": \"t\", \"payer\": {\"email_address\": \"ada@example.com\"}}")
    });
    let url = server.url.clone();
    let shop =
        TestShop::start().await.with_settings(|settings| settings.paypal.as_mut().expect("PayPal").api.url = url);
    (shop, server, is_refusing)
}

#[tokio::test]
async fn payment_whose_buyer_paypal_refuses_to_name_is_reported_to_the_owner_and_delivered_later() {
    let (shop, _server, is_refusing) = shop_of_paypal().await;
    is_refusing.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        assert_eq!(
            shop.outcome(Provider::PayPal, &capture(Some("ORDER1"))).await,
            "provider_unavailable",
            "PayPal sends it again"
        );
    }
    let stored = "SELECT outcome || ' ' || provider_reference || ' ' || amount_minor FROM basalt.payment_events";
    assert_eq!(shop.database.query(stored).await, ["no_buyer CAP1 2800"]);
    assert_eq!(shop.mails().await, ["order_notice owner@example.com"], "the owner is notified once");
    let text = shop.database.query("SELECT text FROM basalt.outbox").await.concat();
    assert!(text.contains("Client Authentication failed") && text.contains("ORDER1"), "{text}");
    is_refusing.store(false, Ordering::SeqCst);
    assert_eq!(shop.outcome(Provider::PayPal, &capture(Some("ORDER1"))).await, "ordered");
    assert_eq!((shop.orders().await, shop.mails().await.len()), (vec!["CAP1 paid".to_owned()], 2));
    assert_eq!(shop.database.query(stored).await, ["ordered CAP1 2800"]);
}

#[tokio::test]
async fn payment_whose_order_paypal_refuses_to_show_is_reported_to_the_owner_and_delivered_later() {
    let is_refusing = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&is_refusing);
    let server = ProviderServer::start_with(move |_| {
        if switch.load(Ordering::SeqCst) {
            return ProviderAnswer::new(401, "{\"error_description\": \"Client Authentication failed\"}");
        }
        ProviderAnswer::new(
            200,
            "{\"access_token\": \"t\", \"payer\": {\"email_address\": \"ada@example.com\"},
              \"purchase_units\": [{\"custom_id\": \"template-1\"}]}",
        )
    });
    let url = server.url.clone();
    let shop =
        TestShop::start().await.with_settings(|settings| settings.paypal.as_mut().expect("PayPal").api.url = url);
    let mut event = capture(Some("ORDER1"));
    event["resource"].as_object_mut().expect("a capture").remove("custom_id");
    for _ in 0..2 {
        assert_eq!(shop.outcome(Provider::PayPal, &event).await, "provider_unavailable", "PayPal sends it again");
    }
    assert_eq!(shop.mails().await, ["order_notice owner@example.com"], "the owner is notified once");
    let text = shop.database.query("SELECT text FROM basalt.outbox").await.concat();
    assert!(text.contains("Client Authentication failed") && text.contains("client_secret"), "{text}");
    is_refusing.store(false, Ordering::SeqCst);
    assert_eq!(shop.outcome(Provider::PayPal, &event).await, "ordered");
    assert_eq!((shop.orders().await, shop.mails().await.len()), (vec!["CAP1 paid".to_owned()], 2));
}

#[tokio::test]
async fn payment_is_looked_up_again_while_paypal_is_overloaded_or_broken() {
    for (status, of_order) in [(429, false), (429, true), (500, true), (503, false), (503, true)] {
        let is_failing = Arc::new(AtomicBool::new(true));
        let switch = Arc::clone(&is_failing);
        let server = ProviderServer::start_with(move |request| {
            if switch.load(Ordering::SeqCst) && request.contains("/checkout/orders/") == of_order {
                return ProviderAnswer::new(status, "{\"message\": \"Try again later\"}");
            }
            ProviderAnswer::new(200, "{\"access_token\": \"t\", \"payer\": {\"email_address\": \"ada@example.com\"}}")
        });
        let url = server.url.clone();
        let shop =
            TestShop::start().await.with_settings(|settings| settings.paypal.as_mut().expect("PayPal").api.url = url);
        let rejection = shop.deliver(Provider::PayPal, &capture(Some("ORDER1"))).await.expect_err("no buyer yet");
        assert_eq!(rejection.name(), "provider_unavailable", "PayPal sends it again");
        assert!(rejection.to_string().contains(&format!("status {status}: Try again later")), "{rejection}");
        assert!(shop.database.query("SELECT event_id FROM basalt.payment_events").await.is_empty(), "{status}");
        assert!(shop.mails().await.is_empty(), "{status}: the owner has nothing to do");
        is_failing.store(false, Ordering::SeqCst);
        assert_eq!(shop.outcome(Provider::PayPal, &capture(Some("ORDER1"))).await, "ordered", "{status}");
        assert_eq!(shop.mails().await, ["order_delivery ada@example.com"], "{status}");
    }
}

#[tokio::test]
async fn refund_that_paypal_has_refused_can_be_requested_again() {
    let (shop, server, is_refusing) = shop_of_paypal().await;
    shop.deliver(Provider::PayPal, &capture(Some("ORDER1"))).await.expect("an order");
    let list = admin::list(&shop.service, &OrderFilter::default()).await.expect("a list");
    is_refusing.store(true, Ordering::SeqCst);
    admin::refund(&shop.service, list.orders[0].id).await.expect_err("a refusal");
    is_refusing.store(false, Ordering::SeqCst);
    let order = admin::refund(&shop.service, list.orders[0].id).await.expect("a refund");
    assert_eq!(order.state, OrderState::Refunded);
    let requests = server.requests();
    let refund = requests.iter().find(|request| request.starts_with("POST /v2/payments/captures/CAP1/refund "));
    assert!(refund.is_some_and(|refund| !refund.contains("paypal-request-id")), "{requests:?}");
}

#[tokio::test]
async fn copies_are_asked_of_the_provider_whose_event_does_not_say_them() {
    let server = ProviderServer::start_with(|request| {
        if request.contains("/line_items ") {
            return ProviderAnswer::new(200, "{\"data\": [{\"quantity\": 3}]}");
        }
        ProviderAnswer::new(
            200,
            "{\"access_token\": \"t\", \"payer\": {\"email_address\": \"ada@example.com\"},
              \"purchase_units\": [{\"items\": [{\"quantity\": \"2\"}]}]}",
        )
    });
    let shop = TestShop::start().await.with_settings(|settings| {
        settings.stripe.as_mut().expect("Stripe").api.url = server.url.clone();
        settings.paypal.as_mut().expect("PayPal").api.url = server.url.clone();
    });
    let one = session("evt_1", "pi_1", 2800, "plink_1");
    assert_eq!(shop.outcome(Provider::Stripe, &one).await, "ordered");
    assert!(server.requests().is_empty(), "one copy is not asked for");
    let mut three = session("evt_2", "pi_2", 8400, "plink_1");
    three["data"]["object"]["amount_subtotal"] = 8400.into();
    assert_eq!(shop.outcome(Provider::Stripe, &three).await, "ordered");
    let requests = server.requests();
    assert!(requests[0].starts_with("GET /v1/checkout/sessions/cs_pi_2/line_items "), "{requests:?}");
    let mut two = capture(Some("ORDER1"));
    two["resource"]["amount"]["value"] = "56.00".into();
    assert_eq!(shop.outcome(Provider::PayPal, &two).await, "ordered");
    let stored = "SELECT coalesce(quantity::text, '-') || ' ' || coalesce(unit_minor::text, '-') FROM basalt.orders ORDER BY number";
    assert_eq!(shop.database.query(stored).await, ["- -", "3 2800", "2 -"]);
}
