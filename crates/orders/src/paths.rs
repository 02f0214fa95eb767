//! The paths of orders.

/// The prefix of the paths of webhooks.
pub const WEBHOOKS: &str = "/shop/webhooks/";
/// The prefix of download links.
pub const DOWNLOADS: &str = "/shop/download/";
/// The prefix of links to receipts.
pub const RECEIPTS: &str = "/shop/receipt/";
/// The page after a payment.
pub const THANK_YOU: &str = "/thank-you";
/// The parameter of [`THANK_YOU`] with the id of the checkout, as in the documents of Stripe.
pub(crate) const CHECKOUT_PARAMETER: &str = "session_id";
/// What PayPal appends to the address of the page, by the kind of the payment: the capture, or the order and its payer.
pub(crate) const PAYPAL_CAPTURE: &str = "tx";
pub(crate) const PAYPAL_ORDER: &str = "token";
pub(crate) const PAYPAL_PAYER: &str = "PayerID";
/// The page where buyers ask for their links again.
pub const ORDERS: &str = "/orders";
/// The style sheet of the pages.
pub const STYLE_SHEET: &str = "/shop/page.css";

/// Returns whether a path belongs to orders.
pub fn is_order_path(path: &str) -> bool {
    [WEBHOOKS, DOWNLOADS, RECEIPTS].iter().any(|prefix| path.starts_with(prefix))
        || [THANK_YOU, ORDERS, STYLE_SHEET].contains(&path)
}

/// Returns what logs may contain of a path: a link to a download or a receipt without its token.
pub fn logged_path(path: &str) -> &str {
    match path {
        path if path.starts_with(DOWNLOADS) => "/shop/download/…",
        path if path.starts_with(RECEIPTS) => "/shop/receipt/…",
        path => path,
    }
}
