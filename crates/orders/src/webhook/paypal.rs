//! Events of PayPal: the signature of a transmission and the objects of captures and refunds.
//!
//! <https://developer.paypal.com/api/rest/webhooks/rest/#link-verifywebhooksignature>

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use foundation::time::Time;
use http::HeaderMap;
use serde_json::Value;

use super::json::{find_address, find_currency, find_identifier, find_reference, find_text, is_identifier};
use super::{WebhookRejection, check_age};
use crate::amount::parse_decimal;
use crate::event::{Buyer, DisputeReport, DisputeStage, EventContent, Payment, PaymentEvent, RefundReport};
use crate::order::Provider;

/// The headers of a transmission.
pub const TRANSMISSION_ID: &str = "paypal-transmission-id";
pub const TRANSMISSION_TIME: &str = "paypal-transmission-time";
pub const TRANSMISSION_SIGNATURE: &str = "paypal-transmission-sig";
pub const CERTIFICATE_URL: &str = "paypal-cert-url";
pub const ALGORITHM: &str = "paypal-auth-algo";
/// The only algorithm.
pub const RSA_SHA256: &str = "SHA256withRSA";
/// The age from which a signature is stale: PayPal repeats an event for three days.
const TOLERANCE: TimeDelta = TimeDelta::days(4);

/// What a transmission says about its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmission {
    pub certificate_url: String,
    pub signature: Vec<u8>,
    id: String,
    time: String,
    sent: DateTime<Utc>,
}

impl Transmission {
    /// Reads the headers.
    ///
    /// # Errors
    /// A header is missing, or the algorithm is another.
    pub fn read(headers: &HeaderMap) -> Result<Self, WebhookRejection> {
        let find = |name: &str| {
            let text = headers.get(name)?.to_str().ok()?;
            (1..=1024).contains(&text.len()).then(|| text.to_owned())
        };
        let read = || {
            find(ALGORITHM).filter(|name| name.eq_ignore_ascii_case(RSA_SHA256))?;
            let time = find(TRANSMISSION_TIME)?;
            Some(Self {
                certificate_url: find(CERTIFICATE_URL)?,
                signature: STANDARD.decode(find(TRANSMISSION_SIGNATURE)?).ok()?,
                id: find(TRANSMISSION_ID).filter(|id| is_identifier(id))?,
                sent: DateTime::parse_from_rfc3339(&time).ok()?.to_utc(),
                time,
            })
        };
        read().ok_or(WebhookRejection::MissingSignature)
    }

    /// Returns what is signed.
    pub fn message(&self, webhook_id: &str, body: &[u8]) -> String {
        format_message(&self.id, &self.time, webhook_id, body)
    }

    /// Accepts a transmission of the last days.
    ///
    /// # Errors
    /// The transmission is stale.
    pub fn check_age(&self, now: Time) -> Result<(), WebhookRejection> {
        check_age(self.sent, now, TOLERANCE)
    }
}

/// Returns what is signed.
///
/// Id and time of the transmission, id of the webhook, CRC-32 of the body in decimal.
pub fn format_message(id: &str, time: &str, webhook_id: &str, body: &[u8]) -> String {
    format!("{id}|{time}|{webhook_id}|{}", crc32(body))
}

/// Returns the CRC-32 of ISO 3309.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// Parses an event.
///
/// An approved order is no payment: the money comes with the capture.
///
/// # Errors
/// The body is not an event, or lacks what its kind has.
pub fn parse(body: &[u8], is_test: bool) -> Result<PaymentEvent, WebhookRejection> {
    let event: Value = serde_json::from_slice(body).map_err(|_| WebhookRejection::Malformed("it is not JSON"))?;
    let id = find_identifier(&event, "/id").ok_or(WebhookRejection::Malformed("it has no id"))?;
    let kind = find_text(&event, "/event_type").ok_or(WebhookRejection::Malformed("it has no event_type"))?;
    let resource = &event["resource"];
    let content = match kind {
        "PAYMENT.CAPTURE.COMPLETED" => parse_capture(resource, is_test)?,
        "PAYMENT.CAPTURE.REFUNDED" | "PAYMENT.CAPTURE.REVERSED" => {
            parse_refund(resource, kind == "PAYMENT.CAPTURE.REVERSED")?
        }
        "CUSTOMER.DISPUTE.CREATED" => {
            let due = find_text(resource, "/seller_response_due_date").and_then(|time| time.parse().ok());
            parse_dispute(resource, DisputeStage::Opened(due))?
        }
        // What a lost dispute takes is reported as a reversal.
        "CUSTOMER.DISPUTE.RESOLVED" if is_won(resource) => parse_dispute(resource, DisputeStage::Won)?,
        other => EventContent::Other(other.to_owned()),
    };
    Ok(PaymentEvent { provider: Provider::PayPal, id, content })
}

/// Returns an amount in the smallest unit of its currency.
fn find_amount(value: &Value, pointer: &str) -> Option<i64> {
    let amount = value.pointer(pointer)?;
    parse_decimal(find_text(amount, "/value")?, &find_currency(amount, "/currency_code").unwrap_or_default())
}

/// Returns an amount that came back; that of a reversal may be negative.
fn find_returned(value: &Value, pointer: &str) -> Option<i64> {
    let amount = value.pointer(pointer)?;
    let text = find_text(amount, "/value")?.trim_start_matches('-');
    parse_decimal(text, &find_currency(amount, "/currency_code").unwrap_or_default())
}

fn parse_capture(capture: &Value, is_test: bool) -> Result<EventContent, WebhookRejection> {
    let amount = find_amount(capture, "/amount");
    let currency = find_currency(capture, "/amount/currency_code");
    let (Some(reference), Some(amount_minor), Some(currency)) = (find_identifier(capture, "/id"), amount, currency)
    else {
        return Err(WebhookRejection::Malformed("the capture has no id, amount or currency"));
    };
    let order = find_identifier(capture, "/supplementary_data/related_ids/order_id");
    let buyer = match (find_address(capture, "/payer/email_address"), &order) {
        (Some(email), _) => Buyer::Email(email),
        (None, Some(order)) => Buyer::PayPalOrder(order.clone()),
        (None, None) => Buyer::Unknown,
    };
    let references = ["/custom_id", "/invoice_id"];
    Ok(EventContent::Payment(Payment {
        reference,
        template_references: references.iter().filter_map(|path| find_reference(capture, path)).collect(),
        buyer_references: Vec::new(),
        buyer,
        amount_minor,
        tax_minor: 0,
        discount_minor: 0,
        list_minor: None,
        quantity: None,
        currency,
        is_test,
        checkout: order,
        locale: None,
    }))
}

/// The capture of a refund is the target of its link `up`.
fn parse_refund(refund: &Value, is_reversal: bool) -> Result<EventContent, WebhookRejection> {
    let links = refund["links"].as_array().map_or(&[][..], Vec::as_slice);
    let up = links.iter().find(|link| link["rel"] == "up").and_then(|link| find_text(link, "/href"));
    let capture = up.and_then(|url| url.rsplit('/').next()).filter(|id| is_identifier(id));
    let total = find_returned(refund, "/seller_payable_breakdown/total_refunded_amount");
    match (capture, total.or_else(|| find_returned(refund, "/amount"))) {
        (Some(capture), Some(amount_minor)) => {
            Ok(EventContent::Refund(RefundReport { reference: capture.to_owned(), amount_minor, is_reversal }))
        }
        _ => Err(WebhookRejection::Malformed("the refund has no capture or no amount")),
    }
}

/// Returns whether a dispute ended with the money at the seller.
fn is_won(dispute: &Value) -> bool {
    let outcome = dispute.pointer("/dispute_outcome/outcome_code").and_then(Value::as_str);
    matches!(outcome, Some("RESOLVED_SELLER_FAVOUR" | "CANCELED_BY_BUYER" | "DENIED"))
}

fn parse_dispute(dispute: &Value, stage: DisputeStage) -> Result<EventContent, WebhookRejection> {
    let reference = find_identifier(dispute, "/disputed_transactions/0/seller_transaction_id");
    let amount = find_amount(dispute, "/dispute_amount");
    let (Some(reference), Some(amount_minor)) = (reference, amount) else {
        return Err(WebhookRejection::Malformed("the dispute has no transaction or no amount"));
    };
    let reason = find_reference(dispute, "/reason");
    Ok(EventContent::Dispute(DisputeReport { reference, amount_minor, reason, stage }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_is_that_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(format_message("i", "t", "w", b""), "i|t|w|0");
    }
}
