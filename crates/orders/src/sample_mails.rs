//! The mails of orders filled in with an example, to look at before one is sent.

use chrono::TimeDelta;
use foundation::language::Language;
use platform::mail::EmailMessage;
use uuid::Uuid;

use crate::decision::Product;
use crate::event::{Buyer, CATALOGUE_CURRENCY, EventContent, Payment, PaymentEvent};
use crate::mails::{
    DeliveryMail, OwnerNotice, RefundMail, RefundPart, build_delivery, build_notice, build_partial_refund, build_refund,
};
use crate::order::Provider;
use crate::paths::{DOWNLOADS, RECEIPTS};
use crate::receipt::Receipt;
use crate::service::OrderService;
use crate::webhook::descriptions::{HELD_PAYMENT_TITLE, describe_wrong_amount};

/// A mail to a buyer or to the owner that a preview shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderMail {
    /// The download link and the receipt.
    Delivery,
    Refund,
    PartialRefund,
    /// Tells the owner about a payment that is held back.
    Notice,
}

impl OrderMail {
    pub const ALL: [Self; 4] = [Self::Delivery, Self::Refund, Self::PartialRefund, Self::Notice];

    /// Returns whether the mail goes to the owner, who is written to in English.
    pub fn is_to_owner(self) -> bool {
        self == Self::Notice
    }
}

/// Builds a mail as it is sent, about an example: two copies of a template, with a discount.
pub fn build_sample_mail(service: &OrderService, mail: OrderMail, language: Language) -> EmailMessage {
    const TITLE: &str = "Welcome Series";
    const PRICE_MINOR: i64 = 2_800;
    const AMOUNT_MINOR: i64 = 5_040;
    let now = service.clock.now();
    let context = service.mail_context(now);
    let facts = context.facts;
    let (order, to) = (Uuid::nil(), "ada@example.com");
    let receipt = Receipt {
        number: "1001",
        paid_at: now,
        buyer: to,
        provider: Provider::Stripe,
        title: TITLE,
        amount_minor: AMOUNT_MINOR,
        tax_minor: Some(805),
        discount_minor: Some(2 * PRICE_MINOR - AMOUNT_MINOR),
        quantity: Some(2),
        unit_minor: Some(PRICE_MINOR),
        returned_minor: 0,
        currency: CATALOGUE_CURRENCY,
        is_test: false,
    };
    let refund_of = |returned_minor| RefundMail { order, to, receipt: Receipt { returned_minor, ..receipt } };
    match mail {
        OrderMail::Delivery => {
            let [url, receipt_url] = [DOWNLOADS, RECEIPTS].map(|path| format!("{}{path}example", facts.url));
            let delivery = DeliveryMail {
                order,
                generation: 1,
                to,
                title: TITLE,
                url: &url,
                expires_at: now + TimeDelta::days(7),
                downloads: 10,
                receipt,
                receipt_url: &receipt_url,
            };
            build_delivery(context, language, delivery)
        }
        OrderMail::Refund => build_refund(context, language, refund_of(AMOUNT_MINOR)),
        OrderMail::PartialRefund => {
            let part = RefundPart { returned_minor: AMOUNT_MINOR / 2, before_minor: 0 };
            build_partial_refund(context, language, refund_of(part.returned_minor), part)
        }
        OrderMail::Notice => {
            let lines = describe_underpaid(TITLE, PRICE_MINOR, to);
            let owner = facts.owner.as_deref().unwrap_or("owner@example.com");
            build_notice(context, owner, &OwnerNotice { id: order, title: HELD_PAYMENT_TITLE, lines: &lines })
        }
    }
}

/// Returns what the owner is told about a payment of half of the price.
fn describe_underpaid(title: &str, price_minor: i64, buyer: &str) -> Vec<String> {
    let payment = Payment {
        reference: "pi_example".to_owned(),
        template_references: vec!["template-1".to_owned()],
        buyer_references: Vec::new(),
        buyer: Buyer::Email(buyer.to_owned()),
        amount_minor: price_minor / 2,
        tax_minor: 0,
        discount_minor: 0,
        list_minor: None,
        quantity: Some(1),
        checkout: None,
        currency: CATALOGUE_CURRENCY.to_owned(),
        is_test: false,
        locale: None,
    };
    let product = Product { template: 1, title: title.to_owned(), price_minor, references: Vec::new(), link: None };
    let event = PaymentEvent {
        provider: Provider::Stripe,
        id: "evt_example".to_owned(),
        content: EventContent::Payment(payment.clone()),
    };
    describe_wrong_amount(&event, &payment, &product)
}
