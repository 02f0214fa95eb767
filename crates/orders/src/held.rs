//! Payments that wait for the owner: a list, and their delivery or dismissal.

use foundation::time::format_milliseconds;
use platform::store;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::decision::{PaymentDecision, decide_payment};
use crate::event::{Buyer, CATALOGUE_CURRENCY, EventContent, PaymentEvent};
use crate::order::Provider;
use crate::provider_api::ApiError;
use crate::service::OrderService;
use crate::store::{HeldPayment, dismiss_held, list_held};
use crate::webhook::{WebhookOutcome, WebhookRejection};

impl HeldPayment {
    /// Returns the payment as JSON; `template` is that of the references, if there is one.
    fn to_json(&self, template: Option<u16>) -> Value {
        let buyer = match &self.payment.buyer {
            Buyer::Email(email) => Some(email),
            Buyer::PayPalOrder(_) | Buyer::Unknown => None,
        };
        json!({
            "provider": self.provider.name(),
            "event_id": self.event_id,
            "received_at": format_milliseconds(self.received_at),
            "reason": self.outcome,
            "detail": self.detail,
            "provider_reference": self.payment.reference,
            "amount_minor": self.payment.amount_minor,
            "currency": self.payment.currency,
            "buyer_email": buyer,
            "needs_buyer": self.payment.buyer == Buyer::Unknown || self.outcome == "no_buyer",
            "is_test": self.payment.is_test,
            "template": template,
        })
    }
}

/// Lists the latest hundred payments that wait, as JSON.
///
/// # Errors
/// The database returned an error or was unreachable.
pub async fn list(service: &OrderService) -> store::Result<Value> {
    let held = list_held(&mut service.connection(), None).await?;
    let products = (service.list_products)();
    let payments: Vec<Value> = held
        .iter()
        .map(|held| {
            let named = match decide_payment(&held.payment, &products) {
                PaymentDecision::Deliver(product) | PaymentDecision::WrongAmount(product) => Some(product),
                PaymentDecision::UnknownTemplate => None,
            };
            // Without a name, the only template with the price is proposed.
            let mut of_price = products.iter().filter(|product| {
                held.payment.currency == CATALOGUE_CURRENCY && product.price_minor == held.payment.amount_minor
            });
            let proposed = named.or_else(|| of_price.next().filter(|_| of_price.next().is_none()));
            held.to_json(proposed.map(|product| product.template))
        })
        .collect();
    let templates: Vec<Value> =
        products.iter().map(|product| json!({ "id": product.template, "title": product.title })).collect();
    Ok(json!({ "payments": payments, "templates": templates }))
}

/// What the owner decides about a payment that waits.
#[derive(Debug, Clone, Copy)]
pub struct HeldChoice<'a> {
    pub provider: Provider,
    pub event_id: &'a str,
    /// The template to deliver.
    pub template: u16,
    /// The address of the buyer, in place of that of the payment.
    pub email: Option<&'a str>,
}

/// Why a payment was not delivered.
#[derive(Debug, thiserror::Error)]
pub enum HeldError {
    /// The payment does not wait.
    #[error("there is no such payment that waits")]
    NotFound,
    /// There is no such template.
    #[error("there is no such template")]
    UnknownTemplate,
    /// There is no address of the buyer.
    #[error("the payment has no address of its buyer")]
    NoBuyer,
    /// The payment was returned before.
    #[error("the payment is refunded")]
    Refunded,
    /// The payment was delivered at the same time.
    #[error("the payment is delivered already")]
    Conflict,
    /// PayPal does not name the buyer.
    #[error("{0}")]
    Provider(#[from] ApiError),
    /// The database failed.
    #[error("the payment could not be read or delivered: {0}")]
    Database(#[from] store::Error),
    /// The payment could not be stored as an order.
    #[error("the payment could not be delivered: {0}")]
    Rejected(WebhookRejection),
}

/// Delivers a payment that waits; returns the id of its order.
///
/// # Errors
/// It does not wait, or lacks a template or a buyer.
pub async fn deliver(service: &OrderService, choice: HeldChoice<'_>) -> Result<Uuid, HeldError> {
    let wanted = Some((choice.provider, choice.event_id));
    let found = list_held(&mut service.connection(), wanted).await?.into_iter().next();
    let HeldPayment { provider, event_id, mut payment, .. } = found.ok_or(HeldError::NotFound)?;
    let products = (service.list_products)();
    let product = products.iter().find(|product| product.template == choice.template);
    let product = product.ok_or(HeldError::UnknownTemplate)?;
    if let Some(email) = choice.email {
        payment.buyer = Buyer::Email(email.to_owned());
    }
    let buyer = service.find_buyer(&payment).await?.ok_or(HeldError::NoBuyer)?;
    let event = PaymentEvent { provider, id: event_id, content: EventContent::Payment(payment.clone()) };
    match service.store_order(&event, &payment, product, &buyer).await {
        Ok(WebhookOutcome::Ordered(id)) => {
            tracing::info!(order.id = %id, template = product.template, "held payment delivered");
            Ok(id)
        }
        Ok(WebhookOutcome::OrderedAsRefunded(_)) => Err(HeldError::Refunded),
        Ok(_) => Err(HeldError::Conflict),
        Err(WebhookRejection::Database(error)) => Err(error.into()),
        Err(rejection) => Err(HeldError::Rejected(rejection)),
    }
}

/// Takes a payment from the list without delivering it; `false` if it does not wait.
///
/// # Errors
/// The database returned an error or was unreachable.
pub async fn dismiss(service: &OrderService, provider: Provider, event_id: &str) -> store::Result<bool> {
    dismiss_held(&mut service.connection(), provider, event_id).await
}
