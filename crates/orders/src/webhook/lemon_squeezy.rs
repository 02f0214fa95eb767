//! Events of Lemon Squeezy: `X-Signature` and the object of an order.
//!
//! <https://docs.lemonsqueezy.com/help/webhooks/signing-requests>

use aws_lc_rs::hmac;
use foundation::secret::Secret;
use http::HeaderMap;
use serde_json::Value;

use super::WebhookRejection;
use super::json::{find_address, find_currency, find_identifier, find_reference, find_text, read_quantity};
use crate::event::{Buyer, EventContent, Payment, PaymentEvent, RefundReport};
use crate::order::Provider;

/// The header of the signature.
pub const SIGNATURE: &str = "x-signature";

/// Verifies the signature of a body, which has no time.
///
/// # Errors
/// The signature is missing or forged.
pub fn verify(headers: &HeaderMap, body: &[u8], secret: &Secret) -> Result<(), WebhookRejection> {
    let header = headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
    let given = header.filter(|text| text.len() == 64).and_then(|text| hex::decode(text).ok());
    let given = given.ok_or(WebhookRejection::MissingSignature)?;
    hmac::verify(&key(secret), body, &given).map_err(|_| WebhookRejection::Forged)
}

/// Returns the header that signs a body.
pub fn sign(body: &[u8], secret: &Secret) -> String {
    hex::encode(hmac::sign(&key(secret), body).as_ref())
}

fn key(secret: &Secret) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret.reveal().as_bytes())
}

/// Parses an event. It has no id of its own, so that it is named after what it reports.
///
/// # Errors
/// The body is not an event, or lacks what its kind has.
pub fn parse(body: &[u8]) -> Result<PaymentEvent, WebhookRejection> {
    let event: Value = serde_json::from_slice(body).map_err(|_| WebhookRejection::Malformed("it is not JSON"))?;
    let kind = find_identifier(&event, "/meta/event_name");
    let kind = kind.ok_or(WebhookRejection::Malformed("it has no meta.event_name"))?;
    let order = find_identifier(&event, "/data/id").ok_or(WebhookRejection::Malformed("it has no data.id"))?;
    let attributes = event.pointer("/data/attributes").unwrap_or(&Value::Null);
    let (id, content) = match kind.as_str() {
        "order_created" if attributes["status"] == "paid" => {
            (format!("{kind}:{order}"), parse_order(&event, attributes, order)?)
        }
        "order_refunded" => {
            let refund = parse_refund(attributes, order)?;
            (format!("{kind}:{}:{}", refund.reference, refund.amount_minor), EventContent::Refund(refund))
        }
        other => {
            let status = find_text(attributes, "/status").unwrap_or_default();
            (format!("{other}:{order}:{status}"), EventContent::Other(other.to_owned()))
        }
    };
    Ok(PaymentEvent { provider: Provider::LemonSqueezy, id, content })
}

fn parse_order(event: &Value, attributes: &Value, reference: String) -> Result<EventContent, WebhookRejection> {
    let (Some(amount_minor), Some(currency)) = (attributes["total"].as_i64(), find_currency(attributes, "/currency"))
    else {
        return Err(WebhookRejection::Malformed("the order has no total or no currency"));
    };
    // The variant is what was paid for; custom data is a parameter of the link.
    let of_item = ["/first_order_item/variant_id", "/first_order_item/product_id"];
    let of_link = ["/meta/custom_data/payment_reference", "/meta/custom_data/template"];
    let discount_minor = attributes["discount_total"].as_i64().unwrap_or_default();
    // The subtotal is without taxes; a price that includes them is compared with them.
    let list_minor = match attributes["tax_inclusive"].as_bool() {
        Some(true) => amount_minor.checked_add(discount_minor),
        _ => attributes["subtotal"].as_i64(),
    };
    let references = of_item.iter().filter_map(|path| find_reference(attributes, path));
    Ok(EventContent::Payment(Payment {
        reference,
        template_references: references.collect(),
        buyer_references: of_link.iter().filter_map(|path| find_reference(event, path)).collect(),
        buyer: find_address(attributes, "/user_email").map_or(Buyer::Unknown, Buyer::Email),
        amount_minor,
        tax_minor: attributes["tax"].as_i64().unwrap_or_default(),
        discount_minor,
        list_minor,
        quantity: attributes.pointer("/first_order_item/quantity").and_then(read_quantity),
        currency,
        is_test: attributes["test_mode"] == true || event.pointer("/meta/test_mode") == Some(&Value::Bool(true)),
        checkout: find_identifier(attributes, "/identifier"),
        locale: None,
    }))
}

fn parse_refund(attributes: &Value, reference: String) -> Result<RefundReport, WebhookRejection> {
    let is_whole = attributes["status"] == "refunded";
    let whole = attributes["total"].as_i64().filter(|_| is_whole);
    let amount = whole.or_else(|| attributes["refunded_amount"].as_i64());
    let amount_minor = amount.ok_or(WebhookRejection::Malformed("the order has no refunded amount"))?;
    Ok(RefundReport { reference, amount_minor, is_reversal: false })
}
