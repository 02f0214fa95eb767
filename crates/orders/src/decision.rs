//! What follows from a payment: a pure function of the payment and the catalogue.

use url::Url;

use crate::amount::parse_decimal;
use crate::event::{CATALOGUE_CURRENCY, Payment};

/// The shortest id in a payment link that identifies a template, in bytes.
const MIN_LINK_ID: usize = 8;

/// A template that can be bought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The template's id.
    pub template: u16,
    pub title: String,
    /// Its price in cents.
    pub price_minor: i64,
    /// The provider's ids of it, `payment_reference` of the catalogue.
    pub references: Vec<String>,
    /// The payment link.
    pub link: Option<String>,
}

impl Product {
    /// Returns the id in the payment link: the last segment of its path.
    fn link_id(&self) -> Option<&str> {
        let link = self.link.as_deref()?;
        let path = link.split(['?', '#']).next().unwrap_or(link).trim_end_matches('/');
        path.rsplit('/').next().filter(|id| id.len() >= MIN_LINK_ID)
    }

    /// Returns whether the payment link is one of PayPal.
    fn is_sold_by_paypal(&self) -> bool {
        let url = self.link.as_deref().and_then(|link| Url::parse(link).ok());
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        host == "paypal.com" || host.ends_with(".paypal.com") || host == "paypal.me"
    }
}

/// What follows from a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentDecision<'a> {
    /// The template is delivered.
    Deliver(&'a Product),
    /// No template has one of the references.
    UnknownTemplate,
    /// The amount or the currency is not that of the catalogue.
    WrongAmount(&'a Product),
}

/// Decides what follows from a payment.
///
/// What the provider signed as paid is delivered: discounts, quantities and taxes are its own. A list price below that of
/// the catalogue is not the owner's, and is held; without a list price, the paid amount before taxes counts, or the whole one.
/// So it does for a template that only the buyer names: discounts of the other things that the owner sells do not count there.
pub fn decide_payment<'a>(payment: &Payment, products: &'a [Product]) -> PaymentDecision<'a> {
    let find = |references: &[String]| references.iter().find_map(|reference| find_product(products, reference));
    let (of_owner, of_buyer) = (find(&payment.template_references), find(&payment.buyer_references));
    let Some(product) = of_owner.or(of_buyer) else { return PaymentDecision::UnknownTemplate };
    let is_plausible = payment.amount_minor >= 0 && payment.tax_minor >= 0 && payment.discount_minor >= 0;
    let is_price = if let Some(list) = payment.list_minor.filter(|_| of_owner.is_some()) {
        list >= product.price_minor && payment.amount_minor.checked_add(payment.discount_minor) >= Some(list)
    } else {
        let before_taxes = payment.amount_minor.checked_sub(payment.tax_minor);
        payment.amount_minor == product.price_minor || before_taxes >= Some(product.price_minor)
    };
    if is_price && is_plausible && payment.currency == CATALOGUE_CURRENCY {
        PaymentDecision::Deliver(product)
    } else {
        PaymentDecision::WrongAmount(product)
    }
}

/// Finds the product of a configured reference, of the id in its payment link, or of `template-<id>`.
fn find_product<'a>(products: &'a [Product], reference: &str) -> Option<&'a Product> {
    let configured = products.iter().find(|product| product.references.iter().any(|known| known == reference));
    configured.or_else(|| products.iter().find(|product| product.link_id() == Some(reference))).or_else(|| {
        let id: u16 = reference.strip_prefix("template-")?.parse().ok()?;
        products.iter().find(|product| product.template == id)
    })
}

/// Finds the product of a payment at PayPal that names nothing: the only one there with the title of an item, else with
/// exactly this price.
///
/// A payment with a reference is for what the reference names, whether the shop knows it or not.
pub fn find_unnamed<'a>(payment: &Payment, item_names: &[String], products: &'a [Product]) -> Option<&'a Product> {
    if payment.currency != CATALOGUE_CURRENCY
        || !payment.template_references.is_empty()
        || !payment.buyer_references.is_empty()
    {
        return None;
    }
    let has_price = |product: &&Product| product.price_minor == payment.amount_minor;
    let has_title = |product: &&Product| item_names.iter().any(|name| name.eq_ignore_ascii_case(&product.title));
    let at_paypal = || products.iter().filter(|product| product.is_sold_by_paypal());
    let only = |found: Vec<&'a Product>| if let [product] = found[..] { Some(product) } else { None };
    if item_names.is_empty() {
        return only(at_paypal().filter(has_price).collect());
    }
    only(at_paypal().filter(has_title).filter(has_price).collect())
}

/// Returns the cents of a price of the catalogue: `$28`, `$28.50`.
pub fn parse_price(price: &str) -> Option<i64> {
    parse_decimal(price.strip_prefix('$')?, CATALOGUE_CURRENCY)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::Buyer;

    fn payment(references: &[&str], amount_minor: i64, tax_minor: i64, currency: &str) -> Payment {
        Payment {
            reference: "pi_1".to_owned(),
            template_references: references.iter().map(|reference| (*reference).to_owned()).collect(),
            buyer_references: Vec::new(),
            buyer: Buyer::Unknown,
            amount_minor,
            tax_minor,
            discount_minor: 0,
            list_minor: None,
            quantity: None,
            checkout: None,
            currency: currency.to_owned(),
            is_test: false,
            locale: None,
        }
    }

    fn products() -> Vec<Product> {
        [(1, 2800, "plink_a"), (2, 6400, "plink_b")]
            .map(|(template, price_minor, reference)| Product {
                template,
                title: format!("Template {template}"),
                price_minor,
                references: vec![reference.to_owned()],
                link: None,
            })
            .to_vec()
    }

    #[test]
    fn payments_are_matched_by_reference_amount_and_currency() {
        let products = products();
        let (first, second) = (&products[0], &products[1]);
        let cases = [
            (payment(&["plink_a"], 2800, 0, "USD"), PaymentDecision::Deliver(first)),
            (payment(&["plink_a"], 3332, 532, "USD"), PaymentDecision::Deliver(first)),
            (payment(&["plink_a"], 2800, 447, "USD"), PaymentDecision::Deliver(first)),
            (payment(&["template-2"], 6400, 0, "USD"), PaymentDecision::Deliver(second)),
            (payment(&["plink_x", "plink_b"], 6400, 0, "USD"), PaymentDecision::Deliver(second)),
            (payment(&["plink_b", "template-1"], 2800, 0, "USD"), PaymentDecision::WrongAmount(second)),
            (payment(&["plink_a"], 2799, 0, "USD"), PaymentDecision::WrongAmount(first)),
            (payment(&["plink_a"], 0, -2800, "USD"), PaymentDecision::WrongAmount(first)),
            (payment(&["plink_a"], 2800, 0, "EUR"), PaymentDecision::WrongAmount(first)),
            (payment(&["plink_c"], 2800, 0, "USD"), PaymentDecision::UnknownTemplate),
            (payment(&["template-3"], 2800, 0, "USD"), PaymentDecision::UnknownTemplate),
            (payment(&[], 2800, 0, "USD"), PaymentDecision::UnknownTemplate),
        ];
        for (payment, expected) in cases {
            assert_eq!(decide_payment(&payment, &products), expected, "{payment:?}");
        }
    }

    #[test]
    fn discounts_and_quantities_of_the_provider_are_delivered() {
        let products = products();
        let paid = |amount_minor, discount_minor, list_minor| Payment {
            discount_minor,
            list_minor: Some(list_minor),
            ..payment(&["plink_a"], amount_minor, 0, "USD")
        };
        for (payment, is_delivered) in [
            (paid(2800, 0, 2800), true),
            (paid(1400, 1400, 2800), true),
            (paid(0, 2800, 2800), true),
            (paid(5600, 0, 5600), true),
            (Payment { tax_minor: 532, ..paid(3332, 0, 2800) }, true),
            (paid(2700, 0, 2700), false),
            (paid(0, 2700, 2700), false),
            (paid(100, 0, 2800), false),
            (paid(2800, -1, 2801), false),
            (paid(-2800, 5600, 2800), false),
        ] {
            let decided = decide_payment(&payment, &products);
            assert_eq!(matches!(decided, PaymentDecision::Deliver(_)), is_delivered, "{payment:?}");
        }
    }

    #[test]
    fn discounts_do_not_count_for_what_only_the_buyer_names() {
        let products = products();
        let paid = |amount_minor, discount_minor, list_minor| Payment {
            discount_minor,
            list_minor: Some(list_minor),
            buyer_references: vec!["template-2".to_owned()],
            ..payment(&[], amount_minor, 0, "USD")
        };
        for (payment, is_delivered) in [
            (paid(6400, 0, 6400), true),
            (Payment { tax_minor: 1216, ..paid(7616, 0, 6400) }, true),
            (paid(0, 6400, 6400), false),
            (paid(3200, 3200, 6400), false),
            (paid(6300, 3700, 10_000), false),
            (Payment { template_references: vec!["plink_b".to_owned()], ..paid(0, 6400, 6400) }, true),
            (Payment { template_references: vec!["plink_other".to_owned()], ..paid(0, 6400, 6400) }, false),
        ] {
            let decided = decide_payment(&payment, &products);
            assert_eq!(matches!(decided, PaymentDecision::Deliver(_)), is_delivered, "{payment:?}");
        }
    }

    #[test]
    fn unnamed_payments_belong_to_the_only_product_at_paypal() {
        let mut products = products();
        products[0].link = Some("https://www.paypal.com/ncp/payment/PLB-ABC123XYZ".to_owned());
        let title = products[0].title.clone();
        let unnamed = |amount_minor, currency: &str| payment(&[], amount_minor, 0, currency);
        let found = |payment: &Payment, names: &[String], products: &[Product]| {
            find_unnamed(payment, names, products).map(|product| product.template)
        };
        let id = Some(products[0].template);
        let price = products[0].price_minor;
        assert_eq!(found(&unnamed(price, "USD"), &[], &products), id);
        assert_eq!(found(&unnamed(price, "USD"), &[title.to_uppercase()], &products), id);
        assert_eq!(found(&unnamed(price, "USD"), &["Consulting".to_owned()], &products), None);
        assert_eq!(found(&unnamed(price - 1, "USD"), &[], &products), None);
        assert_eq!(found(&unnamed(price, "EUR"), &[], &products), None);
        assert_eq!(found(&payment(&["INV-7"], price, 0, "USD"), &[], &products), None, "it is for something else");
        assert_eq!(find_product(&products, "PLB-ABC123XYZ").map(|product| product.template), id);
        let twin = Product { template: 99, ..products[0].clone() };
        products.push(twin);
        assert_eq!(found(&unnamed(price, "USD"), &[], &products), None, "two have the price");
        products[0].link = Some("https://paypal.com.evil.example/x".to_owned());
        products.pop();
        assert_eq!(found(&unnamed(price, "USD"), &[], &products), None, "it is sold elsewhere");
    }

    #[test]
    fn prices_become_cents() {
        let cases = [("$28", Some(2800)), ("$28.50", Some(2850)), ("$0", Some(0)), ("28", None), ("$2.555", None)];
        for (price, expected) in cases {
            assert_eq!(parse_price(price), expected, "{price}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_payments_do_not_overflow(amount in any::<i64>(), tax in any::<i64>()) {
            for (amount, tax) in [(amount, tax), (i64::MIN, i64::MAX), (i64::MAX, i64::MIN)] {
                let products = products();
                let decided = decide_payment(&payment(&["template-1"], amount, tax, "USD"), &products);
                prop_assert!(!matches!(decided, PaymentDecision::Deliver(_)) || tax >= 0);
            }
        }

        #[test]
        fn arbitrary_prices_do_not_panic(text in "[-0-9.$e]{0,24}") {
            let _ = parse_price(&text);
        }
    }
}
