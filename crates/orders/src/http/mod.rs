//! The routes of orders: webhooks, downloads, receipts, the page after a payment.

mod download;
mod lost_links;
mod page;
mod receipt;
mod thank_you;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use foundation::error_chain::ErrorChain;
use foundation::language::Language;
use http::header::{ACCEPT_LANGUAGE, ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_edge::request::{BODY_DEADLINE, BodyError, ResolvedRequest, is_prefetch, read_body};
use telemetry::catalog::PAYMENT_EVENTS;
use telemetry::log_limit::LogLimit;

use crate::order::Provider;
pub use crate::paths::{DOWNLOADS, ORDERS, RECEIPTS, STYLE_SHEET, THANK_YOU, WEBHOOKS, is_order_path, logged_path};
use crate::service::OrderService;
use crate::shop_facts::ShopFonts;
use crate::webhook::{Delivery, MAX_BODY, WebhookOutcome, WebhookRejection};
pub use page::{MessagePage, format_message_page};

/// Lines about events that are not proved to be of their provider.
static UNVERIFIED_EVENTS: LogLimit = LogLimit::new();

impl OrderService {
    /// Answers a request whose path belongs to orders.
    pub async fn answer(self: &Arc<Self>, request: Request) -> Response {
        let path = request.uri().path().to_owned();
        if let Some(name) = path.strip_prefix(WEBHOOKS) {
            return self.answer_webhook(name, request).await;
        }
        if path == ORDERS {
            let language = find_language(request.headers());
            return self.answer_lost_links(request, language).await;
        }
        if let Some(token) = path.strip_prefix(RECEIPTS)
            && *request.method() == Method::POST
        {
            let language = find_language(request.headers());
            return self.answer_addressed_receipt(request, token, language).await;
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return not_allowed("GET, HEAD");
        }
        let language = find_language(request.headers());
        if let Some(token) = path.strip_prefix(DOWNLOADS) {
            if is_prefetch(request.headers()) {
                return plain(StatusCode::SERVICE_UNAVAILABLE, "a link is not opened ahead of its reader\n");
            }
            return self.answer_download(token, *request.method() == Method::HEAD, language).await;
        }
        if let Some(token) = path.strip_prefix(RECEIPTS) {
            return self.answer_receipt(token, language, "").await;
        }
        if path == STYLE_SHEET {
            return style_sheet(&self.facts.fonts);
        }
        self.answer_thank_you(request.uri().query().unwrap_or_default(), language).await
    }

    async fn answer_webhook(&self, name: &str, request: Request) -> Response {
        let found = Provider::ALL.into_iter().find(|provider| provider.path_segment() == name);
        let Some(provider) = found else { return plain(StatusCode::NOT_FOUND, "there is no such webhook\n") };
        if *request.method() != Method::POST {
            return not_allowed("POST");
        }
        let (head, body) = request.into_parts();
        let body = match read_body(body, MAX_BODY, BODY_DEADLINE).await {
            Ok(body) => body,
            Err(error) => return refuse_body(error),
        };
        let client = head.extensions.get::<ResolvedRequest>().and_then(|resolved| resolved.client);
        let network = client.map(|client| client.network().to_string()).unwrap_or_default();
        let delivery = Delivery { headers: &head.headers, body: &body, network: &network };
        let received = self.receive_delivery(provider, delivery).await;
        log_event(provider, &received);
        match received {
            Ok(outcome) => plain(StatusCode::OK, &format!("{}\n", outcome.name())),
            Err(rejection) => refuse(&rejection),
        }
    }
}

/// Counts an event and writes its line.
fn log_event(provider: Provider, received: &Result<WebhookOutcome, WebhookRejection>) {
    let outcome = received.as_ref().map_or_else(WebhookRejection::name, |outcome| outcome.name());
    PAYMENT_EVENTS.increment(&[provider.name(), outcome]);
    match received {
        Ok(
            WebhookOutcome::Ordered(order) | WebhookOutcome::OrderedAsRefunded(order) | WebhookOutcome::Refunded(order),
        ) => {
            tracing::info!(%provider, outcome, order.id = %order, "payment event accepted");
        }
        Ok(accepted) if accepted.needs_owner() => {
            tracing::warn!(%provider, outcome, "payment event needs the owner");
        }
        Ok(_) => tracing::info!(%provider, outcome, "payment event accepted"),
        Err(rejection) => {
            let error = ErrorChain(rejection);
            if let Some(left_out) = admit_rejection(provider, rejection) {
                tracing::warn!(%provider, outcome, %error, left_out, "payment event refused");
            } else {
                tracing::debug!(%provider, outcome, %error, "payment event refused");
            }
        }
    }
}

/// Returns the number of warnings left out since the last one; `None` for an event without one.
///
/// Any client can send an event with a wrong signature. It is also what a wrong secret in the settings looks like.
fn admit_rejection(provider: Provider, rejection: &WebhookRejection) -> Option<u64> {
    match rejection {
        WebhookRejection::NotConfigured(_)
        | WebhookRejection::MissingSignature
        | WebhookRejection::CertificateLimit => None,
        WebhookRejection::Forged | WebhookRejection::Stale | WebhookRejection::Certificate(_) => {
            UNVERIFIED_EVENTS.admit(&format!("{provider} {}", rejection.name()))
        }
        WebhookRejection::Malformed(_) | WebhookRejection::ProviderUnavailable(_) | WebhookRejection::Database(_) => {
            Some(0)
        }
    }
}

/// Answers an event that was not read.
fn refuse_body(error: BodyError) -> Response {
    let text = match error {
        BodyError::TooLarge => "the event is too large\n",
        BodyError::TooSlow => "the event did not arrive in time; send it again\n",
        BodyError::Incomplete => "the event did not arrive whole; send it again\n",
    };
    plain(error.status(), text)
}

/// Answers a refused event; causes within this server are in the log only.
fn refuse(rejection: &WebhookRejection) -> Response {
    let status = StatusCode::from_u16(rejection.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let text = match rejection {
        WebhookRejection::Database(_)
        | WebhookRejection::ProviderUnavailable(_)
        | WebhookRejection::Certificate(_)
        | WebhookRejection::CertificateLimit => "the event cannot be stored now; send it again\n".to_owned(),
        stated => format!("{stated}\n"),
    };
    let mut response = plain(status, &text);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("60"));
    }
    response
}

/// Returns the language that the reader prefers.
fn find_language(headers: &HeaderMap) -> Language {
    let header = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    header.and_then(Language::negotiate).unwrap_or_default()
}

fn not_allowed(allowed: &'static str) -> Response {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here\n");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

fn plain(status: StatusCode, text: &str) -> Response {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn style_sheet(fonts: &ShopFonts) -> Response {
    let mut response = Response::new(Body::from(page::format_style_sheet(fonts)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    response
}
