//! The keys of `[basalt.shop.payment]`.

use super::key::Kind::{Bool, Count, Duration, Text};
use super::key::{Key, custom};

/// The keys of the table.
pub(super) const PAYMENT_KEYS: &[Key] = &[
    custom("basalt.shop.payment.download_validity", Duration),
    custom("basalt.shop.payment.max_downloads", Count),
    custom("basalt.shop.payment.products", Text),
    custom("basalt.shop.payment.allow_placeholder_links", Bool),
    custom("basalt.shop.payment.stripe.webhook_secret", Text),
    custom("basalt.shop.payment.stripe.api_key", Text),
    custom("basalt.shop.payment.stripe.api_url", Text),
    custom("basalt.shop.payment.stripe.ca_file", Text),
    custom("basalt.shop.payment.paypal.webhook_id", Text),
    custom("basalt.shop.payment.paypal.client_id", Text),
    custom("basalt.shop.payment.paypal.client_secret", Text),
    custom("basalt.shop.payment.paypal.api_url", Text),
    custom("basalt.shop.payment.paypal.ca_file", Text),
    custom("basalt.shop.payment.lemon_squeezy.webhook_secret", Text),
    custom("basalt.shop.payment.lemon_squeezy.api_key", Text),
    custom("basalt.shop.payment.lemon_squeezy.api_url", Text),
    custom("basalt.shop.payment.lemon_squeezy.ca_file", Text),
];
