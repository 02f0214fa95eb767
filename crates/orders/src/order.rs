//! Orders and the payment providers that they come from.

use std::fmt;

use foundation::language::Language;
use foundation::time::{Time, format_milliseconds};
use serde_json::{Value, json};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

/// A payment provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    Stripe,
    PayPal,
    LemonSqueezy,
}

impl Provider {
    pub const ALL: [Self; 3] = [Self::Stripe, Self::PayPal, Self::LemonSqueezy];

    /// Returns the name in tables and settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stripe => "stripe",
            Self::PayPal => "paypal",
            Self::LemonSqueezy => "lemon_squeezy",
        }
    }

    /// Returns the last segment of the path of its webhooks.
    pub fn path_segment(self) -> &'static str {
        match self {
            Self::LemonSqueezy => "lemon-squeezy",
            other => other.name(),
        }
    }

    /// Returns the name as the provider writes it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Stripe => "Stripe",
            Self::PayPal => "PayPal",
            Self::LemonSqueezy => "Lemon Squeezy",
        }
    }

    /// Returns the provider of a name or of a path segment.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name || provider.path_segment() == name)
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How far an order has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderState {
    /// Paid; the buyer has not downloaded the file yet.
    Paid,
    /// The buyer has downloaded the file.
    Delivered,
    /// The whole amount was returned; links have ended.
    Refunded,
}

impl OrderState {
    pub const ALL: [Self; 3] = [Self::Paid, Self::Delivered, Self::Refunded];

    /// Returns the name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paid => "paid",
            Self::Delivered => "delivered",
            Self::Refunded => "refunded",
        }
    }

    /// Returns the state of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }
}

/// A purchase of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub id: Uuid,
    /// Its number, in the order of writing.
    pub number: i64,
    /// The provider of the payment.
    pub provider: Provider,
    /// The payment: a payment intent of Stripe, a capture of PayPal, an order of Lemon Squeezy.
    pub provider_reference: String,
    /// The template's id.
    pub template: i32,
    /// The template's title at the time of the payment.
    pub template_title: String,
    /// The buyer's address.
    pub buyer_email: String,
    /// The paid amount in the smallest unit of the currency.
    pub amount_minor: i64,
    /// The currency (ISO 4217).
    pub currency: String,
    pub state: OrderState,
    /// Whether no money was moved.
    pub is_test: bool,
    /// The language of its mails.
    pub language: Language,
    /// The time of the event that reported the payment.
    pub paid_at: Time,
    /// The time of the first download.
    pub delivered_at: Option<Time>,
    /// The time of the refund.
    pub refunded_at: Option<Time>,
    /// The time of the latest download.
    pub last_downloaded_at: Option<Time>,
    /// The number of downloads.
    pub downloads: i32,
    /// The number of further downloads that the present link allows.
    pub downloads_left: i32,
    /// The number of the present link, from 1.
    pub download_generation: i32,
    /// The end of the present link.
    pub download_expires_at: Time,
    /// The taxes in the amount, if they were stored.
    pub tax_minor: Option<i64>,
    /// The discounts, if they were stored.
    pub discount_minor: Option<i64>,
    /// How many copies were bought, if the provider said it.
    pub quantity: Option<i32>,
    /// The list price of a copy, if the provider said it.
    pub unit_minor: Option<i64>,
    /// How much of the amount came back.
    pub returned_minor: i64,
    /// Whether the buyer disputes the payment and nothing is decided.
    pub is_disputed: bool,
}

impl Order {
    /// Returns the order as a member of JSON lists.
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "number": self.number,
            "paid_at": format_milliseconds(self.paid_at),
            "state": self.state.name(),
            "template": { "id": self.template, "title": self.template_title },
            "buyer_email": self.buyer_email,
            "amount_minor": self.amount_minor,
            "currency": self.currency,
            "tax_minor": self.tax_minor,
            "discount_minor": self.discount_minor,
            "quantity": self.quantity,
            "unit_minor": self.unit_minor,
            "returned_minor": self.returned_minor,
            "provider": self.provider.name(),
            "is_test": self.is_test,
            "is_disputed": self.is_disputed,
            "delivered_at": self.delivered_at.map(format_milliseconds),
            "refunded_at": self.refunded_at.map(format_milliseconds),
            "downloads": self.downloads,
        })
    }
}

/// Returns a column of an unknown value as an error of sqlx.
fn unknown(column: &str, value: &str) -> sqlx::Error {
    sqlx::Error::Decode(format!("{column} has the unknown value {value:?}").into())
}

impl FromRow<'_, PgRow> for Order {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let (provider, state): (String, String) = (row.try_get("provider")?, row.try_get("state")?);
        let language: String = row.try_get("locale")?;
        let state = OrderState::from_name(&state).ok_or_else(|| unknown("state", &state))?;
        let (amount_minor, returned): (i64, i64) = (row.try_get("amount_minor")?, row.try_get("returned_minor")?);
        let returned_minor = match state {
            OrderState::Refunded => amount_minor,
            _ => returned.clamp(0, amount_minor.max(0)),
        };
        Ok(Self {
            id: row.try_get("id")?,
            number: row.try_get("number")?,
            provider: Provider::from_name(&provider).ok_or_else(|| unknown("provider", &provider))?,
            provider_reference: row.try_get("provider_reference")?,
            template: row.try_get("template")?,
            template_title: row.try_get("template_title")?,
            buyer_email: row.try_get("buyer_email")?,
            amount_minor,
            currency: row.try_get("currency")?,
            state,
            is_test: row.try_get("is_test")?,
            language: Language::from_tag(&language).unwrap_or_default(),
            paid_at: row.try_get("paid_at")?,
            delivered_at: row.try_get("delivered_at")?,
            refunded_at: row.try_get("refunded_at")?,
            last_downloaded_at: row.try_get("last_downloaded_at")?,
            downloads: row.try_get("downloads")?,
            downloads_left: row.try_get("downloads_left")?,
            download_generation: row.try_get("download_generation")?,
            download_expires_at: row.try_get("download_expires_at")?,
            tax_minor: row.try_get("tax_minor")?,
            discount_minor: row.try_get("discount_minor")?,
            quantity: row.try_get("quantity")?,
            unit_minor: row.try_get("unit_minor")?,
            returned_minor,
            is_disputed: row.try_get("is_disputed")?,
        })
    }
}
