//! `/orders`: a buyer asks for the links of all orders of an address again, or for a new link in place of one that has ended.
//!
//! The answer is the same for every address: what is sent, and whether anything is, is decided after it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::Request;
use axum::response::Response;
use chrono::TimeDelta;
use gotrue_rs::store;
use gotrue_rules::domain::contact::Email;
use gotrue_rules::domain::error::chain::ErrorChain;
use gotrue_rules::domain::language::Language;
use gotrue_rules::domain::user::Time;
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use http_edge::request::{BODY_DEADLINE, ResolvedRequest, read_body};
use uuid::Uuid;

use super::download::is_open;
use super::{not_allowed, page, plain};
use crate::admin::{ResendError, send_link};
use crate::order::OrderState;
use crate::service::OrderService;
use crate::store::{find_order, has_recent_mail, list_orders_of_buyer};

/// The largest form, in bytes.
const MAX_FORM: usize = 4 * 1024;
/// The orders of an address whose links are sent, the newest first.
const MOST_ORDERS: i64 = 20;
/// A link is sent again after this time at the earliest.
const INTERVAL: TimeDelta = TimeDelta::minutes(10);
/// The mails about an order within a day.
const MOST_MAILS: i64 = 4;
/// The requests of a network within [`INTERVAL`], and the networks that are counted.
const MOST_REQUESTS: u32 = 10;
const MOST_NETWORKS: usize = 4_096;

/// Requests by network.
#[derive(Debug, Default)]
pub struct LinkRequests(Mutex<HashMap<String, (Time, u32)>>);

impl LinkRequests {
    /// Counts a request; `false` if the network has made too many.
    fn admit(&self, network: &str, now: Time) -> bool {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= MOST_NETWORKS {
            counted.retain(|_, (since, _)| now - *since < INTERVAL);
        }
        if counted.len() >= MOST_NETWORKS && !counted.contains_key(network) {
            // Many networks do not shut the page for all others: the limit of each order protects its buyer.
            counted.retain(|_, (_, requests)| *requests > 1);
            if counted.len() >= MOST_NETWORKS {
                return false;
            }
        }
        let (since, requests) = counted.entry(network.to_owned()).or_insert((now, 0));
        if now - *since >= INTERVAL {
            (*since, *requests) = (now, 0);
        }
        *requests += 1;
        *requests <= MOST_REQUESTS
    }
}

/// What a buyer asks for.
enum Wanted {
    /// The links of all orders of an address.
    Orders(String),
    /// A new link of one order.
    Order(Uuid),
    /// Nothing: the form is not filled in, or names no order. The answer is the same.
    Nothing,
}

impl OrderService {
    /// Answers a request of the page.
    pub(super) async fn answer_lost_links(self: &Arc<Self>, request: Request, language: Language) -> Response {
        match *request.method() {
            Method::GET | Method::HEAD => {
                let form = page::format_address_form(language);
                page::respond_with(StatusCode::OK, language, page::lost_links(language), &form, &self.facts.name)
            }
            Method::POST => self.send_lost_links(request, language).await,
            _ => not_allowed("GET, HEAD, POST"),
        }
    }

    async fn send_lost_links(self: &Arc<Self>, request: Request, language: Language) -> Response {
        let client = request.extensions().get::<ResolvedRequest>().and_then(|resolved| resolved.client);
        let network = client.map(|client| client.network().to_string()).unwrap_or_default();
        if !self.link_requests.admit(&network, self.clock.now()) {
            return plain(StatusCode::TOO_MANY_REQUESTS, "There were too many requests. Try again in ten minutes.\n");
        }
        let media_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_form =
            media_type.split(';').next().is_some_and(|name| name.trim() == "application/x-www-form-urlencoded");
        let body = match read_body(request.into_body(), MAX_FORM, BODY_DEADLINE).await {
            Ok(body) if is_form => body,
            _ => return plain(StatusCode::BAD_REQUEST, "The form was not received.\n"),
        };
        let wanted = self.read_form(&body).await;
        let (service, now) = (Arc::clone(self), self.clock.now());
        // After the answer, so that its time says nothing about the address.
        drop(http_edge::spawn_task(async move {
            if let Err(error) = service.send_again(wanted, now).await {
                tracing::error!(error = %ErrorChain(&error), "sending links of orders again failed");
            }
        }));
        page::respond_with(StatusCode::OK, language, page::links_sent(language), "", &self.facts.name)
    }

    async fn read_form(&self, body: &[u8]) -> Wanted {
        let find = |name: &str| {
            let mut pairs = url::form_urlencoded::parse(body).filter(|(key, _)| key == name);
            pairs.next().map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        if let Some(token) = find("token") {
            let grant = self.download_key().await.ok().and_then(|key| key.verify(&token));
            return grant.map_or(Wanted::Nothing, |grant| Wanted::Order(grant.order));
        }
        let email = find("email").and_then(|email| Email::parse(&email).ok());
        email.map_or(Wanted::Nothing, |email| Wanted::Orders(email.as_str().to_owned()))
    }

    async fn send_again(&self, wanted: Wanted, now: Time) -> store::Result<()> {
        let orders = match wanted {
            Wanted::Nothing => Vec::new(),
            Wanted::Order(id) => find_order(&mut self.connection(), id).await?.into_iter().collect(),
            Wanted::Orders(email) => list_orders_of_buyer(&mut self.connection(), &email, MOST_ORDERS).await?,
        };
        for order in orders.iter().filter(|order| order.state != OrderState::Refunded) {
            let (since, day) = (now - INTERVAL, now - TimeDelta::days(1));
            if has_recent_mail(&mut self.connection(), order.id, since, day, MOST_MAILS).await? {
                continue;
            }
            // A link that still opens stays: a stranger who knows the address must not end it.
            let present = order.download_generation;
            let generation = if is_open(order, present, now) { present } else { present + 1 };
            match send_link(self, order, generation).await {
                Ok(()) | Err(ResendError::NotFound | ResendError::Refunded | ResendError::Conflict) => {}
                Err(ResendError::Database(error)) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_a_network_are_limited() {
        let requests = LinkRequests::default();
        let start = Time::UNIX_EPOCH;
        for _ in 0..MOST_REQUESTS {
            assert!(requests.admit("192.0.2.1/32", start));
        }
        assert!(!requests.admit("192.0.2.1/32", start));
        assert!(requests.admit("192.0.2.2/32", start));
        assert!(requests.admit("192.0.2.1/32", start + INTERVAL));
        for network in 0..MOST_NETWORKS {
            requests.admit(&network.to_string(), start + INTERVAL);
        }
        assert!(requests.admit("another", start + INTERVAL), "networks with one request make room");
        for network in (0..MOST_NETWORKS).chain(0..MOST_NETWORKS) {
            requests.admit(&network.to_string(), start + INTERVAL * 2);
        }
        assert!(!requests.admit("other", start + INTERVAL * 2));
        assert!(requests.admit("other", start + INTERVAL * 3));
    }
}
