//! Certificates that sign events of PayPal: where they are read, how often, and for whom.

use orders::Provider;
use orders::simulator::{CERTIFICATE, DeliveryMode, SignedEvent};
use serde_json::json;

use crate::fixture::TestShop;
use crate::provider_server::{ProviderAnswer, ProviderServer};

const CERTIFICATE_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/simulator/certificate.pem");

/// Signs an event whose certificate is at `url`.
fn sign(shop: &TestShop, url: &str, event: &str, mode: DeliveryMode) -> SignedEvent {
    let simulated = shop.with_settings(|settings| {
        let paypal = settings.paypal.as_mut().expect("PayPal");
        let pinned = paypal.pinned.get_or_insert_with(|| panic!("a simulator"));
        url.clone_into(&mut pinned.url);
    });
    let body = json!({"id": event, "event_type": "CHECKOUT.ORDER.APPROVED", "resource": {}}).to_string();
    simulated.simulator.sign(Provider::PayPal, body.as_bytes(), mode)
}

/// Returns the outcome of an event whose certificate is at `url`, at a server that has read none yet.
async fn receive(shop: &TestShop, url: &str, event: &str) -> &'static str {
    let signed = sign(shop, url, event, DeliveryMode::Once);
    let received = shop_of(shop).service.receive(Provider::PayPal, &signed.headers, &signed.body).await;
    received.map_or_else(|rejection| rejection.name(), |outcome| outcome.name())
}

/// Returns the shop without the certificate of the simulator.
fn shop_of(shop: &TestShop) -> TestShop {
    shop.with_settings(|settings| settings.paypal.as_mut().expect("PayPal").pinned = None)
}

/// Starts a shop that reads certificates from this server and trusts that of the simulator.
async fn shop_trusting(server: &ProviderServer) -> TestShop {
    TestShop::start().await.with_settings(|settings| {
        let api = &mut settings.paypal.as_mut().expect("PayPal").api;
        (api.url, api.ca_file) = (server.url.clone(), Some(CERTIFICATE_FILE.into()));
    })
}

#[tokio::test]
async fn certificate_is_read_from_the_configured_host_and_needs_a_trusted_root() {
    let server = ProviderServer::start(200, CERTIFICATE);
    let trusting = shop_trusting(&server).await;
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

#[tokio::test]
async fn redirect_to_another_host_is_not_followed() {
    let elsewhere = ProviderServer::start(200, CERTIFICATE);
    let target = format!("{}v1/notifications/certs/CERT-1", elsewhere.url);
    let server =
        ProviderServer::start_with(move |_| ProviderAnswer { status: 302, location: Some(target.clone()), body: "" });
    let shop = shop_trusting(&server).await;
    let url = format!("{}v1/notifications/certs/CERT-1", server.url);
    assert_eq!(receive(&shop, &url, "WH-1").await, "certificate");
    assert_eq!((server.requests().len(), elsewhere.requests().len()), (1, 0));
}
