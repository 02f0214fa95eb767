//! Webhooks: verification, parsing, and the transaction that stores what they report.

pub mod certificates;
pub(crate) mod descriptions;
pub mod json;
pub mod lemon_squeezy;
pub mod paypal;
mod process;
mod signature;
pub mod stripe;

use chrono::TimeDelta;
use foundation::time::Time;
use http::HeaderMap;
use platform::store;
use uuid::Uuid;

use crate::order::Provider;

/// The largest body of a webhook, in bytes.
pub const MAX_BODY: usize = 256 * 1024;

/// What became of a verified event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookOutcome {
    /// The order is stored and its mail is queued.
    Ordered(Uuid),
    /// The order is stored as refunded, because the refund was reported before.
    OrderedAsRefunded(Uuid),
    /// The payment has its order already.
    KnownPayment,
    /// The order is refunded.
    Refunded(Uuid),
    /// The refund is stored: it is a part, or its payment is not known yet.
    RefundStored,
    /// The dispute is stored; the owner of its order is notified.
    DisputeStored,
    /// No template has the payment's reference; the owner is notified.
    UnknownTemplate,
    /// The amount is not the price; the owner is notified.
    WrongAmount,
    /// The buyer has no address; the owner is notified.
    NoBuyer,
    /// The event changes no order.
    Ignored,
    /// The event was stored before; nothing changes.
    Repeated,
}

impl WebhookOutcome {
    /// Returns the name in tables and log lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ordered(_) => "ordered",
            Self::OrderedAsRefunded(_) => "ordered_as_refunded",
            Self::KnownPayment => "known_payment",
            Self::Refunded(_) => "refunded",
            Self::RefundStored => "refund_stored",
            Self::DisputeStored => "dispute_stored",
            Self::UnknownTemplate => "unknown_template",
            Self::WrongAmount => "wrong_amount",
            Self::NoBuyer => "no_buyer",
            Self::Ignored => "ignored",
            Self::Repeated => "repeated",
        }
    }

    /// Returns whether nothing is delivered until the owner corrects something.
    ///
    /// A repeated event is processed again.
    pub fn needs_owner(self) -> bool {
        matches!(self, Self::UnknownTemplate | Self::WrongAmount | Self::NoBuyer)
    }
}

/// An event as it arrives.
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'a> {
    /// The headers, with the signature.
    pub headers: &'a HeaderMap,
    /// The raw body.
    pub body: &'a [u8],
    /// The network of the sender, which limits apply to; empty if it is unknown.
    pub network: &'a str,
}

/// Why an event was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum WebhookRejection {
    #[error("[basalt.shop.payment.{0}] is not configured")]
    NotConfigured(Provider),
    /// The signature is missing or cannot be read.
    #[error("the signature is missing or cannot be read")]
    MissingSignature,
    /// The signature is not that of the body.
    #[error("the signature is not that of the body: is the secret in config.toml that of this webhook?")]
    Forged,
    /// The signature is too old, or from the future.
    #[error("the signature is too old, or from the future: is the clock right?")]
    Stale,
    /// Too many certificates are being read, or too many reads for the network of the sender have failed.
    #[error("too many certificates are being read, or too many reads for this network have failed")]
    CertificateLimit,
    /// The certificate cannot be used.
    #[error("the certificate of the signature cannot be used: {0}")]
    Certificate(String),
    /// The body is not an event of this provider.
    #[error("the body is not an event of this provider: {0}")]
    Malformed(&'static str),
    /// The provider's API is needed and does not answer; the provider sends the event again.
    #[error("{0}")]
    ProviderUnavailable(String),
    /// The database failed; the provider sends the event again.
    #[error("the event could not be stored: {0}")]
    Database(#[from] store::Error),
}

impl WebhookRejection {
    /// Returns the status of the response.
    pub fn status(&self) -> u16 {
        match self {
            Self::NotConfigured(_) => 404,
            Self::MissingSignature | Self::Malformed(_) => 400,
            Self::Forged | Self::Stale => 401,
            Self::CertificateLimit | Self::Certificate(_) | Self::ProviderUnavailable(_) | Self::Database(_) => 503,
        }
    }

    /// Returns the name in log lines.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotConfigured(_) => "not_configured",
            Self::MissingSignature => "missing_signature",
            Self::Forged => "forged",
            Self::Stale => "stale",
            Self::CertificateLimit => "certificate_limit",
            Self::Certificate(_) => "certificate",
            Self::Malformed(_) => "malformed",
            Self::ProviderUnavailable(_) => "provider_unavailable",
            Self::Database(_) => "database",
        }
    }
}

/// Accepts a time of signing that is at most this far from now.
fn check_age(signed: Time, now: Time, tolerance: TimeDelta) -> Result<(), WebhookRejection> {
    let age = now - signed;
    if age > tolerance || age < -TimeDelta::minutes(5) { Err(WebhookRejection::Stale) } else { Ok(()) }
}
