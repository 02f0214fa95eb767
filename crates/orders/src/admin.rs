//! Orders for the owner: lists, details, new links, refunds.

use foundation::email::Email;
use foundation::time::format_milliseconds;
use platform::store;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::order::{Order, OrderState};
use crate::refund;
pub use crate::refund::RefundError;
use crate::service::{LinkOf, OrderService};
pub use crate::store::{EventEntry, MailEntry, OrderFilter};
use crate::store::{IssuedLink, count_by_state, find_order, issue_link, list_events, list_mails, list_orders};

/// The orders of a list if none are asked for.
pub const DEFAULT_LIMIT: i64 = 50;
/// The largest number of orders of a list.
pub const MAX_LIMIT: i64 = 200;

/// A page of orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderList {
    /// The orders, the newest first.
    pub orders: Vec<Order>,
    /// The number of orders by state, without the filter of the state.
    pub counts: [(OrderState, i64); 3],
    /// The value of `before` for the next page.
    pub next: Option<i64>,
}

impl OrderList {
    /// Returns the list as JSON.
    pub fn to_json(&self) -> Value {
        let counts: Map<String, Value> =
            self.counts.iter().map(|(state, count)| (state.name().to_owned(), (*count).into())).collect();
        let orders: Vec<Value> = self.orders.iter().map(Order::to_json).collect();
        json!({ "orders": orders, "counts": counts, "next": self.next.map(|next| next.to_string()) })
    }
}

/// An order with its mails and events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderDetails {
    pub order: Order,
    /// The mails to the buyer that the outbox still has.
    pub mails: Vec<MailEntry>,
    /// What the provider reported.
    pub events: Vec<EventEntry>,
}

impl OrderDetails {
    /// Returns the details as JSON.
    pub fn to_json(&self) -> Value {
        let mut all = self.order.to_json();
        let mails: Vec<Value> = self.mails.iter().map(mail_to_json).collect();
        let events: Vec<Value> = self
            .events
            .iter()
            .map(|event| {
                let detail = event
                    .detail
                    .as_ref()
                    .map_or_else(|| event.outcome.clone(), |detail| format!("{}: {detail}", event.outcome));
                json!({ "at": format_milliseconds(event.at), "kind": event.kind, "detail": detail })
            })
            .collect();
        all["provider_reference"] = self.order.provider_reference.as_str().into();
        all["download_expires_at"] = format_milliseconds(self.order.download_expires_at).into();
        all["downloads_left"] = self.order.downloads_left.into();
        all["messages"] = mails.into();
        all["events"] = events.into();
        all
    }
}

fn mail_to_json(mail: &MailEntry) -> Value {
    let state = match (mail.sent_to.as_deref(), mail.failed_at) {
        (Some("server"), _) => "sent",
        (Some(_), _) => "held",
        (None, Some(_)) => "failed",
        (None, None) => "waiting",
    };
    json!({
        "id": mail.id,
        "kind": if mail.purpose == "order_refund" { "refund" } else { "delivery" },
        "to": mail.recipient,
        "subject": mail.subject,
        "text": null,
        "state": state,
        "error": mail.error,
        "created_at": format_milliseconds(mail.created_at),
        "sent_at": mail.sent_at.map(format_milliseconds),
        "attempts": mail.attempts,
    })
}

/// Lists orders, the newest first.
///
/// The limit is at most [`MAX_LIMIT`], and [`DEFAULT_LIMIT`] in place of zero.
///
/// # Errors
/// The database returned an error or was unreachable.
pub async fn list(service: &OrderService, filter: &OrderFilter) -> store::Result<OrderList> {
    let (orders, next) = list_page(service, filter).await?;
    let counted = count_by_state(&mut service.connection(), filter).await?;
    let count =
        |state: OrderState| counted.iter().find(|(name, _)| name == state.name()).map_or(0, |(_, count)| *count);
    Ok(OrderList { orders, counts: OrderState::ALL.map(|state| (state, count(state))), next })
}

/// Lists orders as [`list`] does, without counting them.
///
/// Returns them and the value of `before` for the next page.
///
/// # Errors
/// The database returned an error or was unreachable.
pub async fn list_page(service: &OrderService, filter: &OrderFilter) -> store::Result<(Vec<Order>, Option<i64>)> {
    let limit = if filter.limit <= 0 { DEFAULT_LIMIT } else { filter.limit.min(MAX_LIMIT) };
    let filter = OrderFilter { limit: limit + 1, ..filter.clone() };
    let mut orders = list_orders(&mut service.connection(), &filter).await?;
    let has_more = orders.len() > usize::try_from(limit).unwrap_or(usize::MAX);
    if has_more {
        orders.pop();
    }
    let next = orders.last().filter(|_| has_more).map(|order| order.number);
    Ok((orders, next))
}

/// Finds an order with its mails and events.
///
/// # Errors
/// The database returned an error or was unreachable.
pub async fn find(service: &OrderService, id: Uuid) -> store::Result<Option<OrderDetails>> {
    let mut db = service.connection();
    let Some(order) = find_order(&mut db, id).await? else { return Ok(None) };
    let mails = list_mails(&mut db, id).await?;
    let events = list_events(&mut db, &order).await?;
    Ok(Some(OrderDetails { order, mails, events }))
}

/// Why no new link was sent.
#[derive(Debug, thiserror::Error)]
pub enum ResendError {
    /// There is no such order.
    #[error("there is no such order")]
    NotFound,
    /// The order is refunded.
    #[error("the order is refunded: it has no link")]
    Refunded,
    /// Another link was issued since the order was read.
    #[error("another link was sent in the meantime")]
    Conflict,
    /// The database failed.
    #[error("the order could not be read or changed: {0}")]
    Database(#[from] store::Error),
}

/// Mails a new link to the buyer; older links end.
///
/// # Errors
/// There is no such order, or it has no link.
pub async fn resend_download(service: &OrderService, id: Uuid) -> Result<(), ResendError> {
    resend_download_to(service, id, Recipient::default()).await.map(drop)
}

/// Who gets a new link.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recipient<'a> {
    /// The address of the buyer from now on; `None` keeps it.
    pub email: Option<&'a Email>,
    /// The address that the caller has read, if the order may have no other.
    pub previous: Option<&'a str>,
}

/// Mails a new link to an address, which becomes that of the order; older links end.
///
/// Returns whether the order had another address.
///
/// # Errors
/// There is no such order, or it has no link, or not the address that the caller has read.
pub async fn resend_download_to(service: &OrderService, id: Uuid, to: Recipient<'_>) -> Result<bool, ResendError> {
    let mut order = find_order(&mut service.connection(), id).await?.ok_or(ResendError::NotFound)?;
    let is_known = to.previous.is_none_or(|previous| previous.eq_ignore_ascii_case(&order.buyer_email));
    if !is_known && order.state != OrderState::Refunded {
        return Err(ResendError::Conflict);
    }
    let other = to.email.map(Email::as_str).filter(|email| !email.eq_ignore_ascii_case(&order.buyer_email));
    let is_other = other.is_some();
    if let Some(email) = other {
        email.clone_into(&mut order.buyer_email);
    }
    send_link(service, &order, order.download_generation + 1, None).await?;
    if is_other {
        tracing::info!(order.id = %id, "address of the buyer changed by the owner");
    }
    Ok(is_other)
}

/// Mails the link of this number to the address of `order`: the present link or the next, with which the present one ends. Only
/// with the next one may the address be another than the stored one. `mails` is the number of mails about the order, if it may
/// not have grown.
///
/// # Errors
/// The order is refunded, or has another link or number of mails than when it was read.
pub(crate) async fn send_link(
    service: &OrderService,
    order: &Order,
    generation: i32,
    mails: Option<i32>,
) -> Result<(), ResendError> {
    let key = service.read_download_key().await?;
    if order.state == OrderState::Refunded {
        return Err(ResendError::Refunded);
    }
    let (id, now) = (order.id, service.clock.now());
    let number = order.number.to_string();
    let is_kept = generation == order.download_generation;
    let (ends_at, downloads) = if is_kept {
        (order.download_expires_at, u16::try_from(order.downloads_left).unwrap_or(0))
    } else {
        (service.link_end(now), service.settings.max_downloads)
    };
    let link = LinkOf {
        order: id,
        generation,
        buyer: &order.buyer_email,
        title: &order.template_title,
        language: order.language,
        now,
        ends_at,
        downloads,
        receipt: order.receipt(&number),
    };
    let mut mail = service.build_delivery(&key, link);
    if is_kept {
        mail.message_id = format!("{}.{}", now.timestamp_millis(), mail.message_id);
    }
    let issued = IssuedLink {
        order: id,
        buyer: &order.buyer_email,
        previous: order.download_generation,
        mails,
        generation,
        downloads,
        expires_at: ends_at,
        mail,
    };
    let mut db = service.connection();
    let is_issued = issue_link(&mut db, &issued).await?;
    service.outbox.notify_after_commit(&mut db);
    if is_issued {
        tracing::info!(order.id = %id, generation, "download link sent again");
        Ok(())
    } else {
        Err(ResendError::Conflict)
    }
}

/// Refunds an order at its provider and ends its links; returns the order.
///
/// # Errors
/// The order is refunded already, the provider refuses, or it cannot be reached.
pub async fn refund(service: &OrderService, id: Uuid) -> Result<Order, RefundError> {
    refund::refund(service, id).await
}
