//! Refunds that the owner asks for.

use foundation::time::Time;
use platform::store::outbox::{self, NewMail};
use platform::store::{self, Connection};
use uuid::Uuid;

use crate::mails::RefundPart;
use crate::order::{Order, OrderState};
use crate::provider_api::{ApiError, RefundResult};
use crate::service::OrderService;
use crate::store::{EventRecord, add_mail, find_order, lock_payment, record_refund};

/// Why an order was not refunded.
#[derive(Debug, thiserror::Error)]
pub enum RefundError {
    /// There is no such order.
    #[error("there is no such order")]
    NotFound,
    /// The order is refunded already.
    #[error("the order is refunded already")]
    AlreadyRefunded,
    /// The provider refused, with its reason, or could not be reached.
    #[error(transparent)]
    Provider(#[from] ApiError),
    /// The database failed.
    #[error("the order could not be read or changed: {0}")]
    Database(#[from] store::Error),
}

/// Refunds an order at its provider and ends its links.
///
/// No connection is held during the call. A crash after the call loses nothing: the provider's event ends the order, and a
/// repeated call is answered that the payment is refunded.
pub(crate) async fn refund(service: &OrderService, id: Uuid) -> Result<Order, RefundError> {
    let order = find_order(&mut service.connection(), id).await?.ok_or(RefundError::NotFound)?;
    if order.state == OrderState::Refunded {
        return Err(RefundError::AlreadyRefunded);
    }
    let result = service.api.refund(&service.settings, &order).await?;
    record(service, &order, result, service.clock.now()).await?;
    tracing::info!(order.id = %order.id, provider = %order.provider, "order refunded by the owner");
    find_order(&mut service.connection(), id).await?.ok_or(RefundError::NotFound)
}

async fn record(service: &OrderService, order: &Order, result: RefundResult, now: Time) -> Result<(), store::Error> {
    let event_id = format!("request-{}", order.id.simple());
    let detail = match result {
        RefundResult::Refunded => "requested by the owner",
        RefundResult::AlreadyRefunded => "requested by the owner; the provider had refunded it before",
    };
    let mut db = service.begin().await?;
    lock_payment(&mut db, order.provider, &order.provider_reference).await?;
    let event = EventRecord {
        provider: order.provider,
        event_id: &event_id,
        kind: "refund",
        reference: Some(&order.provider_reference),
        amount_minor: Some(order.amount_minor),
        detail: Some(detail),
        now,
    };
    if record_refund(&mut db, event).await?.refunded.is_some() {
        enqueue_mail(service, &mut db, order.id, now).await?;
    }
    db.commit().await
}

/// Queues the mail to the buyer about a part of the payment that came back, in the transaction that stores the event.
///
/// None is queued for an event that reports no more than an earlier one, as events may arrive in another order.
pub(crate) async fn enqueue_partial_mail(
    service: &OrderService,
    db: &mut Connection,
    order: &Order,
    part: RefundPart,
    now: Time,
) -> store::Result<()> {
    if part.returned_minor <= part.before_minor {
        return Ok(());
    }
    let mail = service.build_partial_refund_mail(order, part, now);
    enqueue(service, db, order.id, mail).await
}

/// Queues the mail to the buyer in the transaction that refunded the order.
pub(crate) async fn enqueue_mail(
    service: &OrderService,
    db: &mut Connection,
    id: Uuid,
    now: Time,
) -> store::Result<()> {
    let Some(order) = find_order(db, id).await? else { return Ok(()) };
    let mail = service.build_refund_mail(&order, now);
    enqueue(service, db, id, mail).await
}

async fn enqueue(service: &OrderService, db: &mut Connection, order: Uuid, mail: NewMail) -> store::Result<()> {
    add_mail(db, order, mail.id).await?;
    outbox::insert(db, &[mail]).await?;
    service.outbox.notify_after_commit(db);
    Ok(())
}
