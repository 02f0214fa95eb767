//! Certificates that sign events of PayPal: where, how often and for which senders they are read.

use axum::body::Body;
use axum::extract::Request;
use chrono::TimeDelta;
use http::HeaderMap;
use http_edge::request::{ClientAddress, RequestId, RequestIdSource, ResolvedRequest};
use orders::Provider;
use orders::simulator::{CERTIFICATE, DeliveryMode, SignedEvent};
use platform::testing::Recording;
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

/// Posts an event as a client with this address; returns the status.
async fn post(shop: &TestShop, client: &str, path: &str, event: SignedEvent) -> u16 {
    let id = RequestId::resolve(&HeaderMap::new(), RequestIdSource::Generated, || "request".to_owned());
    let client = Some(ClientAddress::new(client.parse().expect("an address")));
    let mut request = Request::post(path).body(Body::from(event.body)).expect("a request");
    *request.headers_mut() = event.headers;
    request.extensions_mut().insert(ResolvedRequest { id, client });
    shop.answer(request).await.status().as_u16()
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

#[tokio::test]
async fn certificates_are_kept_while_they_are_valid_and_the_oldest_makes_room() {
    let server = ProviderServer::start(200, CERTIFICATE);
    let shop = shop_trusting(&server).await;
    let reader = shop_of(&shop);
    let receive = async |number: usize| {
        let url = format!("{}v1/notifications/certs/CERT-{number}", server.url);
        let signed = sign(&shop, &url, &format!("WH-{number}"), DeliveryMode::Once);
        reader.service.receive(Provider::PayPal, &signed.headers, &signed.body).await.expect("accepted");
    };
    for number in 0..9 {
        receive(number).await;
    }
    shop.clock.advance(TimeDelta::days(3));
    for number in 1..9 {
        receive(number).await;
    }
    assert_eq!(server.requests().len(), 9, "the latest eight are kept");
    receive(0).await;
    assert_eq!(server.requests().len(), 10, "the first had to make room");
}

#[tokio::test]
async fn certificate_of_a_forged_event_is_read_once() {
    let server = ProviderServer::start(200, CERTIFICATE);
    let shop = shop_trusting(&server).await;
    let (reader, url) = (shop_of(&shop), format!("{}v1/notifications/certs/CERT-1", server.url));
    for number in 0..5 {
        let forged = sign(&shop, &url, &format!("WH-{number}"), DeliveryMode::Forged);
        let received = reader.service.receive(Provider::PayPal, &forged.headers, &forged.body).await;
        assert_eq!(received.expect_err("forged").name(), "forged");
    }
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn forged_events_cause_few_reads_and_stop_no_other_sender() {
    let server = ProviderServer::start_with(|request| {
        if request.contains("/certs/CERT-1 ") {
            ProviderAnswer::new(200, CERTIFICATE)
        } else {
            ProviderAnswer::new(404, "")
        }
    });
    let shop = shop_trusting(&server).await;
    let reader = shop_of(&shop);
    let send = async |client: &str, name: &str| {
        let url = format!("{}v1/notifications/certs/{name}", server.url);
        post(&reader, client, "/shop/webhooks/paypal", sign(&shop, &url, name, DeliveryMode::Once)).await
    };
    for number in 0..30 {
        assert_eq!(send("192.0.2.1", &format!("FORGED-{number}")).await, 503);
    }
    let failed = server.requests().len();
    assert!((1..=10).contains(&failed), "{failed} reads");
    assert_eq!(send("192.0.2.1", "CERT-1").await, 503, "this sender has to wait");
    assert_eq!(send("192.0.2.2", "CERT-1").await, 200, "another one does not");
    assert_eq!(send("192.0.2.1", "CERT-1").await, 200, "the certificate is known now");
    shop.clock.advance(TimeDelta::minutes(2));
    send("192.0.2.1", "FORGED-99").await;
    assert_eq!(server.requests().len(), failed + 2, "the limit ends with time");
}

#[tokio::test]
async fn unsigned_requests_write_no_warning() {
    let shop = TestShop::start().await;
    let without_stripe = shop.with_settings(|settings| settings.stripe = None);
    let event = || SignedEvent { headers: HeaderMap::new(), body: b"{}".to_vec() };
    Recording::start();
    for (shop, path, status) in [
        (&shop, "/shop/webhooks/stripe", 400),
        (&shop, "/shop/webhooks/paypal", 400),
        (&without_stripe, "/shop/webhooks/stripe", 404),
    ] {
        assert_eq!(post(shop, "192.0.2.1", path, event()).await, status, "{path}");
    }
    let recording = Recording::stop();
    let refused: Vec<_> =
        recording.events.iter().filter(|event| event.fields.get("message") == "payment event refused").collect();
    assert!(refused.len() == 3 && refused.iter().all(|event| event.level == tracing::Level::DEBUG), "{refused:?}");
}

#[tokio::test]
async fn forged_events_write_one_warning_a_minute() {
    let shop = TestShop::start().await;
    let forged = || shop.simulator.sign(Provider::Stripe, b"{}", DeliveryMode::Forged);
    Recording::start();
    for _ in 0..20 {
        assert_eq!(post(&shop, "192.0.2.1", "/shop/webhooks/stripe", forged()).await, 401);
    }
    let recording = Recording::stop();
    let refused = recording.events.iter().filter(|event| event.fields.get("message") == "payment event refused");
    let levels: Vec<_> = refused.map(|event| event.level).collect();
    assert_eq!(levels.len(), 20);
    assert_eq!(levels.iter().filter(|level| **level == tracing::Level::WARN).count(), 1, "{levels:?}");
}
