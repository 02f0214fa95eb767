//! Statements that change orders.
//!
//! An event whose outcome was not final is stored again if the outcome differs. The outcome may be read from the tables:
//! they do not change under the lock of the payment.

use foundation::language::Language;
use foundation::time::Time;
use platform::store::outbox::{self, NewMail};
use platform::store::{Connection, Result};
use platform::{bind, statements};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use crate::order::{OrderState, Provider};
use crate::token::DownloadKey;

statements! {
    LOCK = "orders.lock_payment": "SELECT pg_advisory_xact_lock(hashtextextended(:payment, 11))";

    /// The number is known only now; the mail has a placeholder for it.
    #[proves(Message)]
    RECORD_PAYMENT = "orders.record_payment": "
        WITH refunded AS (
            SELECT max(r.received_at) AS at
            FROM basalt.payment_events r
            WHERE r.provider = :provider
              AND r.provider_reference = :reference
              AND r.kind = 'refund'
              AND r.amount_minor >= :amount
        ), event AS (
            INSERT INTO basalt.payment_events AS e (provider, event_id, kind, outcome, provider_reference, amount_minor,
                                                    detail, received_at, held)
            VALUES (:provider, :event_id, :kind,
                    CASE
                        WHEN EXISTS (SELECT
                                     FROM basalt.orders o
                                     WHERE o.provider = :provider
                                       AND o.provider_reference = :reference) THEN 'known_payment'
                        WHEN (SELECT r.at FROM refunded r) IS NULL THEN 'ordered'
                        ELSE 'ordered_as_refunded'
                    END,
                    :reference::text, :amount::bigint, :detail::text, :now::timestamptz, NULL)
            ON CONFLICT (provider, event_id) DO UPDATE
            SET outcome = excluded.outcome,
                detail = excluded.detail,
                held = excluded.held
            WHERE e.outcome IN ('unknown_template', 'wrong_amount', 'no_buyer')
              AND e.outcome <> excluded.outcome
            RETURNING e.event_id
        ), inserted AS (
            INSERT INTO basalt.orders (id, provider, provider_reference, template, template_title, buyer_email,
                                       amount_minor, currency, state, is_test, locale, paid_at, refunded_at,
                                       downloads_left, download_expires_at, tax_minor, discount_minor, quantity,
                                       unit_minor, checkout, mails)
            SELECT :id, :provider, :reference, :template, :title, :buyer, :amount, :currency,
                   CASE WHEN r.at IS NULL THEN 'paid' ELSE 'refunded' END,
                   :is_test, :locale, :now, r.at, :downloads::integer, :expires_at::timestamptz,
                   :tax::bigint, :discount::bigint, :quantity::integer, :unit::bigint, :checkout::text,
                   CASE WHEN r.at IS NULL THEN ARRAY[:mail_id::uuid] ELSE '{}' END
            FROM event, refunded r
            ON CONFLICT (provider, provider_reference) DO NOTHING
            RETURNING id, state, number
        ), mail AS (
            INSERT INTO basalt.outbox (id, purpose, recipient, subject, html, text, headers, code, link, message_id,
                                       created_at, attempts, next_attempt_at, give_up_at, sent_at, sent_to)
            SELECT m.id, m.purpose, m.recipient, m.subject, m.html, m.text, m.headers, m.code, m.link, m.message_id,
                   m.created_at, 0, m.created_at, m.give_up_at, m.sent_at, m.sent_to
            FROM jsonb_to_recordset(
                replace(:mail::jsonb::text, '{order-number}', (SELECT i.number::text FROM inserted i))::jsonb
            ) AS m (
                id uuid, purpose text, recipient text, subject text, html text, text text, headers jsonb, code text,
                link text, message_id text, created_at timestamptz, give_up_at timestamptz, sent_at timestamptz,
                sent_to text
            ), inserted
            WHERE inserted.state = 'paid'
        )
        SELECT EXISTS (SELECT FROM event) AS is_new,
               (SELECT state FROM inserted) AS state";

    RECORD_REFUND = "orders.record_refund": "
        WITH event AS (
            INSERT INTO basalt.payment_events AS e (provider, event_id, kind, outcome, provider_reference, amount_minor,
                                                    detail, received_at, held)
            VALUES (:provider, :event_id, :kind,
                    CASE
                        WHEN EXISTS (SELECT
                                     FROM basalt.orders o
                                     WHERE o.provider = :provider
                                       AND o.provider_reference = :reference
                                       AND o.state <> 'refunded'
                                       AND o.amount_minor <= :amount) THEN 'refunded'
                        ELSE 'refund_stored'
                    END,
                    :reference::text, :amount::bigint, :detail::text, :now::timestamptz, NULL)
            ON CONFLICT (provider, event_id) DO UPDATE
            SET outcome = excluded.outcome,
                detail = excluded.detail,
                held = excluded.held
            WHERE e.outcome IN ('unknown_template', 'wrong_amount', 'no_buyer')
              AND e.outcome <> excluded.outcome
            RETURNING e.event_id
        ), changed AS (
            UPDATE basalt.orders o
            SET state = 'refunded',
                refunded_at = :now
            FROM event
            WHERE o.provider = :provider
              AND o.provider_reference = :reference
              AND o.state <> 'refunded'
              AND o.amount_minor <= :amount
            RETURNING o.id
        )
        SELECT EXISTS (SELECT FROM event) AS is_new,
               (SELECT id FROM changed) AS refunded,
               (SELECT COALESCE(max(r.amount_minor), 0)
                FROM basalt.payment_events r
                WHERE r.provider = :provider
                  AND r.provider_reference = :reference
                  AND r.kind = 'refund'
                  AND r.event_id <> :event_id) AS returned_before";

    #[proves(Message)]
    RECORD_EVENT = "orders.record_event": "
        WITH event AS (
            INSERT INTO basalt.payment_events AS e (provider, event_id, kind, outcome, provider_reference, amount_minor,
                                                    detail, received_at, held)
            VALUES (:provider, :event_id, :kind, :outcome, :reference::text, :amount::bigint, :detail::text,
                    :now::timestamptz, :held::text::jsonb)
            ON CONFLICT (provider, event_id) DO UPDATE
            SET outcome = excluded.outcome,
                detail = excluded.detail,
                held = excluded.held
            WHERE e.outcome IN ('unknown_template', 'wrong_amount', 'no_buyer')
              AND e.outcome <> excluded.outcome
            RETURNING e.event_id
        ), mail AS (
            INSERT INTO basalt.outbox (id, purpose, recipient, subject, html, text, headers, code, link, message_id,
                                       created_at, attempts, next_attempt_at, give_up_at, sent_at, sent_to)
            SELECT m.id, m.purpose, m.recipient, m.subject, m.html, m.text, m.headers, m.code, m.link, m.message_id,
                   m.created_at, 0, m.created_at, m.give_up_at, m.sent_at, m.sent_to
            FROM jsonb_to_recordset(:mail) AS m (
                id uuid, purpose text, recipient text, subject text, html text, text text, headers jsonb, code text,
                link text, message_id text, created_at timestamptz, give_up_at timestamptz, sent_at timestamptz,
                sent_to text
            ), event
        )
        SELECT EXISTS (SELECT FROM event) AS is_new";

    /// The address only changes with the number of the link, which refuses what was decided from the former one.
    #[proves(Message)]
    ISSUE_LINK = "orders.issue_link": "
        WITH issued AS (
            UPDATE basalt.orders
            SET buyer_email = CASE WHEN :generation = :previous THEN buyer_email ELSE :buyer::text END,
                download_generation = :generation,
                downloads_left = CASE WHEN :generation = :previous THEN downloads_left ELSE :downloads::integer END,
                download_expires_at =
                    CASE WHEN :generation = :previous THEN download_expires_at ELSE :expires_at::timestamptz END,
                mails = array_append(mails, :mail_id::uuid)
            WHERE id = :id
              AND download_generation = :previous
              AND (:mails::integer IS NULL OR cardinality(mails) = :mails)
              AND state <> 'refunded'
            RETURNING id
        ), mail AS (
            INSERT INTO basalt.outbox (id, purpose, recipient, subject, html, text, headers, code, link, message_id,
                                       created_at, attempts, next_attempt_at, give_up_at, sent_at, sent_to)
            SELECT m.id, m.purpose, m.recipient, m.subject, m.html, m.text, m.headers, m.code, m.link, m.message_id,
                   m.created_at, 0, m.created_at, m.give_up_at, m.sent_at, m.sent_to
            FROM jsonb_to_recordset(:mail) AS m (
                id uuid, purpose text, recipient text, subject text, html text, text text, headers jsonb, code text,
                link text, message_id text, created_at timestamptz, give_up_at timestamptz, sent_at timestamptz,
                sent_to text
            ), issued
        )
        SELECT EXISTS (SELECT FROM issued) AS is_issued";

    ADD_MAIL = "orders.add_mail":
        "UPDATE basalt.orders SET mails = array_append(mails, :mail_id::uuid) WHERE id = :id";

    DOWNLOAD = "orders.record_download":
        "UPDATE basalt.orders
         SET downloads = downloads + 1,
             downloads_left = downloads_left - 1,
             last_downloaded_at = :now::timestamptz,
             delivered_at = COALESCE(delivered_at, :now),
             state = 'delivered'
         WHERE id = :id
           AND state <> 'refunded'
           AND download_generation = :generation
           AND download_expires_at > :now
           AND downloads_left > 0
         RETURNING id";

    DISMISS_HELD = "orders.dismiss_held": "
        UPDATE basalt.payment_events
        SET held = NULL
        WHERE provider = :provider
          AND event_id = :event_id
          AND held IS NOT NULL
          AND outcome IN ('unknown_template', 'wrong_amount', 'no_buyer')
        RETURNING event_id";

    FIND_OR_INSERT_KEY = "orders.find_or_insert_download_key":
        "WITH inserted AS (
             INSERT INTO basalt.download_keys (id, secret, created_at)
             VALUES (1, :secret, :now::timestamptz)
             ON CONFLICT (id) DO NOTHING
             RETURNING secret
         )
         SELECT secret FROM inserted
         UNION ALL
         SELECT secret FROM basalt.download_keys WHERE id = 1
         LIMIT 1";
}

/// An event as it is stored.
#[derive(Debug, Clone, Copy)]
pub struct EventRecord<'a> {
    pub provider: Provider,
    /// Its id.
    pub event_id: &'a str,
    /// `payment`, `refund`, or the provider's name of another event.
    pub kind: &'a str,
    /// The payment.
    pub reference: Option<&'a str>,
    /// The amount; for a refund all that was returned until then.
    pub amount_minor: Option<i64>,
    /// Further facts, as a sentence.
    pub detail: Option<&'a str>,
    /// The time of the delivery.
    pub now: Time,
}

/// An order to store with the mail of its link.
#[derive(Debug)]
pub struct NewOrder<'a> {
    /// Its id.
    pub id: Uuid,
    /// The template's id.
    pub template: u16,
    /// The template's title.
    pub title: &'a str,
    /// The buyer's address.
    pub buyer: &'a str,
    /// The paid amount.
    pub amount_minor: i64,
    /// The taxes in it.
    pub tax_minor: i64,
    pub discount_minor: i64,
    /// The copies, if they are known.
    pub quantity: Option<i32>,
    /// The list price of a copy, if it is known.
    pub unit_minor: Option<i64>,
    /// The checkout at the provider.
    pub checkout: Option<&'a str>,
    pub currency: &'a str,
    /// Whether no money was moved.
    pub is_test: bool,
    /// The language of the mails.
    pub language: Language,
    /// The downloads that the link allows.
    pub downloads: u16,
    /// The end of the link.
    pub expires_at: Time,
    /// The mail with the link, and [`NUMBER_PLACEHOLDER`] in place of the number.
    pub mail: NewMail,
}

/// What a mail has in place of the number of an order that is not stored yet.
pub const NUMBER_PLACEHOLDER: &str = "{order-number}";

/// What became of a payment event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedPayment {
    /// The order is stored and its mail is queued.
    Ordered,
    /// The order is stored as refunded, because the refund arrived before; there is no mail.
    OrderedAsRefunded,
    /// The event is new, the payment has its order.
    KnownPayment,
    /// The event is stored already.
    Repeated,
}

/// Waits for other transactions on the same payment, until the end of this one.
pub async fn lock_payment(db: &mut Connection, provider: Provider, reference: &str) -> Result<()> {
    db.execute(bind!(LOCK, payment: format!("{provider}/{reference}"))).await.map(drop)
}

/// Stores a payment event with its order and mail, in one statement.
pub async fn record_payment(
    db: &mut Connection,
    event: EventRecord<'_>,
    new: &NewOrder<'_>,
) -> Result<RecordedPayment> {
    let mail = [new.mail.clone()];
    let bound = bind!(
        RECORD_PAYMENT,
        provider: event.provider.name(),
        event_id: event.event_id,
        kind: event.kind,
        reference: event.reference,
        amount: Some(new.amount_minor),
        detail: event.detail,
        now: event.now,
        id: new.id,
        template: i32::from(new.template),
        title: new.title,
        buyer: new.buyer,
        currency: new.currency,
        tax: new.tax_minor,
        discount: new.discount_minor,
        quantity: new.quantity,
        unit: new.unit_minor,
        checkout: new.checkout,
        is_test: new.is_test,
        locale: new.language.tag(),
        downloads: i32::from(new.downloads),
        expires_at: new.expires_at,
        mail_id: new.mail.id,
        mail: outbox::encode_rows(&mail),
    );
    let (is_new, state): (bool, Option<String>) = db.fetch_one(bound).await?;
    Ok(match (is_new, state.as_deref().and_then(OrderState::from_name)) {
        (false, _) => RecordedPayment::Repeated,
        (true, None) => RecordedPayment::KnownPayment,
        (true, Some(OrderState::Refunded)) => RecordedPayment::OrderedAsRefunded,
        (true, Some(_)) => RecordedPayment::Ordered,
    })
}

/// What became of a refund event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedRefund {
    /// Whether the event was not stored before.
    pub is_new: bool,
    /// The order that it refunded.
    pub refunded: Option<Uuid>,
    /// All that was returned of the payment before, in the smallest unit of its currency.
    pub returned_before: i64,
}

impl FromRow<'_, PgRow> for RecordedRefund {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            is_new: row.try_get("is_new")?,
            refunded: row.try_get("refunded")?,
            returned_before: row.try_get("returned_before")?,
        })
    }
}

/// Stores a refund event and ends the order if everything was returned.
pub async fn record_refund(db: &mut Connection, event: EventRecord<'_>) -> Result<RecordedRefund> {
    let bound = bind!(
        RECORD_REFUND,
        provider: event.provider.name(),
        event_id: event.event_id,
        kind: event.kind,
        reference: event.reference,
        amount: event.amount_minor,
        detail: event.detail,
        now: event.now,
    );
    db.fetch_one(bound).await
}

/// Stores an event without an order, with the mails about it; returns whether it is new.
///
/// `held` is what is needed to deliver it later, as JSON.
pub async fn record_event(
    db: &mut Connection,
    event: EventRecord<'_>,
    outcome: &str,
    held: Option<&str>,
    mails: &[NewMail],
) -> Result<bool> {
    let bound = bind!(
        RECORD_EVENT,
        provider: event.provider.name(),
        event_id: event.event_id,
        kind: event.kind,
        outcome,
        held,
        reference: event.reference,
        amount: event.amount_minor,
        detail: event.detail,
        now: event.now,
        mail: outbox::encode_rows(mails),
    );
    db.fetch_one::<(bool,)>(bound).await.map(|(is_new,)| is_new)
}

/// A link that replaces the one before.
#[derive(Debug)]
pub struct IssuedLink<'a> {
    pub order: Uuid,
    /// The address that the mail is for, which the order keeps.
    pub buyer: &'a str,
    /// The number of the present link.
    pub previous: i32,
    /// The mails about the order so far, if no other may have been written meanwhile.
    pub mails: Option<i32>,
    /// The number of the link: that of the present one, which stays as it is, or one more.
    pub generation: i32,
    /// The downloads that it allows.
    pub downloads: u16,
    /// Its end.
    pub expires_at: Time,
    /// The mail with it.
    pub mail: NewMail,
}

/// Replaces the link of an order and queues its mail.
///
/// `false` if the order is refunded or another link was issued at the same time.
pub async fn issue_link(db: &mut Connection, link: &IssuedLink<'_>) -> Result<bool> {
    let mail = [link.mail.clone()];
    let bound = bind!(
        ISSUE_LINK,
        id: link.order,
        buyer: link.buyer,
        previous: link.previous,
        mails: link.mails,
        generation: link.generation,
        downloads: i32::from(link.downloads),
        expires_at: link.expires_at,
        mail_id: link.mail.id,
        mail: outbox::encode_rows(&mail),
    );
    db.fetch_one::<(bool,)>(bound).await.map(|(is_issued,)| is_issued)
}

/// Adds a queued mail to those of an order.
pub async fn add_mail(db: &mut Connection, id: Uuid, mail_id: Uuid) -> Result<()> {
    db.execute(bind!(ADD_MAIL, id, mail_id)).await.map(drop)
}

/// Counts a download; `false` if the link does not allow it.
pub async fn record_download(db: &mut Connection, id: Uuid, generation: i32, now: Time) -> Result<bool> {
    let counted: Option<(Uuid,)> = db.fetch_optional(bind!(DOWNLOAD, id, generation, now)).await?;
    Ok(counted.is_some())
}

/// Forgets what is needed to deliver a payment that waits for the owner; `false` if there is nothing.
pub async fn dismiss_held(db: &mut Connection, provider: Provider, event_id: &str) -> Result<bool> {
    let bound = bind!(DISMISS_HELD, provider: provider.name(), event_id);
    let dismissed: Option<(String,)> = db.fetch_optional(bound).await?;
    Ok(dismissed.is_some())
}

/// A key as it is stored.
struct StoredKey(DownloadKey);

impl FromRow<'_, PgRow> for StoredKey {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let key = DownloadKey::parse(row.try_get("secret")?);
        key.map(Self).ok_or_else(|| sqlx::Error::Decode("a download key is not 32 bytes in hexadecimal".into()))
    }
}

/// Returns the stored key of download links, or stores this one.
pub async fn find_or_insert_key(db: &mut Connection, secret: &str, now: Time) -> Result<DownloadKey> {
    let found: Option<StoredKey> = db.fetch_optional(bind!(FIND_OR_INSERT_KEY, secret, now)).await?;
    match found {
        Some(key) => Ok(key.0),
        // Another transaction has stored one in the meantime, which this statement did not see.
        None => db.fetch_one::<StoredKey>(bind!(FIND_OR_INSERT_KEY, secret, now)).await.map(|key| key.0),
    }
}
