//! `/orders`: the orders of the shop, new links and refunds.

use std::sync::Arc;

use ::orders::admin::{self, MAX_LIMIT, OrderFilter, Recipient, RefundError, ResendError};
use ::orders::export::{CSV_HEADER, to_csv};
use ::orders::held::{self, HeldChoice, HeldError};
use ::orders::{Order, OrderService, OrderState, Provider};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{Days, NaiveDate, NaiveTime};
use foundation::email::Email;
use foundation::error_chain::ErrorChain;
use futures::{StreamExt, stream};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use platform::store;
use serde_json::json;
use utoipa_axum::routes;

use crate::document::Refusal;
use crate::http::error::DeskError;
use crate::http::path::parse_id;
use crate::http::query::Query;
use crate::http::respond;
use crate::schemas;
use crate::section::{OwnerCall, OwnerRoutes, Section, unknown_path};

/// The longest address, provider and id of an event, in characters.
const MAX_EMAIL: usize = 255;
const MAX_NAME: usize = 200;
/// What a path names, for errors.
const ORDER: &str = "The order";

/// Answers `/orders`.
pub struct Orders(Arc<OrderService>);

impl Orders {
    /// Creates the section over the service of orders.
    pub fn new(service: Arc<OrderService>) -> Self {
        Self(service)
    }

    /// Answers with the orders of the filter as CSV, streamed page by page.
    async fn export(&self, filter: OrderFilter) -> Result<Response, DeskError> {
        let service = Arc::clone(&self.0);
        let filter = OrderFilter { limit: MAX_LIMIT, before: None, ..filter };
        // The first page is read here, so that a failed database is an error response.
        let first = admin::list_page(&service, &filter).await?;
        let lines = |orders: Vec<Order>| orders.iter().map(|order| to_csv(order) + "\r\n").collect::<String>();
        let head = format!("{CSV_HEADER}\r\n{}", lines(first.0));
        let rest = stream::try_unfold((service, filter, first.1), move |(service, filter, next)| async move {
            let Some(before) = next else { return Ok::<_, store::Error>(None) };
            let filter = OrderFilter { before: Some(before), ..filter };
            let (orders, next) = admin::list_page(&service, &filter).await?;
            Ok(Some((lines(orders), (service, filter, next))))
        })
        .inspect(|part| {
            if let Err(error) = part {
                tracing::error!(error = %ErrorChain(error), "an export of orders ended early");
            }
        });
        let mut response = Response::new(Body::from_stream(stream::iter([Ok(head)]).chain(rest)));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8; header=present"));
        headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"orders.csv\""));
        Ok(response)
    }
}

impl Section for Orders {
    const NAME: &'static str = "orders";

    fn routes() -> OwnerRoutes<Self> {
        OwnerRoutes::new(unknown_path)
            .calls(routes!(list_orders))
            .calls(routes!(export_orders))
            .calls(routes!(list_held_payments))
            .calls(routes!(deliver_held_payment))
            .calls(routes!(dismiss_held_payment))
            .calls(routes!(show_order))
            .calls(routes!(resend_link))
            .calls(routes!(refund_order))
    }
}

/// Lists orders, the latest first.
#[utoipa::path(
    get, path = "/", tag = "orders", params(schemas::OrderParameters),
    responses((status = 200, description = "The orders", body = Object), Refusal)
)]
async fn list_orders(State(orders): State<Arc<Orders>>, call: OwnerCall) -> Result<Response, DeskError> {
    let list = admin::list(&orders.0, &read_filter(&call.query)?).await?;
    Ok(respond::ok(&list.to_json()))
}

/// Returns the orders of a list as CSV.
#[utoipa::path(
    get, path = "/export", tag = "orders", params(schemas::OrderParameters),
    responses((status = 200, description = "The orders", body = String, content_type = "text/csv"), Refusal)
)]
async fn export_orders(State(orders): State<Arc<Orders>>, call: OwnerCall) -> Result<Response, DeskError> {
    let response = orders.export(read_filter(&call.query)?).await?;
    call.record_done("order.export", "").await;
    Ok(response)
}

/// Lists the payments that wait for the owner.
#[utoipa::path(
    get, path = "/held", tag = "orders",
    responses((status = 200, description = "The payments", body = Object), Refusal)
)]
async fn list_held_payments(State(orders): State<Arc<Orders>>, _: OwnerCall) -> Result<Response, DeskError> {
    Ok(respond::ok(&held::list(&orders.0).await?))
}

/// Returns an order.
#[utoipa::path(
    get, path = "/{id}", tag = "orders", params(("id" = Uuid, Path, description = "The id of the order")),
    responses((status = 200, description = "The order", body = Object), Refusal)
)]
async fn show_order(
    State(orders): State<Arc<Orders>>,
    Path(id): Path<String>,
    _: OwnerCall,
) -> Result<Response, DeskError> {
    let found = admin::find(&orders.0, parse_id(&id, ORDER)?).await?;
    Ok(respond::ok(&found.ok_or_else(|| DeskError::not_found(ORDER))?.to_json()))
}

/// Delivers a payment that waits for the owner.
#[utoipa::path(
    post, path = "/held/deliver", tag = "orders", request_body = schemas::HeldDelivery,
    responses((status = 201, description = "The id of the order", body = Object), Refusal)
)]
async fn deliver_held_payment(State(orders): State<Arc<Orders>>, call: OwnerCall) -> Result<Response, DeskError> {
    let (provider, event_id) = read_event(&call)?;
    let template = call.body.get("template").and_then(serde_json::Value::as_u64);
    let template = template.and_then(|id| u16::try_from(id).ok());
    let template = template.ok_or_else(|| DeskError::invalid("template must be the id of a template."))?;
    let email = read_email(&call)?;
    let choice = HeldChoice { provider, event_id, template, email: email.as_ref().map(Email::as_str) };
    let id = held::deliver(&orders.0, choice).await.map_err(refuse_held)?;
    call.record_done("order.deliver_held", &id.to_string()).await;
    Ok(respond::json(StatusCode::CREATED, &json!({ "id": id })))
}

/// Takes a payment from the list without delivering it.
#[utoipa::path(
    post, path = "/held/dismiss", tag = "orders", request_body = schemas::HeldPayment,
    responses((status = 200, description = "It is not listed any more", body = Object), Refusal)
)]
async fn dismiss_held_payment(State(orders): State<Arc<Orders>>, call: OwnerCall) -> Result<Response, DeskError> {
    let (provider, event_id) = read_event(&call)?;
    if !held::dismiss(&orders.0, provider, event_id).await? {
        return Err(DeskError::not_found("The payment"));
    }
    call.record_done("order.dismiss_held", event_id).await;
    Ok(respond::ok(&json!({})))
}

/// Mails a new link, to another address if one is given. The log names the order and no address.
#[utoipa::path(
    post, path = "/{id}/resend", tag = "orders", params(("id" = Uuid, Path, description = "The id of the order")),
    request_body = schemas::LinkRecipient,
    responses((status = 202, description = "The mail is queued", body = Object), Refusal)
)]
async fn resend_link(
    State(orders): State<Arc<Orders>>,
    Path(id): Path<String>,
    call: OwnerCall,
) -> Result<Response, DeskError> {
    let id = parse_id(&id, ORDER)?;
    let email = read_email(&call)?;
    let to = Recipient { email: email.as_ref(), previous: find_text(&call, "previous_email")? };
    let is_other = admin::resend_download_to(&orders.0, id, to).await.map_err(refuse_resend)?;
    let action = if is_other { "order.change_address" } else { "order.resend" };
    call.record_done(action, &id.to_string()).await;
    Ok(respond::json(StatusCode::ACCEPTED, &json!({})))
}

/// Refunds an order at its payment provider.
#[utoipa::path(
    post, path = "/{id}/refund", tag = "orders", params(("id" = Uuid, Path, description = "The id of the order")),
    responses((status = 200, description = "The outcome", body = Object), Refusal)
)]
async fn refund_order(
    State(orders): State<Arc<Orders>>,
    Path(id): Path<String>,
    call: OwnerCall,
) -> Result<Response, DeskError> {
    let id = parse_id(&id, ORDER)?;
    let outcome = admin::refund(&orders.0, id).await;
    let action = if outcome.is_ok() { "order.refund" } else { "order.refund_failed" };
    call.record_done(action, &id.to_string()).await;
    Ok(respond::ok(&outcome.map_err(refuse_refund)?.to_json()))
}

/// Reads the filters of a list. Days are those of UTC, as in the figures; the first and the last are part of it.
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
    let (from, to) = (query.day("from")?, query.day("to")?);
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        return Err(DeskError::invalid("from must not be after to.").hint("Both days are part of the list."));
    }
    let start = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
    Ok(OrderFilter {
        search: query.get("search").map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
        state,
        template: i32::try_from(template).ok().filter(|id| *id > 0),
        since: from.map(start),
        until: to.and_then(|day| day.checked_add_days(Days::new(1))).map(start),
        before: (before > 0).then_some(before),
        limit: query.number("limit", admin::DEFAULT_LIMIT, 1..=MAX_LIMIT)?,
    })
}

/// Reads provider and id of an event.
fn read_event(call: &OwnerCall) -> Result<(Provider, &str), DeskError> {
    let provider = Provider::from_name(call.body.text("provider", MAX_NAME)?);
    let provider = provider.ok_or_else(|| DeskError::invalid("provider must be stripe, paypal or lemon_squeezy."))?;
    Ok((provider, call.body.text("event_id", MAX_NAME)?))
}

/// Reads an address that may be missing.
fn read_email(call: &OwnerCall) -> Result<Option<Email>, DeskError> {
    let email = find_text(call, "email")?.map(Email::parse).transpose();
    email.map_err(|_| DeskError::invalid("email must be an email address."))
}

/// Reads an address as it was entered, without spaces around it; `None` if it is missing.
fn find_text<'a>(call: &'a OwnerCall, name: &str) -> Result<Option<&'a str>, DeskError> {
    match call.body.get(name) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(_) => Ok(Some(call.body.text(name, MAX_EMAIL)?.trim())),
    }
}

fn refuse_held(error: HeldError) -> DeskError {
    match error {
        HeldError::NotFound => DeskError::not_found("The payment"),
        HeldError::UnknownTemplate => DeskError::invalid("There is no such template."),
        HeldError::NoBuyer => DeskError::invalid("The payment has no address of its buyer.")
            .hint("Find the address at the payment provider and enter it."),
        HeldError::Refunded => already_refunded(),
        HeldError::Conflict => DeskError::new(StatusCode::CONFLICT, "conflict", "The payment is delivered already."),
        HeldError::Provider(error) => {
            tracing::warn!(error = %ErrorChain(&error), "the buyer of a held payment was not found");
            DeskError::new(StatusCode::BAD_GATEWAY, "provider_refused", "PayPal did not name the buyer.")
                .hint("Find the address at PayPal and enter it.")
        }
        HeldError::Database(error) => error.into(),
        HeldError::Rejected(error) => {
            tracing::error!(error = %ErrorChain(&error), "a held payment was not delivered");
            DeskError::internal()
        }
    }
}

fn refuse_resend(error: ResendError) -> DeskError {
    match error {
        ResendError::NotFound => DeskError::not_found("The order"),
        ResendError::Refunded => already_refunded().hint("A refunded order has no link."),
        ResendError::Conflict => {
            DeskError::new(StatusCode::CONFLICT, "conflict", "Another link was sent in the meantime.")
                .hint("The buyer has it. Look at the order again before you send another one.")
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
