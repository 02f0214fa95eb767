//! Payments that name no template: matched by the order at PayPal or the price, else held until the owner decides.

use orders::Provider::{PayPal, Stripe};
use orders::held::{self, HeldChoice, HeldError};
use serde_json::{Value, json};

use crate::fixture::{TestShop, capture, refund, session};
use crate::provider_server::{ProviderAnswer, ProviderServer};

/// A capture without `custom_id`.
fn unnamed(order: Option<&str>, amount: &str) -> Value {
    let mut event = capture(order);
    event["resource"].as_object_mut().expect("a capture").remove("custom_id");
    event["resource"]["amount"]["value"] = json!(amount);
    event
}

/// Starts a shop and an API of PayPal whose orders have these purchase units.
async fn shop_of_paypal(units: &Value) -> (TestShop, ProviderServer) {
    let body = json!({
        "access_token": "t",
        "payer": { "email_address": "ada@example.com" },
        "purchase_units": units,
    });
    let body: &'static str = body.to_string().leak();
    let server = ProviderServer::start_with(move |_| ProviderAnswer::new(200, body));
    let url = server.url.clone();
    let shop =
        TestShop::start().await.with_settings(|settings| settings.paypal.as_mut().expect("PayPal").api.url = url);
    (shop, server)
}

#[tokio::test]
async fn paypal_payment_without_custom_id_is_matched_by_its_order_or_price() {
    for (units, amount, expected) in [
        (json!([{ "invoice_id": "plink_1" }]), "28.00", "ordered"),
        (json!([{ "items": [{ "sku": "template-1", "name": "Anything" }] }]), "28.00", "ordered"),
        (json!([{ "custom_id": "PLB-ABC123XYZ" }]), "28.00", "ordered"),
        (json!([{ "items": [{ "name": "professional newsletter" }] }]), "28.00", "ordered"),
        (json!([]), "28.00", "ordered"),
        (json!([{ "invoice_id": "INV-7" }]), "28.00", "unknown_template"),
        (json!([{ "items": [{ "name": "Consulting" }] }]), "28.00", "unknown_template"),
        (json!([]), "29.00", "unknown_template"),
        (json!([{ "custom_id": "template-1" }]), "17.00", "wrong_amount"),
    ] {
        let (shop, _server) = shop_of_paypal(&units).await;
        assert_eq!(shop.outcome(PayPal, &unnamed(Some("ORDER1"), amount)).await, expected, "{units} {amount}");
        let is_held = expected != "ordered";
        assert_eq!(shop.orders().await.is_empty(), is_held, "{units}");
        let list = held::list(&shop.service).await.expect("a list");
        assert_eq!(list["payments"].as_array().expect("payments").len(), usize::from(is_held), "{units}");
    }
}

#[tokio::test]
async fn paypal_payment_is_held_if_its_order_cannot_be_read() {
    let refusing = ProviderServer::start(401, "{\"error_description\": \"Client Authentication failed\"}");
    let url = refusing.url.clone();
    let shop =
        TestShop::start().await.with_settings(|settings| settings.paypal.as_mut().expect("PayPal").api.url = url);
    let refused = shop.outcome(PayPal, &unnamed(Some("ORDER1"), "28.00")).await;
    assert_eq!(refused, "provider_unavailable", "PayPal sends it again");
    let list = held::list(&shop.service).await.expect("a list");
    assert_eq!(list["payments"].as_array().expect("payments").len(), 1, "the owner can deliver it meanwhile: {list}");
    let (shop, _server) = shop_of_paypal(&json!([])).await;
    let mut without_order = unnamed(None, "28.00");
    without_order["resource"]["payer"] = json!({ "email_address": "ada@example.com" });
    assert_eq!(shop.outcome(PayPal, &without_order).await, "unknown_template", "a price alone names no template");
    assert!(shop.orders().await.is_empty());
    let list = held::list(&shop.service).await.expect("a list");
    assert_eq!(list["payments"].as_array().expect("payments").len(), 1, "{list}");
}

#[tokio::test]
async fn held_payment_is_delivered_once_by_the_owner() {
    let (shop, _server) = shop_of_paypal(&json!([])).await;
    assert_eq!(shop.outcome(PayPal, &unnamed(Some("ORDER1"), "29.00")).await, "unknown_template");
    let list = held::list(&shop.service).await.expect("a list");
    let payment = &list["payments"][0];
    assert_eq!((&payment["amount_minor"], &payment["template"]), (&json!(2900), &json!(null)), "{list}");
    assert_eq!(list["templates"], json!([{ "id": 1, "title": "Professional Newsletter" }]));
    let choice = HeldChoice { provider: PayPal, event_id: "WH-1", template: 1, email: None };
    let unknown = HeldChoice { template: 9, ..choice };
    assert!(matches!(held::deliver(&shop.service, unknown).await, Err(HeldError::UnknownTemplate)));
    let deliver = || held::deliver(&shop.service, choice);
    let (first, second) = futures::future::join(deliver(), deliver()).await;
    assert_eq!(usize::from(first.is_ok()) + usize::from(second.is_ok()), 1, "{first:?} {second:?}");
    assert_eq!(shop.orders().await, ["CAP1 paid"]);
    assert_eq!(shop.mails().await, ["order_notice owner@example.com", "order_delivery ada@example.com"]);
    assert_eq!(shop.outcome(PayPal, &unnamed(Some("ORDER1"), "29.00")).await, "repeated");
    let list = held::list(&shop.service).await.expect("a list");
    assert_eq!(list["payments"], json!([]));
    assert!(matches!(held::deliver(&shop.service, choice).await, Err(HeldError::NotFound)));
}

#[tokio::test]
async fn held_payment_without_buyer_needs_an_address_and_a_refunded_one_is_gone() {
    let shop = TestShop::start().await;
    let mut event = session("evt_1", "pi_1", 2800, "plink_1");
    event["data"]["object"]["customer_details"] = json!(null);
    assert_eq!(shop.outcome(Stripe, &event).await, "no_buyer");
    let list = held::list(&shop.service).await.expect("a list");
    assert_eq!((&list["payments"][0]["needs_buyer"], &list["payments"][0]["template"]), (&json!(true), &json!(1)));
    let choice = HeldChoice { provider: Stripe, event_id: "evt_1", template: 1, email: None };
    assert!(matches!(held::deliver(&shop.service, choice).await, Err(HeldError::NoBuyer)));
    let choice = HeldChoice { email: Some("eve@example.com"), ..choice };
    held::deliver(&shop.service, choice).await.expect("an order");
    assert_eq!(shop.mails().await.last().map(String::as_str), Some("order_delivery eve@example.com"));

    shop.outcome(Stripe, &session("evt_2", "pi_2", 2800, "plink_9")).await;
    shop.outcome(Stripe, &session("evt_3", "pi_3", 2800, "plink_9")).await;
    shop.outcome(Stripe, &refund("evt_4", "pi_2", 2800)).await;
    let list = held::list(&shop.service).await.expect("a list");
    assert_eq!(list["payments"].as_array().expect("payments").len(), 1, "{list}");
    assert_eq!(list["payments"][0]["event_id"], "evt_3");
    assert!(held::dismiss(&shop.service, Stripe, "evt_3").await.expect("an answer"));
    assert!(!held::dismiss(&shop.service, Stripe, "evt_3").await.expect("an answer"));
    let list = held::list(&shop.service).await.expect("a list");
    assert_eq!(list["payments"], json!([]));
}
