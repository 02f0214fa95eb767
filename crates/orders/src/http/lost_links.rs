//! `/orders`: a buyer asks for the links of all orders of an address again, or for a new link in place of one that has ended.
//!
//! The answer is the same for every address: what is sent, and whether anything is, is decided after it.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use chrono::TimeDelta;
use foundation::email::Email;
use foundation::error_chain::ErrorChain;
use foundation::language::Language;
use foundation::time::Time;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, StatusCode};
use http_edge::request::{BODY_DEADLINE, ResolvedRequest, is_same_origin, read_body};
use platform::store;
use uuid::Uuid;

use super::download::is_open;
use super::{not_allowed, page, plain};
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
    /// Nothing: the form is not filled in, or names no order. The answer is the same.
    Nothing,
}

impl OrderService {
    /// Answers a request of the page.
    pub(super) async fn answer_lost_links(self: &Arc<Self>, request: Request, language: Language) -> Response {
        match *request.method() {
            Method::GET | Method::HEAD => page::respond_with_lost_links(language, &self.facts),
            Method::POST => self.send_lost_links(request, language).await,
            _ => not_allowed("GET, HEAD, POST"),
        }
    }

    async fn send_lost_links(self: &Arc<Self>, request: Request, language: Language) -> Response {
        // A page of another site would have its visitors send mails, each from a network of its own.
        if !is_same_origin(request.headers()) {
            return plain(StatusCode::FORBIDDEN, "The form was not sent by this page. Open the page and try again.\n");
        }
        let client = request.extensions().get::<ResolvedRequest>().and_then(|resolved| resolved.client);
        let network = client.map(|client| client.network().to_string()).unwrap_or_default();
        if !self.link_requests.admit(&network, self.clock.now()) {
            let (status, page) = (StatusCode::TOO_MANY_REQUESTS, page::too_many_requests(language));
            let mut response = page::respond_with(status, language, page, "", &self.facts);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(INTERVAL.num_seconds()));
            return response;
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
        page::respond_with(StatusCode::OK, language, page::links_sent(language), "", &self.facts)
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
            let counted = count_mails(&mut self.connection(), order.id, since, day, MOST_MAILS).await?;
            let Some(mails) = counted else { continue };
            // A link that still opens stays: a stranger who knows the address must not end it.
            let present = order.download_generation;
            let generation = if is_open(order, present, now) { present } else { present + 1 };
            match send_link(self, order, generation, Some(mails)).await {
                Ok(()) | Err(ResendError::NotFound | ResendError::Refunded | ResendError::Conflict) => {}
                Err(ResendError::Database(error)) => return Err(error),
            }
        }
        Ok(())
    }
}
