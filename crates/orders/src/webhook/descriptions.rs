//! What the mails to the owner say about payments that deliver nothing.

use foundation::language::Language;

use crate::amount::format_amount;
use crate::decision::Product;
use crate::event::{Buyer, CATALOGUE_CURRENCY, DisputeReport, DisputeStage, Payment, PaymentEvent, RefundReport};
use crate::order::Order;

/// The title of the mail about a payment that delivers nothing.
pub(crate) const HELD_PAYMENT_TITLE: &str = "A payment needs your attention";
/// The language of the mails to the owner.
const LANGUAGE: Language = Language::English;
/// What the owner does about a payment that waits.
const DELIVER: &str = "Open the screen Orders of the desk: the payment is above the orders, choose the template and press \
                       Deliver. Or refund the payment at the provider, and it leaves that list.";

/// Describes the payment, for the end of the owner's mail.
fn describe_payment(event: &PaymentEvent, payment: &Payment) -> String {
    let buyer = match &payment.buyer {
        Buyer::Email(email) => format!(", buyer {email}"),
        Buyer::PayPalOrder(order) => format!(", order {order}"),
        Buyer::Unknown => String::new(),
    };
    let amount = format_amount(payment.amount_minor, &payment.currency, LANGUAGE);
    format!("Payment {} at {}: {amount}{buyer}. Event {}.", payment.reference, event.provider.title(), event.id)
}

/// Describes a payment that belongs to no template.
pub(super) fn describe_unknown(event: &PaymentEvent, payment: &Payment) -> Vec<String> {
    let references = [&payment.template_references[..], &payment.buyer_references[..]].concat().join(", ");
    let named = if references.is_empty() { "it names none".to_owned() } else { format!("it names {references}") };
    vec![
        format!("A payment belongs to no template on sale: {named}."),
        format!(
            "Nothing was delivered. {DELIVER} For later payments, set the payment reference of its template \
             (payment_reference) to one of these values, on the screen Catalogue of the desk or in catalogue.toml; then the \
             provider can also send this event again."
        ),
        describe_payment(event, payment),
    ]
}

/// Describes a payment of another amount than the price.
pub(crate) fn describe_wrong_amount(event: &PaymentEvent, payment: &Payment, product: &Product) -> Vec<String> {
    let paid = format_amount(payment.amount_minor, &payment.currency, LANGUAGE);
    let price = format_amount(product.price_minor, CATALOGUE_CURRENCY, LANGUAGE);
    let reason = if payment.currency == CATALOGUE_CURRENCY { "below" } else { "in another currency than" };
    vec![
        format!("A payment of {paid} is {reason} the price of {}, which is {price}.", product.title),
        format!(
            "Nothing was delivered. If the buyer is to have the template for this amount: {DELIVER} If {} charges less on \
             purpose, set that price on the screen Catalogue of the desk or in catalogue.toml, and it can also send the event \
             again; discounts and coupons of the provider need no change here. Otherwise correct the price there.",
            event.provider.title()
        ),
        describe_payment(event, payment),
    ]
}

/// Describes a payment that has no address of its buyer.
pub(super) fn describe_no_buyer(event: &PaymentEvent, payment: &Payment, product: &Product) -> Vec<String> {
    vec![
        format!("A payment for {} has no address of its buyer.", product.title),
        format!(
            "Nothing was delivered. Find the buyer at the provider. {DELIVER} The desk asks for the buyer's address."
        ),
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

/// Describes a payment of which the provider took a part back.
pub(super) fn describe_partial_reversal(event: &PaymentEvent, refund: &RefundReport, order: &Order) -> Vec<String> {
    let amount = |minor| format_amount(minor, &order.currency, LANGUAGE);
    vec![
        format!(
            "{} took {} of the payment of order {} back, which was {}, such as after a dispute of the buyer.",
            event.provider.title(),
            amount(refund.amount_minor),
            order.number,
            amount(order.amount_minor)
        ),
        "The order stays as it is, and its links work. Refund the rest in the desk if the buyer is to keep nothing; the buyer got \
         no mail from the shop."
            .to_owned(),
        format!("Payment {} at {}. Event {}.", refund.reference, event.provider.title(), event.id),
    ]
}

/// Describes a dispute that has begun, or was decided for the seller.
pub(super) fn describe_dispute(event: &PaymentEvent, dispute: &DisputeReport, order: &Order) -> Vec<String> {
    let (provider, number) = (event.provider.title(), order.number);
    let amount = format_amount(dispute.amount_minor, &order.currency, LANGUAGE);
    let reason = dispute.reason.as_deref().map(|reason| format!(" (reason: {reason})")).unwrap_or_default();
    let (what, advice) = match dispute.stage {
        DisputeStage::Opened(due) => {
            let due = due.map(|due| format!(" until {}", due.format("%-d %B %Y, %H:%M UTC"))).unwrap_or_default();
            (
                format!("The buyer of order {number} disputes {amount} at {provider}{reason}."),
                format!(
                    "Answer there{due}: the order in the desk has the mails and the downloads as evidence. Its links work until \
                     the dispute is decided; if it is lost, the order ends."
                ),
            )
        }
        DisputeStage::Won => (
            format!(
                "The dispute about {amount} of order {number} at {provider} has ended, and the money stays with you."
            ),
            "The order stays as it is, and its links work.".to_owned(),
        ),
    };
    vec![what, advice, format!("Payment {} at {provider}. Event {}.", dispute.reference, event.id)]
}
