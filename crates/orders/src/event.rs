//! What a provider reports, independent of its format.

use foundation::time::Time;
use serde::{Deserialize, Serialize};

use crate::order::Provider;

/// The currency of the catalogue's prices.
pub const CATALOGUE_CURRENCY: &str = "USD";

/// A verified event of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentEvent {
    pub provider: Provider,
    /// Its id; the same for repeated deliveries.
    pub id: String,
    /// What happened.
    pub content: EventContent,
}

/// What an event reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventContent {
    /// A completed payment.
    Payment(Payment),
    /// A refund, or a part of one.
    Refund(RefundReport),
    /// A dispute of the buyer that has taken no money for good.
    Dispute(DisputeReport),
    /// Something that changes no order, with the provider's name of it.
    Other(String),
}

/// A completed payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    /// The payment: a payment intent of Stripe, a capture of PayPal, an order of Lemon Squeezy.
    pub reference: String,
    /// What may identify the template, set by the owner.
    pub template_references: Vec<String>,
    /// What may identify it in parameters of the payment link, which buyers can change.
    #[serde(default)]
    pub buyer_references: Vec<String>,
    pub buyer: Buyer,
    /// The paid amount in the smallest unit of the currency, with taxes.
    pub amount_minor: i64,
    /// The taxes in it.
    pub tax_minor: i64,
    /// The discounts that the provider granted.
    pub discount_minor: i64,
    /// The list price before discounts and added taxes, if the provider says it.
    pub list_minor: Option<i64>,
    /// How many copies were bought, if the provider says it.
    #[serde(default)]
    pub quantity: Option<u32>,
    /// The currency (ISO 4217), in capitals.
    pub currency: String,
    /// Whether no money was moved.
    pub is_test: bool,
    /// The unguessable id of the checkout, with which the provider sends the buyer back.
    pub checkout: Option<String>,
    /// The language of the checkout, if it is known.
    pub locale: Option<String>,
}

/// The buyer, as far as an event says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Buyer {
    /// The address.
    Email(String),
    /// The order at PayPal, which has the address.
    PayPalOrder(String),
    /// Neither.
    Unknown,
}

/// A refund as an event reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundReport {
    /// The payment.
    pub reference: String,
    /// All that was returned until then, in the smallest unit of the currency.
    pub amount_minor: i64,
    /// Whether the provider took the money back, such as after a dispute of the buyer.
    pub is_reversal: bool,
}

/// A dispute as an event reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisputeReport {
    /// The payment.
    pub reference: String,
    /// The disputed amount in the smallest unit of the currency.
    pub amount_minor: i64,
    /// Why, in the provider's words.
    pub reason: Option<String>,
    pub stage: DisputeStage,
}

/// How far a dispute is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisputeStage {
    /// The seller answers, at the latest at this time.
    Opened(Option<Time>),
    /// The money stays with the seller.
    Won,
}
