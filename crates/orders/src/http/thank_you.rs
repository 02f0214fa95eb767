//! `/thank-you`: the page after a payment. It shows the order if the provider sends the buyer back with the id of the checkout.
//!
//! The id of a checkout session at Stripe, of an order at Lemon Squeezy, and of an order or a capture at PayPal cannot be guessed,
//! and the signed event names it: <https://docs.stripe.com/payments/checkout/custom-success-page>,
//! <https://developer.paypal.com/api/nvp-soap/payment-data-transfer/>. Nothing else in the address is trusted. An id opens
//! the page for a day, as addresses stay in histories.

use axum::response::Response;
use chrono::TimeDelta;
use foundation::error_chain::ErrorChain;
use foundation::language::Language;
use http::header::{REFERRER_POLICY, REFRESH};
use http::{HeaderValue, StatusCode};
use url::form_urlencoded;

use super::download::is_open;
use super::page;
use crate::order::{Order, OrderState, Provider};
use crate::paths::{CHECKOUT_PARAMETER, DOWNLOADS, PAYPAL_CAPTURE, PAYPAL_ORDER, PAYPAL_PAYER, RECEIPTS, THANK_YOU};
use crate::service::OrderService;
use crate::store::{find_order_of_checkout, find_order_of_payment};
use crate::token::DownloadGrant;
use crate::webhook::json::is_identifier;

/// The parameter that counts loads of the page while the event of the provider is awaited.
const ATTEMPT_PARAMETER: &str = "attempt";
/// How long an id opens the page.
const VALIDITY: TimeDelta = TimeDelta::days(1);
/// The shortest id that is looked up, in bytes.
const MIN_ID: usize = 16;
/// How often the page loads itself again, and after how many seconds.
const MAX_ATTEMPTS: u32 = 10;
const INTERVAL: u32 = 3;

/// The parameters with an id, in the order in which they are tried.
const ID_PARAMETERS: [&str; 3] = [CHECKOUT_PARAMETER, PAYPAL_ORDER, PAYPAL_CAPTURE];

impl OrderService {
    /// Answers with the page.
    pub(super) async fn answer_thank_you(&self, query: &str, language: Language) -> Response {
        let find = |name: &str| form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name);
        let id = ID_PARAMETERS.iter().find_map(|name| {
            let (_, id) = find(name).filter(|(_, id)| id.len() >= MIN_ID && is_identifier(id))?;
            Some((*name, id.into_owned()))
        });
        let is_of_paypal = [PAYPAL_CAPTURE, PAYPAL_ORDER, PAYPAL_PAYER].iter().any(|name| find(name).is_some());
        let attempt = find(ATTEMPT_PARAMETER).and_then(|(_, value)| value.parse().ok()).unwrap_or(0_u32);
        let waiting = || {
            let page = if is_of_paypal { page::waiting_for_paypal(language) } else { page::thank_you(language) };
            let orders = page::format_orders_link(language);
            page::respond_with(StatusCode::OK, language, page, &orders, &self.facts)
        };
        let Some((name, id)) = id else { return waiting() };
        let mut response = match self.find_paid(name, &id).await {
            Some(order) if order.state != OrderState::Refunded => self.show_order(&order, language).await,
            Some(_) => page::respond_with(StatusCode::OK, language, page::refunded(language), "", &self.facts),
            None => {
                let mut response = waiting();
                let again = format!(
                    "{INTERVAL}; url={THANK_YOU}?{name}={id}&{ATTEMPT_PARAMETER}={}",
                    attempt.saturating_add(1)
                );
                if let Ok(value) = HeaderValue::try_from(again)
                    && attempt < MAX_ATTEMPTS
                {
                    response.headers_mut().insert(REFRESH, value);
                }
                response
            }
        };
        response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        response
    }

    /// Finds the order of a checkout; a failed database is logged and finds none, as the mail has the link, too.
    async fn find_paid(&self, name: &str, id: &str) -> Option<Order> {
        let (since, mut db) = (self.clock.now() - VALIDITY, self.connection());
        let found = if name == PAYPAL_CAPTURE {
            let order = find_order_of_payment(&mut db, Provider::PayPal, id).await;
            order.map(|order| order.filter(|order| order.paid_at > since))
        } else {
            find_order_of_checkout(&mut db, id, since).await
        };
        found.unwrap_or_else(|error| {
            tracing::error!(error = %ErrorChain(&error), "the order of a checkout could not be read");
            None
        })
    }

    async fn show_order(&self, order: &Order, language: Language) -> Response {
        let (number, now) = (order.number.to_string(), self.clock.now());
        let key = self.download_key().await.ok();
        let grant = DownloadGrant { order: order.id, generation: order.download_generation };
        let Some(token) = key.map(|key| key.sign(grant)) else {
            let page = page::unavailable(language);
            return page::respond_with(StatusCode::SERVICE_UNAVAILABLE, language, page, "", &self.facts);
        };
        if !is_open(order, order.download_generation, now) {
            let form = page::format_renewal_form(language, &token);
            return page::respond_with(StatusCode::OK, language, page::ended(language), &form, &self.facts);
        }
        let lines = order.receipt(&number).list_lines(language, &self.facts);
        let (download, receipt) = (format!("{DOWNLOADS}{token}"), format!("{RECEIPTS}{token}"));
        let paths = page::OrderPaths { download: &download, receipt: &receipt };
        let order = page::format_order(language, paths, &lines, self.facts.contact());
        page::respond_with(StatusCode::OK, language, page::order_ready(language), &order, &self.facts)
    }
}
