//! Statements that read orders.

use foundation::time::Time;
use platform::store::{Connection, Result};
use platform::{bind, statements};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use crate::event::Payment;
use crate::order::{Order, Provider};

/// The columns of [`Order`].
macro_rules! columns {
    () => {
        "o.id, o.number, o.provider, o.provider_reference, o.template, o.template_title, o.buyer_email, o.amount_minor, o.currency,
         o.state, o.is_test, o.locale, o.paid_at, o.delivered_at, o.refunded_at, o.last_downloaded_at, o.downloads,
         o.downloads_left, o.download_generation, o.download_expires_at, o.tax_minor, o.discount_minor,
         o.quantity, o.unit_minor,
         COALESCE((SELECT max(r.amount_minor)
                   FROM basalt.payment_events r
                   WHERE r.provider = o.provider
                     AND r.provider_reference = o.provider_reference
                     AND r.kind = 'refund'), 0) AS returned_minor,
         o.state <> 'refunded'
         AND EXISTS (SELECT
                     FROM basalt.payment_events d
                     WHERE d.provider = o.provider
                       AND d.provider_reference = o.provider_reference
                       AND d.kind = 'dispute_opened'
                       AND NOT EXISTS (SELECT
                                       FROM basalt.payment_events c
                                       WHERE c.provider = d.provider
                                         AND c.provider_reference = d.provider_reference
                                         AND (c.kind = 'dispute_closed'
                                              OR (c.kind = 'refund' AND c.received_at >= d.received_at)))) AS is_disputed"
    };
}

statements! {
    #[repeatable]
    LIST = "orders.list": concat!(
        "SELECT ",
        columns!(),
        "
         FROM basalt.orders o
         WHERE (:search::text IS NULL
                OR position(lower(:search) IN lower(o.buyer_email)) > 0
                OR position(lower(:search) IN lower(o.template_title)) > 0
                OR o.provider_reference = :search
                OR o.number::text = :search
                OR o.id::text = lower(:search))
           AND (:template::integer IS NULL OR o.template = :template)
           AND (:since::timestamptz IS NULL OR o.paid_at >= :since)
           AND (:until::timestamptz IS NULL OR o.paid_at < :until)
           AND (:state::text IS NULL OR o.state = :state)
           AND (:before::bigint IS NULL OR o.number < :before)
         ORDER BY o.number DESC
         LIMIT :limit"
    );

    /// A part of an uploaded file.
    #[repeatable]
    READ_CHUNK = "shop_files.read_chunk": "
        SELECT c.content FROM basalt.shop_file_chunks c WHERE c.file = :file AND c.position = :position";

    /// The orders of a buyer that are not refunded, the newest first.
    #[repeatable]
    LIST_OF_BUYER = "orders.list_of_buyer": concat!(
        "SELECT ", columns!(), "
         FROM basalt.orders o
         WHERE lower(o.buyer_email) = lower(:email)
           AND o.state <> 'refunded'
         ORDER BY o.number DESC
         LIMIT :limit"
    );

    #[repeatable]
    HAS_BUYERS = "orders.has_buyers":
        "SELECT EXISTS (SELECT
                        FROM basalt.orders
                        WHERE template = :template
                          AND state <> 'refunded') AS has_buyers";

    #[repeatable]
    COUNT_MAILS = "orders.count_mails":
        "SELECT cardinality(o.mails),
                count(m.id) FILTER (WHERE m.created_at > :since) > 0 OR count(m.id) >= :most::bigint AS is_limited
         FROM basalt.orders o
         LEFT JOIN basalt.outbox m
                ON m.id = ANY (o.mails) AND m.created_at > :day AND m.purpose = 'order_delivery'
         WHERE o.id = :id
         GROUP BY o.id";

    #[repeatable]
    COUNT = "orders.count_by_state": "
        SELECT o.state, count(*) AS count
        FROM basalt.orders o
        WHERE (:search::text IS NULL
               OR position(lower(:search) IN lower(o.buyer_email)) > 0
               OR position(lower(:search) IN lower(o.template_title)) > 0
               OR o.provider_reference = :search
               OR o.number::text = :search
               OR o.id::text = lower(:search))
          AND (:template::integer IS NULL OR o.template = :template)
          AND (:since::timestamptz IS NULL OR o.paid_at >= :since)
          AND (:until::timestamptz IS NULL OR o.paid_at < :until)
        GROUP BY o.state";

    #[repeatable]
    FIND = "orders.find": concat!("SELECT ", columns!(), " FROM basalt.orders o WHERE o.id = :id");

    #[repeatable]
    FIND_BY_PAYMENT = "orders.find_by_payment": concat!(
        "SELECT ", columns!(), "
         FROM basalt.orders o
         WHERE o.provider = :provider
           AND o.provider_reference = :reference"
    );

    #[repeatable]
    FIND_BY_CHECKOUT = "orders.find_by_checkout": concat!(
        "SELECT ", columns!(), "
         FROM basalt.orders o
         WHERE o.checkout = :checkout
           AND o.paid_at > :since
         ORDER BY o.number DESC
         LIMIT 1"
    );

    /// Payments that wait for the owner, without those that were returned or have their order.
    #[repeatable]
    HELD = "orders.list_held": "
        SELECT e.provider, e.event_id, e.received_at, e.outcome, e.detail, e.held::text AS held
        FROM basalt.payment_events e
        WHERE e.held IS NOT NULL
          AND e.outcome IN ('unknown_template', 'wrong_amount', 'no_buyer')
          AND (:event_id::text IS NULL OR (e.event_id = :event_id AND e.provider = :provider))
          AND NOT EXISTS (SELECT
                          FROM basalt.orders o
                          WHERE o.provider = e.provider
                            AND o.provider_reference = e.provider_reference)
          AND NOT EXISTS (SELECT
                          FROM basalt.payment_events r
                          WHERE r.provider = e.provider
                            AND r.provider_reference = e.provider_reference
                            AND r.kind = 'refund'
                            AND r.amount_minor >= e.amount_minor)
        ORDER BY e.received_at DESC, e.event_id
        LIMIT 100";

    #[repeatable]
    EVENTS = "orders.list_events":
        "SELECT received_at, kind, outcome, detail
         FROM basalt.payment_events
         WHERE provider = :provider AND provider_reference = :reference
         ORDER BY received_at, event_id
         LIMIT 100";

    #[repeatable]
    MAILS = "orders.list_mails":
        "SELECT m.id, m.purpose, m.recipient, m.subject, m.created_at, m.sent_at, m.sent_to, m.failed_at, m.last_error, m.attempts
         FROM basalt.orders o
         JOIN basalt.outbox m ON m.id = ANY (o.mails)
         WHERE o.id = :id
         ORDER BY m.number
         LIMIT 100";

    #[repeatable]
    HAS_FINAL_EVENT = "orders.has_final_event": "
        SELECT EXISTS (SELECT
                       FROM basalt.payment_events
                       WHERE provider = :provider
                         AND event_id = :event_id
                         AND outcome NOT IN ('unknown_template', 'wrong_amount', 'no_buyer')) AS is_final";
}

/// What a list of orders is limited to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderFilter {
    /// A part of the address or the title; or the reference, number or id.
    pub search: Option<String>,
    pub state: Option<&'static str>,
    /// The template's id.
    pub template: Option<i32>,
    /// The earliest time of the payment.
    pub since: Option<Time>,
    /// The payment was before this time.
    pub until: Option<Time>,
    /// Only orders with a lower number.
    pub before: Option<i64>,
    /// The largest number of orders.
    pub limit: i64,
}

/// Lists orders, the newest first.
pub async fn list_orders(db: &mut Connection, filter: &OrderFilter) -> Result<Vec<Order>> {
    let bound = bind!(
        LIST,
        search: filter.search.as_deref(),
        state: filter.state,
        template: filter.template,
        since: filter.since,
        until: filter.until,
        before: filter.before,
        limit: filter.limit,
    );
    db.fetch_all(bound).await
}

/// Counts orders by state, whatever state the filter has.
pub async fn count_by_state(db: &mut Connection, filter: &OrderFilter) -> Result<Vec<(String, i64)>> {
    let bound = bind!(
        COUNT,
        search: filter.search.as_deref(),
        template: filter.template,
        since: filter.since,
        until: filter.until,
    );
    db.fetch_all(bound).await
}

/// Lists the orders of a buyer that are not refunded, the newest first.
pub async fn list_orders_of_buyer(db: &mut Connection, email: &str, limit: i64) -> Result<Vec<Order>> {
    db.fetch_all(bind!(LIST_OF_BUYER, email, limit)).await
}

/// Returns whether a template has orders that are not refunded.
pub async fn has_buyers(db: &mut Connection, template: u16) -> Result<bool> {
    let (has_buyers,): (bool,) = db.fetch_one(bind!(HAS_BUYERS, template: i32::from(template))).await?;
    Ok(has_buyers)
}

/// Counts the mails about an order; `None` if a link was mailed since a time, or `most` since `day`, or there is no order.
pub async fn count_mails(db: &mut Connection, id: Uuid, since: Time, day: Time, most: i64) -> Result<Option<i32>> {
    let counted: Option<(i32, bool)> = db.fetch_optional(bind!(COUNT_MAILS, id, since, day, most)).await?;
    Ok(counted.filter(|(_, is_limited)| !is_limited).map(|(count, _)| count))
}

/// Finds an order by its id.
pub async fn find_order(db: &mut Connection, id: Uuid) -> Result<Option<Order>> {
    db.fetch_optional(bind!(FIND, id)).await
}

/// Finds by a provider's reference.
pub async fn find_order_of_payment(db: &mut Connection, provider: Provider, reference: &str) -> Result<Option<Order>> {
    db.fetch_optional(bind!(FIND_BY_PAYMENT, provider: provider.name(), reference)).await
}

/// Finds the order of a checkout that was paid since a time.
pub async fn find_order_of_checkout(db: &mut Connection, checkout: &str, since: Time) -> Result<Option<Order>> {
    db.fetch_optional(bind!(FIND_BY_CHECKOUT, checkout, since)).await
}

/// Lists the latest hundred payments that wait for the owner; or that of one event.
pub async fn list_held(db: &mut Connection, event: Option<(Provider, &str)>) -> Result<Vec<HeldPayment>> {
    let (provider, event_id) = (event.map(|event| event.0.name()), event.map(|event| event.1));
    db.fetch_all(bind!(HELD, provider, event_id)).await
}

/// A payment that waits for the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldPayment {
    pub provider: Provider,
    pub event_id: String,
    /// The time of the event.
    pub received_at: Time,
    /// Why it waits: `unknown_template`, `wrong_amount` or `no_buyer`.
    pub outcome: String,
    /// The reason as a sentence.
    pub detail: Option<String>,
    pub payment: Payment,
}

impl FromRow<'_, PgRow> for HeldPayment {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let (provider, held): (String, String) = (row.try_get("provider")?, row.try_get("held")?);
        let unknown = || sqlx::Error::Decode(format!("the payment has the unknown provider {provider:?}").into());
        Ok(Self {
            provider: Provider::from_name(&provider).ok_or_else(unknown)?,
            event_id: row.try_get("event_id")?,
            received_at: row.try_get("received_at")?,
            outcome: row.try_get("outcome")?,
            detail: row.try_get("detail")?,
            payment: serde_json::from_str(&held).map_err(|error| sqlx::Error::Decode(error.into()))?,
        })
    }
}

/// An event of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventEntry {
    /// The time of its delivery.
    pub at: Time,
    /// `payment`, `refund`, or the provider's name of another event.
    pub kind: String,
    /// What was done.
    pub outcome: String,
    /// Further facts.
    pub detail: Option<String>,
}

impl FromRow<'_, PgRow> for EventEntry {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            at: row.try_get("received_at")?,
            kind: row.try_get("kind")?,
            outcome: row.try_get("outcome")?,
            detail: row.try_get("detail")?,
        })
    }
}

/// Lists the first hundred events of an order's payment.
pub async fn list_events(db: &mut Connection, order: &Order) -> Result<Vec<EventEntry>> {
    let bound = bind!(EVENTS, provider: order.provider.name(), reference: order.provider_reference.as_str());
    db.fetch_all(bound).await
}

/// Returns whether an event is stored and a repeated one changes nothing.
pub async fn has_final_event(db: &mut Connection, provider: Provider, event_id: &str) -> Result<bool> {
    let (is_final,): (bool,) = db.fetch_one(bind!(HAS_FINAL_EVENT, provider: provider.name(), event_id)).await?;
    Ok(is_final)
}

/// A mail to the buyer of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailEntry {
    /// Its id in the outbox.
    pub id: Uuid,
    /// `order_delivery` or `order_refund`.
    pub purpose: String,
    pub recipient: String,
    pub subject: String,
    /// When it was queued.
    pub created_at: Time,
    /// When it was accepted, or kept here.
    pub sent_at: Option<Time>,
    /// What accepted it: `server` for a mail server; else it is kept here.
    pub sent_to: Option<String>,
    /// When it was given up.
    pub failed_at: Option<Time>,
    /// The latest error.
    pub error: Option<String>,
    /// The number of attempts.
    pub attempts: i32,
}

impl FromRow<'_, PgRow> for MailEntry {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            purpose: row.try_get("purpose")?,
            recipient: row.try_get("recipient")?,
            subject: row.try_get("subject")?,
            created_at: row.try_get("created_at")?,
            sent_at: row.try_get("sent_at")?,
            sent_to: row.try_get("sent_to")?,
            failed_at: row.try_get("failed_at")?,
            error: row.try_get("last_error")?,
            attempts: row.try_get("attempts")?,
        })
    }
}

/// Lists the mails of an order that the outbox still has.
pub async fn list_mails(db: &mut Connection, id: Uuid) -> Result<Vec<MailEntry>> {
    db.fetch_all(bind!(MAILS, id)).await
}

/// Reads a part of an uploaded file, from 0; `None` after the last one.
pub async fn read_chunk(db: &mut Connection, file: Uuid, position: i32) -> Result<Option<Vec<u8>>> {
    let row: Option<(Vec<u8>,)> = db.fetch_optional(bind!(READ_CHUNK, file, position)).await?;
    Ok(row.map(|(content,)| content))
}
