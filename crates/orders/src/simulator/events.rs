//! The bodies of simulated events, with the members that the providers send.

use serde_json::{Value, json};

use super::purchase::Purchase;
use crate::amount::format_decimal;
use crate::decision::Product;
use crate::event::CATALOGUE_CURRENCY;
use crate::order::{Order, Provider};
use crate::paths::{CHECKOUT_PARAMETER, PAYPAL_CAPTURE};

/// Returns the id of the order at PayPal of a simulated payment.
pub(super) fn paypal_order(id: &str) -> String {
    format!("ORDER{id}")
}

/// Returns the id of the checkout with which a provider sends the buyer back; PayPal sends that of the capture.
pub(super) fn checkout(provider: Provider, id: &str) -> Option<String> {
    match provider {
        Provider::Stripe => Some(format!("cs_test_{id}")),
        Provider::LemonSqueezy => Some(format!("checkout-{id}")),
        Provider::PayPal => None,
    }
}

/// Returns the query with which a provider sends the buyer back; what PayPal says there is not signed.
pub(super) fn return_query(purchase: Purchase<'_>, id: &str) -> String {
    if let Some(checkout) = checkout(purchase.provider, id) {
        return format!("{CHECKOUT_PARAMETER}={checkout}");
    }
    let amount = format_decimal(total(purchase), CATALOGUE_CURRENCY);
    format!("{PAYPAL_CAPTURE}={}&st=Completed&amt={amount}&cc={CATALOGUE_CURRENCY}", paypal_capture(id))
}

fn paypal_capture(id: &str) -> String {
    format!("CAPTURE{id}")
}

/// Returns the event of a payment; `id` makes its ids unique.
pub(super) fn payment(purchase: Purchase<'_>, id: &str) -> Vec<u8> {
    let (product, total) = (purchase.product, total(purchase));
    let event = match purchase.provider {
        Provider::Stripe => stripe_session(purchase, id),
        Provider::PayPal => json!({
            "id": format!("WH-{id}"),
            "event_type": "PAYMENT.CAPTURE.COMPLETED",
            "resource_type": "capture",
            "summary": "Payment completed",
            "resource": {
                "id": paypal_capture(id),
                "status": "COMPLETED",
                "final_capture": true,
                "amount": { "currency_code": CATALOGUE_CURRENCY, "value": format_decimal(total, CATALOGUE_CURRENCY) },
                "custom_id": reference(product),
                "supplementary_data": { "related_ids": { "order_id": paypal_order(id) } },
            },
        }),
        Provider::LemonSqueezy => json!({
            "meta": { "event_name": "order_created", "test_mode": true, "custom_data": { "payment_reference": reference(product) } },
            "data": {
                "type": "orders",
                "id": format!("LS{id}"),
                "attributes": {
                    "status": "paid",
                    "identifier": checkout(Provider::LemonSqueezy, id),
                    "user_email": purchase.email,
                    "currency": CATALOGUE_CURRENCY,
                    "subtotal": total,
                    "discount_total": 0,
                    "tax": 0,
                    "total": total,
                    "refunded": false,
                    "test_mode": true,
                    "first_order_item": { "product_name": product.title, "quantity": purchase.quantity },
                },
            },
        }),
    };
    event.to_string().into_bytes()
}

/// Returns what a purchase costs.
fn total(purchase: Purchase<'_>) -> i64 {
    purchase.product.price_minor.saturating_mul(i64::from(purchase.quantity))
}

fn stripe_session(purchase: Purchase<'_>, id: &str) -> Value {
    json!({
        "id": format!("evt_{id}"),
        "object": "event",
        "type": "checkout.session.completed",
        "livemode": false,
        "data": {
            "object": {
                "id": checkout(Provider::Stripe, id),
                "object": "checkout.session",
                "payment_intent": format!("pi_{id}"),
                "payment_status": "paid",
                "status": "complete",
                "amount_subtotal": total(purchase),
                "amount_total": total(purchase),
                "total_details": { "amount_discount": 0, "amount_shipping": 0, "amount_tax": 0 },
                "currency": CATALOGUE_CURRENCY.to_ascii_lowercase(),
                "customer_details": { "email": purchase.email },
                "client_reference_id": reference(purchase.product),
                "metadata": {},
                "payment_link": null,
                "locale": purchase.locale,
            },
        },
    })
}

/// Returns the event of a refund of everything.
pub(super) fn refund(order: &Order, id: &str) -> Vec<u8> {
    let (reference, amount) = (&order.provider_reference, order.amount_minor);
    let event = match order.provider {
        Provider::Stripe => json!({
            "id": format!("evt_{id}"),
            "object": "event",
            "type": "charge.refunded",
            "livemode": false,
            "data": {
                "object": {
                    "id": format!("ch_{id}"),
                    "object": "charge",
                    "payment_intent": reference,
                    "amount": amount,
                    "amount_refunded": amount,
                    "refunded": true,
                    "currency": order.currency.to_ascii_lowercase(),
                },
            },
        }),
        Provider::PayPal => json!({
            "id": format!("WH-{id}"),
            "event_type": "PAYMENT.CAPTURE.REFUNDED",
            "resource_type": "refund",
            "resource": {
                "id": format!("REFUND{id}"),
                "status": "COMPLETED",
                "amount": { "currency_code": order.currency, "value": format_decimal(amount, &order.currency) },
                "links": [{ "rel": "up", "method": "GET", "href": format!("https://payments.invalid/v2/payments/captures/{reference}") }],
            },
        }),
        Provider::LemonSqueezy => json!({
            "meta": { "event_name": "order_refunded", "test_mode": true },
            "data": {
                "type": "orders",
                "id": reference,
                "attributes": { "status": "refunded", "refunded": true, "total": amount, "refunded_amount": amount },
            },
        }),
    };
    event.to_string().into_bytes()
}

/// Returns what identifies the template of a payment.
fn reference(product: &Product) -> String {
    product.references.first().cloned().unwrap_or_else(|| format!("template-{}", product.template))
}
