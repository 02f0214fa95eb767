//! `/orders`: a buyer asks for the links of all orders of an address again, or for a new link in place of one that has ended.
//!
//! The answer is the same for every address: what is sent, and whether anything is, is decided after it.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use foundation::email::Email;
use foundation::error_chain::ErrorChain;
use foundation::time::Time;
use http::StatusCode;
use http::header::RETRY_AFTER;
use http::request::Parts;
use http_edge::request::is_same_origin;
use platform::store;
use uuid::Uuid;

use super::download::is_open;
use super::extract::{OwnForm, Visit, find_network, not_own, not_received};
use super::page;
use crate::admin::{ResendError, send_link};
use crate::link_requests::INTERVAL;
use crate::order::OrderState;
use crate::service::OrderService;
use crate::store::{count_mails, find_order, list_orders_of_buyer};

/// The largest form, in bytes.
const MAX_FORM: usize = 4 * 1024;
/// The orders of an address whose links are sent, the newest first.
const MOST_ORDERS: i64 = 20;
/// The mails with a link of an order within 24 hours, that of the purchase included. Mails and pages say these limits in words.
const MOST_MAILS: i64 = 4;

/// What a buyer asks for.
enum Wanted {
    /// The links of all orders of an address.
    Orders(String),
    /// A new link of one order.
    Order(Uuid),
}

/// Sends links again: a page of this server asks for them, from a network that has not asked too often.
pub(super) struct LinkSender(Visit);

impl FromRequestParts<Arc<OrderService>> for LinkSender {
    type Rejection = Response;

    async fn from_request_parts(head: &mut Parts, service: &Arc<OrderService>) -> Result<Self, Response> {
        if !is_same_origin(&head.headers) {
            return Err(not_own());
        }
        let Ok(visit) = Visit::from_request_parts(head, service).await;
        if service.link_requests.admit(&find_network(&head.extensions), service.clock.now()) {
            return Ok(Self(visit));
        }
        let refused = visit.respond(StatusCode::TOO_MANY_REQUESTS, page::too_many_requests, "");
        Err(([(RETRY_AFTER, INTERVAL.num_seconds())], refused).into_response())
    }
}

/// Answers the form of the page.
pub(super) async fn send(sender: LinkSender, form: OwnForm<MAX_FORM>) -> Response {
    if !form.is_typed {
        return not_received();
    }
    let (wanted, now) = (sender.read_form(&form).await, sender.0.service.clock.now());
    let response = sender.0.respond(StatusCode::OK, page::links_sent, "");
    // After the answer, so that its time says nothing about the address.
    drop(http_edge::spawn_task(async move {
        if let Some(wanted) = wanted
            && let Err(error) = sender.send_again(wanted, now).await
        {
            tracing::error!(error = %ErrorChain(&error), "sending links of orders again failed");
        }
    }));
    response
}

impl LinkSender {
    /// Returns what a form asks for; `None` if it is not filled in, or names no order.
    async fn read_form(&self, form: &OwnForm<MAX_FORM>) -> Option<Wanted> {
        let find = |name: &str| Some(form.find(name)?.trim().to_owned()).filter(|value| !value.is_empty());
        if let Some(token) = find("token") {
            let grant = self.0.service.download_key().await.ok()?.verify(&token)?;
            return Some(Wanted::Order(grant.order));
        }
        Some(Wanted::Orders(Email::parse(&find("email")?).ok()?.as_str().to_owned()))
    }

    async fn send_again(&self, wanted: Wanted, now: Time) -> store::Result<()> {
        let service = &self.0.service;
        let orders = match wanted {
            Wanted::Order(id) => find_order(&mut service.connection(), id).await?.into_iter().collect(),
            Wanted::Orders(email) => list_orders_of_buyer(&mut service.connection(), &email, MOST_ORDERS).await?,
        };
        for order in orders.iter().filter(|order| order.state != OrderState::Refunded) {
            let (since, day) = (now - INTERVAL, now - TimeDelta::days(1));
            let counted = count_mails(&mut service.connection(), order.id, since, day, MOST_MAILS).await?;
            let Some(mails) = counted else { continue };
            // A link that still opens stays: a stranger who knows the address must not end it.
            let present = order.download_generation;
            let generation = if is_open(order, present, now) { present } else { present + 1 };
            match send_link(service, order, generation, Some(mails)).await {
                Ok(()) | Err(ResendError::NotFound | ResendError::Refunded | ResendError::Conflict) => {}
                Err(ResendError::Database(error)) => return Err(error),
            }
        }
        Ok(())
    }
}
