//! `/thank-you`: the page after a payment. It shows the order if the provider sends the buyer back with the id of the checkout.
//!
//! The id of a checkout session at Stripe, of an order at Lemon Squeezy, and of an order or a capture at PayPal cannot be guessed,
//! and the signed event names it: <https://docs.stripe.com/payments/checkout/custom-success-page>,
//! <https://developer.paypal.com/api/nvp-soap/payment-data-transfer/>. Nothing else in the address is trusted. An id opens
//! the page for a day, as addresses stay in histories.

use axum::extract::RawQuery;
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use foundation::error_chain::ErrorChain;
use http::StatusCode;
use http::header::{REFERRER_POLICY, REFRESH};
use url::form_urlencoded;

use super::download::is_open;
use super::extract::Visit;
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

/// Answers with the page.
pub(super) async fn show(visit: Visit, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let find = |name: &str| form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name);
    let id = ID_PARAMETERS.iter().find_map(|name| {
        let (_, id) = find(name).filter(|(_, id)| id.len() >= MIN_ID && is_identifier(id))?;
        Some((*name, id.into_owned()))
    });
    let is_of_paypal = [PAYPAL_CAPTURE, PAYPAL_ORDER, PAYPAL_PAYER].iter().any(|name| find(name).is_some());
    let attempt = find(ATTEMPT_PARAMETER).and_then(|(_, value)| value.parse().ok()).unwrap_or(0_u32);
    let waiting = || {
        let page = if is_of_paypal { page::waiting_for_paypal } else { page::thank_you };
        visit.respond(StatusCode::OK, page, &page::format_orders_link(visit.language))
    };
    let Some((name, id)) = id else { return waiting() };
    let response = match visit.service.find_paid(name, &id).await {
        Some(order) if order.state != OrderState::Refunded => show_order(&visit, &order).await,
        Some(_) => visit.respond(StatusCode::OK, page::refunded, ""),
        None if attempt < MAX_ATTEMPTS => {
            let again = format!("{INTERVAL}; url={THANK_YOU}?{name}={id}&{ATTEMPT_PARAMETER}={}", attempt + 1);
            ([(REFRESH, again)], waiting()).into_response()
        }
        None => waiting(),
    };
    ([(REFERRER_POLICY, "no-referrer")], response).into_response()
}

async fn show_order(visit: &Visit, order: &Order) -> Response {
    let Visit { service, language, .. } = visit;
    let (number, now) = (order.number.to_string(), service.clock.now());
    let Ok(key) = service.download_key().await else {
        return visit.respond(StatusCode::SERVICE_UNAVAILABLE, page::unavailable, "");
    };
    let token = key.sign(DownloadGrant { order: order.id, generation: order.download_generation });
    if !is_open(order, order.download_generation, now) {
        return visit.respond(StatusCode::OK, page::ended, &page::format_renewal_form(*language, &token));
    }
    let lines = order.receipt(&number).list_lines(*language, &service.facts);
    let (download, receipt) = (format!("{DOWNLOADS}{token}"), format!("{RECEIPTS}{token}"));
    let paths = page::OrderPaths { download: &download, receipt: &receipt };
    let order = page::format_order(*language, paths, &lines, service.facts.contact());
    visit.respond(StatusCode::OK, page::order_ready, &order)
}

impl OrderService {
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
}
