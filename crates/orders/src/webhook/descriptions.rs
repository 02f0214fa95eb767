//! What the mails to the owner say about payments that deliver nothing.

use crate::amount::format_amount;
use crate::decision::Product;
use crate::event::{Buyer, CATALOGUE_CURRENCY, Payment, PaymentEvent, RefundReport};

/// Describes the payment, for the end of the owner's mail.
fn describe_payment(event: &PaymentEvent, payment: &Payment) -> String {
    let buyer = match &payment.buyer {
        Buyer::Email(email) => format!(", buyer {email}"),
        Buyer::PayPalOrder(order) => format!(", order {order}"),
        Buyer::Unknown => String::new(),
    };
    let amount = format_amount(payment.amount_minor, &payment.currency);
    format!("Payment {} at {}: {amount}{buyer}. Event {}.", payment.reference, event.provider.title(), event.id)
}

/// Describes a payment that belongs to no template.
pub(super) fn describe_unknown(event: &PaymentEvent, payment: &Payment) -> Vec<String> {
    let references = [&payment.template_references[..], &payment.buyer_references[..]].concat().join(", ");
    let named = if references.is_empty() { "it names none".to_owned() } else { format!("it names {references}") };
    vec![
        format!("A payment belongs to no template on sale: {named}."),
        "Nothing was delivered. Set payment_reference of its template in catalogue.toml to one of these values and let the \
         provider send the event again, or refund the payment there."
            .to_owned(),
        describe_payment(event, payment),
    ]
}

/// Describes a payment of another amount than the price.
pub(super) fn describe_wrong_amount(event: &PaymentEvent, payment: &Payment, product: &Product) -> Vec<String> {
    let paid = format_amount(payment.amount_minor, &payment.currency);
    let price = format_amount(product.price_minor, CATALOGUE_CURRENCY);
    let reason = if payment.currency == CATALOGUE_CURRENCY { "below" } else { "in another currency than" };
    vec![
        format!("A payment of {paid} is {reason} the price of {}, which is {price}.", product.title),
        format!(
            "Nothing was delivered. If {} charges less on purpose, set that price in catalogue.toml, and let it send the event \
             again; discounts and coupons of the provider need no change here. Otherwise correct the price there, and refund \
             the payment.",
            event.provider.title()
        ),
        describe_payment(event, payment),
    ]
}

/// Describes a payment that has no address of its buyer.
pub(super) fn describe_no_buyer(event: &PaymentEvent, payment: &Payment, product: &Product) -> Vec<String> {
    vec![
        format!("A payment for {} has no address of its buyer.", product.title),
        "Nothing was delivered. Find the buyer at the provider, send the template yourself, or refund the payment there."
            .to_owned(),
        describe_payment(event, payment),
    ]
}

/// Describes a payment whose buyer PayPal refuses to name.
pub(super) fn describe_refused_lookup(
    event: &PaymentEvent,
    payment: &Payment,
    product: &Product,
    reason: &str,
) -> Vec<String> {
    let reason = reason.trim_end_matches('.');
    vec![
        format!("A payment for {} has no address of its buyer, because PayPal refuses to name it: {reason}.", product.title),
        "Nothing was delivered yet. Correct client_id and client_secret of [basalt.shop.payment.paypal]: PayPal sends the event \
         again for three days, and the order is made as soon as PayPal names the buyer. Otherwise find the buyer at PayPal, \
         send the template yourself, or refund the payment there."
            .to_owned(),
        describe_payment(event, payment),
    ]
}

/// Describes a payment whose order, which names the template, PayPal refuses to show.
pub(super) fn describe_refused_order(event: &PaymentEvent, payment: &Payment, reason: &str) -> Vec<String> {
    let reason = reason.trim_end_matches('.');
    vec![
        format!("A payment names no template, and PayPal refuses to show its order: {reason}."),
        "Nothing was delivered yet. Correct client_id and client_secret of [basalt.shop.payment.paypal]: PayPal sends the event \
         again for three days, and the order is made as soon as PayPal shows what was bought. Otherwise look the payment up at \
         PayPal, and deliver it in the desk, or refund it there."
            .to_owned(),
        describe_payment(event, payment),
    ]
}

/// Describes a payment that the provider took back.
pub(super) fn describe_reversal(event: &PaymentEvent, refund: &RefundReport, number: i64) -> Vec<String> {
    vec![
        format!(
            "{} took the payment of order {number} back, such as after a dispute of the buyer.",
            event.provider.title()
        ),
        "The links of the order have ended. Answer there if you do not agree; the buyer got no mail from the shop."
            .to_owned(),
        format!("Payment {} at {}. Event {}.", refund.reference, event.provider.title(), event.id),
    ]
}
