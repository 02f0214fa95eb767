//! Events of Stripe: `Stripe-Signature` and the objects of checkout sessions and charges.
//!
//! <https://docs.stripe.com/webhooks#verify-manually>

use aws_lc_rs::hmac;
use chrono::{DateTime, TimeDelta};
use foundation::secret::Secret;
use foundation::time::Time;
use http::HeaderMap;
use serde_json::Value;

use super::json::{find_address, find_currency, find_identifier, find_only_quantity, find_reference, find_text};
use super::{WebhookRejection, check_age};
use crate::event::{Buyer, DisputeReport, DisputeStage, EventContent, Payment, PaymentEvent, RefundReport};
use crate::order::Provider;

/// The header of the signature.
pub const SIGNATURE: &str = "stripe-signature";
/// The longest header, in bytes.
const MAX_HEADER: usize = 4096;
/// The largest number of signatures; several are sent while a secret is rotated.
const MAX_SIGNATURES: usize = 16;
/// The age from which a signature is stale, as in Stripe's libraries.
const TOLERANCE: TimeDelta = TimeDelta::minutes(5);

/// Verifies the signature of a body.
///
/// # Errors
/// The signature is missing, forged or stale.
pub fn verify(headers: &HeaderMap, body: &[u8], secret: &Secret, now: Time) -> Result<(), WebhookRejection> {
    let header = headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
    let header = header.filter(|text| text.len() <= MAX_HEADER).ok_or(WebhookRejection::MissingSignature)?;
    let (mut timestamp, mut signatures) = (None, Vec::new());
    for part in header.split(',') {
        match part.trim().split_once('=') {
            Some(("t", value)) => timestamp = timestamp.or(Some(value)),
            Some(("v1", value)) if signatures.len() < MAX_SIGNATURES => signatures.push(value),
            _ => {}
        }
    }
    let timestamp = timestamp.ok_or(WebhookRejection::MissingSignature)?;
    let seconds = timestamp.parse::<i64>().ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    let signed = seconds.ok_or(WebhookRejection::MissingSignature)?;
    if signatures.is_empty() {
        return Err(WebhookRejection::MissingSignature);
    }
    let (key, message) = (key(secret), message(timestamp, body));
    let is_valid = |text: &&str| hex::decode(text).is_ok_and(|given| hmac::verify(&key, &message, &given).is_ok());
    if !signatures.iter().any(is_valid) {
        return Err(WebhookRejection::Forged);
    }
    check_age(signed, now, TOLERANCE)
}

/// Returns the header that signs a body at a time.
pub fn sign(body: &[u8], secret: &Secret, at: Time) -> String {
    let timestamp = at.timestamp().to_string();
    let signature = hmac::sign(&key(secret), &message(&timestamp, body));
    format!("t={timestamp},v1={}", hex::encode(signature.as_ref()))
}

fn key(secret: &Secret) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret.reveal().as_bytes())
}

fn message(timestamp: &str, body: &[u8]) -> Vec<u8> {
    [timestamp.as_bytes(), b".", body].concat()
}

/// Parses an event.
///
/// # Errors
/// The body is not an event, or lacks what its kind has.
pub fn parse(body: &[u8]) -> Result<PaymentEvent, WebhookRejection> {
    let event: Value = serde_json::from_slice(body).map_err(|_| WebhookRejection::Malformed("it is not JSON"))?;
    let id = find_identifier(&event, "/id").ok_or(WebhookRejection::Malformed("it has no id"))?;
    let kind = find_text(&event, "/type").ok_or(WebhookRejection::Malformed("it has no type"))?;
    let object = event.pointer("/data/object").unwrap_or(&Value::Null);
    let content = match kind {
        "checkout.session.completed" | "checkout.session.async_payment_succeeded" if is_paid(object) => {
            parse_session(&event, object)?
        }
        "charge.refunded" => parse_charge(object)?,
        "charge.dispute.created" | "charge.dispute.closed" => parse_dispute(object, kind == "charge.dispute.closed")?,
        other => EventContent::Other(other.to_owned()),
    };
    Ok(PaymentEvent { provider: Provider::Stripe, id, content })
}

/// Returns whether the session has its money; `unpaid` means that another event follows.
fn is_paid(session: &Value) -> bool {
    matches!(session["payment_status"].as_str(), Some("paid" | "no_payment_required"))
}

fn parse_session(event: &Value, session: &Value) -> Result<EventContent, WebhookRejection> {
    let reference =
        ["/payment_intent", "/payment_intent/id", "/id"].iter().find_map(|path| find_identifier(session, path));
    let amount = session["amount_total"].as_i64();
    let (Some(reference), Some(amount_minor), Some(currency)) =
        (reference, amount, find_currency(session, "/currency"))
    else {
        return Err(WebhookRejection::Malformed("the session has no id, amount or currency"));
    };
    let email = ["/customer_details/email", "/customer_email"].iter().find_map(|path| find_address(session, path));
    let references = ["/payment_link", "/metadata/payment_reference", "/metadata/template"];
    Ok(EventContent::Payment(Payment {
        reference,
        template_references: references.iter().filter_map(|path| find_reference(session, path)).collect(),
        buyer_references: find_reference(session, "/client_reference_id").into_iter().collect(),
        buyer: email.map_or(Buyer::Unknown, Buyer::Email),
        amount_minor,
        tax_minor: session.pointer("/total_details/amount_tax").and_then(Value::as_i64).unwrap_or_default(),
        discount_minor: session.pointer("/total_details/amount_discount").and_then(Value::as_i64).unwrap_or_default(),
        list_minor: session["amount_subtotal"].as_i64(),
        quantity: find_only_quantity(&session["line_items"]["data"], "quantity"),
        currency,
        is_test: event["livemode"] == false,
        checkout: find_identifier(session, "/id"),
        locale: find_text(session, "/locale").map(str::to_owned),
    }))
}

fn parse_charge(charge: &Value) -> Result<EventContent, WebhookRejection> {
    let reference =
        ["/payment_intent", "/payment_intent/id", "/id"].iter().find_map(|path| find_identifier(charge, path));
    match (reference, charge["amount_refunded"].as_i64()) {
        (Some(reference), Some(amount_minor)) => {
            Ok(EventContent::Refund(RefundReport { reference, amount_minor, is_reversal: false }))
        }
        _ => Err(WebhookRejection::Malformed("the charge has no id or no refunded amount")),
    }
}

/// Parses a dispute: a lost one has taken the money back.
///
/// <https://docs.stripe.com/api/disputes/object>
fn parse_dispute(dispute: &Value, is_closed: bool) -> Result<EventContent, WebhookRejection> {
    let references = ["/payment_intent", "/payment_intent/id", "/charge", "/charge/id"];
    let reference = references.iter().find_map(|path| find_identifier(dispute, path));
    let (Some(reference), Some(amount_minor)) = (reference, dispute["amount"].as_i64()) else {
        return Err(WebhookRejection::Malformed("the dispute has no payment or no amount"));
    };
    if is_closed && dispute["status"] == "lost" {
        return Ok(EventContent::Refund(RefundReport { reference, amount_minor, is_reversal: true }));
    }
    let due = dispute.pointer("/evidence_details/due_by").and_then(Value::as_i64);
    let due = due.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    let stage = if is_closed { DisputeStage::Won } else { DisputeStage::Opened(due) };
    let reason = find_reference(dispute, "/reason");
    Ok(EventContent::Dispute(DisputeReport { reference, amount_minor, reason, stage }))
}
