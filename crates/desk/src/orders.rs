//! `/orders`: the orders of the shop, new links and refunds.

use std::sync::Arc;

use ::orders::admin::{self, MAX_LIMIT, OrderFilter, RefundError, ResendError};
use ::orders::{OrderService, OrderState};
use axum::response::Response;
use futures::FutureExt;
use futures::future::BoxFuture;
use gotrue_rules::domain::error::chain::ErrorChain;
use http::StatusCode;
use serde_json::json;
use uuid::Uuid;

use crate::http::error::DeskError;
use crate::http::query::Query;
use crate::http::respond;
use crate::section::{OwnerCall, Section};

/// Answers `/orders`.
pub struct Orders(Arc<OrderService>);

impl Orders {
    /// Creates the section over the service of orders.
    pub fn new(service: Arc<OrderService>) -> Self {
        Self(service)
    }

    async fn handle(&self, call: OwnerCall) -> Result<Response, DeskError> {
        let (method, segments) = call.route();
        match (method, segments.as_slice()) {
            ("GET", []) => {
                let list = admin::list(&self.0, &read_filter(&call.query)?).await?;
                Ok(respond::ok(&list.to_json()))
            }
            ("GET", [_]) => {
                let found = admin::find(&self.0, call.id(0, "The order")?).await?;
                Ok(respond::ok(&found.ok_or_else(|| DeskError::not_found("The order"))?.to_json()))
            }
            ("POST", [_, "resend"]) => self.resend(&call, call.id(0, "The order")?).await,
            ("POST", [_, "refund"]) => self.refund(&call, call.id(0, "The order")?).await,
            _ => Err(DeskError::not_found("The path")),
        }
    }

    async fn resend(&self, call: &OwnerCall, id: Uuid) -> Result<Response, DeskError> {
        admin::resend_download(&self.0, id).await.map_err(refuse_resend)?;
        call.record_done("order.resend", &id.to_string()).await;
        Ok(respond::json(StatusCode::ACCEPTED, &json!({})))
    }

    async fn refund(&self, call: &OwnerCall, id: Uuid) -> Result<Response, DeskError> {
        let outcome = admin::refund(&self.0, id).await;
        let action = if outcome.is_ok() { "order.refund" } else { "order.refund_failed" };
        call.record_done(action, &id.to_string()).await;
        Ok(respond::ok(&outcome.map_err(refuse_refund)?.to_json()))
    }
}

impl Section for Orders {
    fn answer(&self, call: OwnerCall) -> BoxFuture<'_, Result<Response, DeskError>> {
        self.handle(call).boxed()
    }
}

/// Reads the filters of a list.
fn read_filter(query: &Query) -> Result<OrderFilter, DeskError> {
    let state = match query.get("state") {
        None => None,
        Some(name) => {
            let state = OrderState::from_name(name);
            Some(state.ok_or_else(|| DeskError::invalid("state must be paid, delivered or refunded."))?.name())
        }
    };
    let template = query.number("template", 0, 0..=i64::from(i32::MAX))?;
    let before = query.number("before", 0, 0..=i64::MAX)?;
    Ok(OrderFilter {
        search: query.get("search").map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
        state,
        template: i32::try_from(template).ok().filter(|id| *id > 0),
        before: (before > 0).then_some(before),
        limit: query.number("limit", admin::DEFAULT_LIMIT, 1..=MAX_LIMIT)?,
    })
}

fn refuse_resend(error: ResendError) -> DeskError {
    match error {
        ResendError::NotFound => DeskError::not_found("The order"),
        ResendError::Refunded => already_refunded().hint("A refunded order has no link."),
        ResendError::Conflict => {
            DeskError::new(StatusCode::CONFLICT, "conflict", "Another link was sent at the same time.")
                .hint("The buyer has a link; load the order again.")
        }
        ResendError::Database(error) => error.into(),
    }
}

fn refuse_refund(error: RefundError) -> DeskError {
    match error {
        RefundError::NotFound => DeskError::not_found("The order"),
        RefundError::AlreadyRefunded => already_refunded(),
        RefundError::Provider(error) => {
            tracing::warn!(error = %ErrorChain(&error), "a refund failed");
            DeskError::new(
                StatusCode::BAD_GATEWAY,
                "provider_refused",
                "The payment provider did not refund the order.",
            )
            .hint(error.to_string())
        }
        RefundError::Database(error) => error.into(),
    }
}

fn already_refunded() -> DeskError {
    DeskError::new(StatusCode::CONFLICT, "already_refunded", "The order is refunded already.")
}
