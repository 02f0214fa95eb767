//! The routes of orders: webhooks, downloads, receipts, the page after a payment.

mod download;
mod extract;
mod lost_links;
mod page;
mod receipt;
mod thank_you;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use foundation::error_chain::ErrorChain;
use http::StatusCode;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http_edge::request::{BODY_DEADLINE, BodyError, read_body};
use telemetry::catalog::PAYMENT_EVENTS;
use telemetry::log_limit::LogLimit;

use crate::order::Provider;
pub use crate::paths::{DOWNLOADS, ORDERS, RECEIPTS, STYLE_SHEET, THANK_YOU, WEBHOOKS, is_order_path, logged_path};
use crate::service::OrderService;
use crate::webhook::{Delivery, MAX_BODY, WebhookOutcome, WebhookRejection};
use extract::{find_network, plain};
pub use page::{MessagePage, format_message_page};

/// Lines about events that are not proved to be of their provider.
static UNVERIFIED_EVENTS: LogLimit = LogLimit::new();

/// Creates the router of the paths that [`is_order_path`] names.
pub fn router(service: Arc<OrderService>) -> Router {
    let mut router = Router::new()
        .route(ORDERS, only("GET, HEAD, POST", get(page::show_lost_links).post(lost_links::send)))
        .route(STYLE_SHEET, only("GET, HEAD", get(style_sheet)))
        .route(THANK_YOU, only("GET, HEAD", get(thank_you::show)));
    // A wildcard does not match an empty token.
    for token in ["", "{*token}"] {
        router = router.route(&format!("{DOWNLOADS}{token}"), only("GET, HEAD", get(download::send))).route(
            &format!("{RECEIPTS}{token}"),
            only("GET, HEAD, POST", get(receipt::show).post(receipt::show_addressed)),
        );
    }
    for provider in Provider::ALL {
        let receive = move |service, request| receive_event(service, provider, request);
        router = router.route(&format!("{WEBHOOKS}{}", provider.path_segment()), only("POST", post(receive)));
    }
    router.fallback(async || plain(StatusCode::NOT_FOUND, "there is no such webhook\n")).with_state(service)
}

/// Refuses methods without a handler; the response names `allowed`.
fn only(allowed: &'static str, methods: MethodRouter<Arc<OrderService>>) -> MethodRouter<Arc<OrderService>> {
    methods.fallback(async move || {
        ([(ALLOW, allowed)], plain(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here\n"))
    })
}

async fn receive_event(
    State(service): State<Arc<OrderService>>,
    provider: Provider,
    request: Request,
) -> Result<Response, Response> {
    let (head, body) = request.into_parts();
    let body = read_body(body, MAX_BODY, BODY_DEADLINE).await.map_err(refuse_body)?;
    let delivery = Delivery { headers: &head.headers, body: &body, network: &find_network(&head.extensions) };
    let received = service.receive_delivery(provider, delivery).await;
    log_event(provider, &received);
    let outcome = received.map_err(|rejection| refuse(&rejection))?;
    Ok(plain(StatusCode::OK, &format!("{}\n", outcome.name())))
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
    let retry_after = (status == StatusCode::SERVICE_UNAVAILABLE).then_some([(RETRY_AFTER, "60")]);
    (retry_after, plain(status, &text)).into_response()
}

async fn style_sheet(State(service): State<Arc<OrderService>>) -> Response {
    let headers = [(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, "public, max-age=300")];
    (headers, page::format_style_sheet(&service.facts.fonts)).into_response()
}
