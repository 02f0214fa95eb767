//! Calls of providers: certificates of PayPal and refunds.

use orders::admin::{self, OrderFilter, RefundError};
use orders::simulator::{CERTIFICATE, DeliveryMode};
use orders::{OrderState, Provider};
use serde_json::json;
use uuid::Uuid;

use crate::fixture::{TestShop, session};
use crate::provider_server::ProviderServer;

const CERTIFICATE_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/simulator/certificate.pem");

/// Returns the outcome of an event whose certificate is at `url`.
async fn receive(shop: &TestShop, url: &str, event: &str) -> &'static str {
    let simulated = shop.with_settings(|settings| {
        let paypal = settings.paypal.as_mut().expect("PayPal");
        let pinned = paypal.pinned.get_or_insert_with(|| panic!("a simulator"));
        url.clone_into(&mut pinned.url);
    });
    let body = json!({"id": event, "event_type": "CHECKOUT.ORDER.APPROVED", "resource": {}}).to_string();
    let signed = simulated.simulator.sign(Provider::PayPal, body.as_bytes(), DeliveryMode::Once);
    let received = shop_of(shop).service.receive(Provider::PayPal, &signed.headers, &signed.body).await;
    received.map_or_else(|rejection| rejection.name(), |outcome| outcome.name())
}

/// Returns the shop without the certificate of the simulator.
fn shop_of(shop: &TestShop) -> TestShop {
    shop.with_settings(|settings| settings.paypal.as_mut().expect("PayPal").pinned = None)
}

#[tokio::test]
async fn certificate_is_read_from_the_configured_host_and_needs_a_trusted_root() {
    let server = ProviderServer::start(200, CERTIFICATE);
    let trusting = TestShop::start().await.with_settings(|settings| {
        let api = &mut settings.paypal.as_mut().expect("PayPal").api;
        (api.url, api.ca_file) = (server.url.clone(), Some(CERTIFICATE_FILE.into()));
    });
    let url = format!("{}v1/notifications/certs/CERT-1", server.url);
    assert_eq!(receive(&trusting, &url, "WH-1").await, "ignored");
    let requests = server.requests();
    assert!(requests.len() == 1 && requests[0].starts_with("GET /v1/notifications/certs/CERT-1 "), "{requests:?}");
    let elsewhere = ProviderServer::start(200, CERTIFICATE);
    let other = format!("{}v1/notifications/certs/CERT-1", elsewhere.url);
    assert_eq!(receive(&trusting, &other, "WH-2").await, "forged");
    assert_eq!(elsewhere.requests().len(), 0, "another host is not called");
    let distrusting = trusting.with_settings(|settings| settings.paypal.as_mut().expect("PayPal").api.ca_file = None);
    assert_eq!(receive(&distrusting, &url, "WH-3").await, "certificate", "no root of the system signed it");
}

#[tokio::test]
async fn certificate_is_read_once_and_signs_nothing_else() {
    let server = ProviderServer::start(200, CERTIFICATE);
    let url = format!("{}v1/notifications/certs/CERT-1", server.url);
    let shop = TestShop::start().await.with_settings(|settings| {
        let paypal = settings.paypal.as_mut().expect("PayPal");
        (paypal.api.url, paypal.api.ca_file) = (server.url.clone(), Some(CERTIFICATE_FILE.into()));
        url.clone_into(&mut paypal.pinned.as_mut().expect("a simulator").url);
    });
    let reader = shop_of(&shop);
    let body = json!({"id": "WH-1", "event_type": "CHECKOUT.ORDER.APPROVED"}).to_string();
    for (mode, expected) in [
        (DeliveryMode::Once, "ignored"),
        (DeliveryMode::Once, "repeated"),
        (DeliveryMode::Forged, "forged"),
        (DeliveryMode::Stale, "stale"),
    ] {
        let signed = shop.simulator.sign(Provider::PayPal, body.as_bytes(), mode);
        let received = reader.service.receive(Provider::PayPal, &signed.headers, &signed.body).await;
        assert_eq!(received.map_or_else(|rejection| rejection.name(), |outcome| outcome.name()), expected, "{mode:?}");
    }
    assert_eq!(server.requests().len(), 1);
}

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
async fn refund_has_an_idempotency_key_and_is_stored() {
    let (shop, server, id) = shop_with_order(200, "{\"object\": \"refund\", \"status\": \"succeeded\"}").await;
    let order = admin::refund(&shop.service, id).await.expect("a refund");
    assert_eq!(order.state, OrderState::Refunded);
    let requests = server.requests();
    let expected = [
        "POST /v1/refunds ",
        "authorization: Bearer ",
        &format!("idempotency-key: refund-{}", id.simple()),
        "payment_intent=pi_1",
    ];
    assert!(requests.len() == 1 && expected.iter().all(|part| requests[0].contains(part)), "{requests:?}");
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
