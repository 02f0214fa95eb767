//! The SQL statements of submissions: two for each submission.
//! The first takes tokens from the rate limits, whose row locks hold back another submission of the same visitor until
//! this transaction ends; the second therefore sees everything that the other one wrote. A submission that takes no token
//! holds back identical ones by an advisory lock.

use foundation::time::Time;
use platform::store::outbox::{self, NewMail};
use platform::store::{Connection, Result, Statement};
use platform::{bind, statements};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::limits::TokenBucketLimit;

statements! {
    ENTER = "submissions.enter": "
        WITH charged AS (
            INSERT INTO basalt.limits AS l (key, full_at, room)
            SELECT c.key, :now::timestamptz + make_interval(secs => c.refill), make_interval(secs => c.room)
            FROM jsonb_to_recordset(:charges) AS c (key text, refill double precision, room double precision)
            ORDER BY c.key
            ON CONFLICT (key) DO UPDATE
            SET full_at = CASE WHEN GREATEST(l.full_at, :now) + (excluded.full_at - :now) <= :now + excluded.room
                               THEN GREATEST(l.full_at, :now) + (excluded.full_at - :now)
                               ELSE LEAST(l.full_at, :now + excluded.room)
                          END,
                room = excluded.room,
                refused_at = CASE WHEN GREATEST(l.full_at, :now) + (excluded.full_at - :now) <= :now + excluded.room
                                  THEN NULL
                                  ELSE :now
                             END
            RETURNING l.key, l.full_at, l.refused_at IS NOT NULL AS refused
        ), locked AS MATERIALIZED (
            SELECT pg_advisory_xact_lock(hashtextextended(:peer::text || ' ' || :description, 12))
            WHERE jsonb_array_length(:charges) = 0 AND :key::text IS NULL
        ), earlier AS (
            SELECT s.id, s.description = :description AS is_same
            FROM basalt.submissions s
            WHERE s.peer = :peer::text::cidr
              AND CASE WHEN :key::text IS NULL
                       THEN s.created_at > :since::timestamptz AND s.description = :description
                       ELSE s.idempotency_key = :key
                  END
            LIMIT 1
        )
        SELECT (SELECT jsonb_agg(c) FROM charged c) AS charged,
               e.id,
               e.is_same,
               (SELECT count(*)
                FROM (SELECT
                      FROM basalt.submissions r
                      WHERE md5(r.description) = md5(:description)
                        AND r.created_at > :now::timestamptz - interval '1 day'
                        AND r.peer <> :peer::text::cidr
                      LIMIT 20) equal) AS repeats
        FROM (SELECT count(*) FROM locked) AS always (locks)
        LEFT JOIN earlier e ON true";

    #[proves(Message)]
    INSERT = "submissions.insert": "
        WITH earlier AS (
            SELECT s.id, s.description = :description AS is_same
            FROM basalt.submissions s
            WHERE s.peer = :peer::text::cidr
              AND CASE WHEN :key::text IS NULL
                       THEN s.created_at > :since::timestamptz AND s.description = :description
                       ELSE s.idempotency_key = :key
                  END
            LIMIT 1
        ), slot AS (
            UPDATE basalt.notice_slots
            SET free_at = :now::timestamptz + interval '1 hour'
            WHERE slot = (SELECT s.slot
                          FROM basalt.notice_slots s
                          WHERE s.slot <= :slots AND s.free_at <= :now AND jsonb_array_length(:notice) > 0
                            AND NOT EXISTS (SELECT FROM earlier)
                          ORDER BY s.slot
                          LIMIT 1
                          FOR UPDATE SKIP LOCKED)
            RETURNING slot
        ), submission AS (
            INSERT INTO basalt.submissions (id, description, created_at, user_id, peer, idempotency_key,
                                            is_announced, template, account_email, senders, status, spam_score)
            SELECT :id, :description, :now, :user_id, :peer::text::cidr, :key,
                   jsonb_array_length(:notice) = 0 OR EXISTS (SELECT FROM slot),
                   :template, :account_email, :senders, CASE WHEN :is_spam THEN 'spam' ELSE 'new' END, :spam_score
            WHERE NOT EXISTS (SELECT FROM earlier)
            ON CONFLICT (peer, idempotency_key) DO NOTHING
            RETURNING id
        ), notice AS (
            INSERT INTO basalt.outbox (id, purpose, recipient, subject, html, text, headers, code, link, message_id,
                                       created_at, attempts, next_attempt_at, give_up_at, sent_at, sent_to)
            SELECT m.id, m.purpose, m.recipient, m.subject, m.html, m.text, m.headers, m.code, m.link, m.message_id,
                   m.created_at, 0, m.created_at, m.give_up_at, m.sent_at, m.sent_to
            FROM jsonb_to_recordset(:notice) AS m (
                id uuid, purpose text, recipient text, subject text, html text, text text, headers jsonb, code text,
                link text, message_id text, created_at timestamptz, give_up_at timestamptz, sent_at timestamptz,
                sent_to text
            ), submission, slot
            RETURNING id, recipient, subject, message_id, created_at
        ), confirmation AS (
            INSERT INTO basalt.outbox (id, purpose, recipient, subject, html, text, headers, code, link, message_id,
                                       created_at, attempts, next_attempt_at, give_up_at, sent_at, sent_to)
            SELECT m.id, m.purpose, m.recipient, m.subject, m.html, m.text, m.headers, m.code, m.link, m.message_id,
                   m.created_at, 0, m.created_at, m.give_up_at, m.sent_at, m.sent_to
            FROM jsonb_to_recordset(:confirmation) AS m (
                id uuid, purpose text, recipient text, subject text, html text, text text, headers jsonb, code text,
                link text, message_id text, created_at timestamptz, give_up_at timestamptz, sent_at timestamptz,
                sent_to text
            ), submission
            RETURNING id, recipient, subject, message_id, created_at
        ), message AS (
            INSERT INTO basalt.submission_messages (id, submission, kind, recipient, subject, message_id, created_at)
            SELECT m.id, s.id, m.kind, m.recipient, m.subject, m.message_id, m.created_at
            FROM submission s
            CROSS JOIN (SELECT *, 'notice' AS kind FROM notice
                        UNION ALL
                        SELECT *, 'confirmation' FROM confirmation) m
        ), event AS (
            INSERT INTO basalt.submission_events (id, submission, created_at, next_attempt_at)
            SELECT :event, s.id, :now, :now
            FROM submission s
            WHERE :event::uuid IS NOT NULL
        )
        SELECT id, true AS is_same FROM submission
        UNION ALL
        SELECT id, is_same FROM earlier";

    /// The submission that repeats `:description` of `:peer` since `:since`, or `:key`. The other statements contain it: if
    /// they found another one, a repeated submission would be stored twice.
    #[repeatable]
    FIND = "submissions.find": "
        SELECT s.id, s.description = :description AS is_same
        FROM basalt.submissions s
        WHERE s.peer = :peer::text::cidr
          AND CASE WHEN :key::text IS NULL
                   THEN s.created_at > :since::timestamptz AND s.description = :description
                   ELSE s.idempotency_key = :key
              END
        LIMIT 1";

    ANNOUNCE_COLLECTED = "submissions.announce_collected":
        "WITH announced AS (
             UPDATE basalt.submissions
             SET is_announced = true
             WHERE NOT is_announced
               AND EXISTS (SELECT FROM basalt.submissions o WHERE NOT o.is_announced AND o.created_at <= :until)
             RETURNING created_at
         )
         SELECT count(*) AS count,
                min(created_at) AS first,
                max(created_at) AS last
         FROM announced";
}

/// A bucket that a submission takes a token from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BucketCharge {
    key: String,
    /// Seconds in which one token is refilled.
    refill: f64,
    /// Seconds in which an empty bucket fills.
    room: f64,
}

impl BucketCharge {
    /// Takes one token from the bucket `key`, subject to `limit`.
    pub fn new(key: String, limit: &TokenBucketLimit) -> Self {
        Self { key, refill: limit.refill_interval().as_secs_f64(), room: limit.per.as_secs_f64() }
    }
}

/// The state of a bucket after an attempt to take a token.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BucketState {
    /// The key: the kind of limit and its subject.
    pub key: String,
    /// When the bucket is full again.
    pub full_at: Time,
    /// Whether the bucket was empty, so that nothing was taken.
    pub refused: bool,
}

/// A stored submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlierSubmission {
    /// Its id.
    pub id: Uuid,
    /// Whether its text is the same.
    pub is_same: bool,
}

/// The identity of a repeated submission.
#[derive(Debug, Clone, Copy)]
pub struct RepeatCriteria<'a> {
    pub text: &'a str,
    /// The visitor's network.
    pub peer: &'a str,
    /// The idempotency key of the client; if given, it alone identifies a submission of this visitor.
    pub key: Option<&'a str>,
    /// Without a key: the time since which identical text of the same visitor is the same submission.
    pub since: Time,
}

/// The result of the first statement.
#[derive(Debug)]
pub struct LimitResult {
    /// The state of the buckets, in no particular order.
    pub charged: Vec<BucketState>,
    /// The submission that this one repeats.
    pub earlier: Option<EarlierSubmission>,
    /// The number of equal texts from other networks within a day, at most 20.
    pub repeats: i64,
}

impl FromRow<'_, PgRow> for LimitResult {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let charged: Option<Json<Vec<BucketState>>> = row.try_get("charged")?;
        let (id, is_same): (Option<Uuid>, Option<bool>) = (row.try_get("id")?, row.try_get("is_same")?);
        let earlier = id.zip(is_same).map(|(id, is_same)| EarlierSubmission { id, is_same });
        let repeats = row.try_get("repeats")?;
        Ok(Self { charged: charged.map(|buckets| buckets.0).unwrap_or_default(), earlier, repeats })
    }
}

/// Takes tokens from the buckets and finds the submission that this one repeats.
/// Waits for concurrent transactions on the same buckets; without buckets, for those of the same text of this visitor.
pub async fn take_limits(
    db: &mut Connection,
    repeat: RepeatCriteria<'_>,
    charges: &[BucketCharge],
    now: Time,
) -> Result<LimitResult> {
    let bound = bind!(
        ENTER,
        description: repeat.text,
        peer: repeat.peer,
        key: repeat.key,
        since: repeat.since,
        charges: Json(charges),
        now,
    );
    db.fetch_one(bound).await
}

/// A submission to store.
#[derive(Debug)]
pub struct NewSubmission<'a> {
    /// Its id.
    pub id: Uuid,
    /// The time of the submission.
    pub now: Time,
    /// The signed-in user.
    pub user: Option<Uuid>,
    /// The address of that user.
    pub account_email: Option<&'a str>,
    /// The addresses in the text.
    pub senders: Vec<String>,
    /// The id of the template that it is about.
    pub template: Option<u16>,
    /// Its text, its origin and its key.
    pub repeat: RepeatCriteria<'a>,
    pub spam_score: u8,
    /// Whether it is stored as spam, which has no mails.
    pub is_spam: bool,
    /// The id of the event for the owner's webhook.
    pub event: Option<Uuid>,
    /// The mail to the owner; at most one, none without an owner.
    pub notice: Vec<NewMail>,
    /// Limit of such mails per hour.
    pub notices_per_hour: u16,
    /// The confirmation to the visitor; at most one mail.
    pub confirmation: Vec<NewMail>,
}

/// Stores a submission with its mails, unless it is stored already; then nothing is written.
/// Above the limit of notices, the next digest reports the submission to the owner. Returns the submission that is
/// stored now, or `None` if one with the same key was inserted concurrently.
pub async fn insert(db: &mut Connection, new: &NewSubmission<'_>) -> Result<Option<EarlierSubmission>> {
    let RepeatCriteria { text, peer, key, since } = new.repeat;
    let (notice, confirmation) = (outbox::encode_rows(&new.notice), outbox::encode_rows(&new.confirmation));
    let slots = i32::from(new.notices_per_hour);
    let bound = bind!(
        INSERT,
        description: text,
        peer,
        key,
        since,
        id: new.id,
        now: new.now,
        user_id: new.user,
        account_email: new.account_email,
        senders: new.senders.as_slice(),
        is_spam: new.is_spam,
        event: new.event,
        spam_score: i32::from(new.spam_score),
        confirmation,
        slots,
        notice,
        template: new.template.map(i32::from),
    );
    let row: Option<(Uuid, bool)> = db.fetch_optional(bound).await?;
    Ok(row.map(|(id, is_same)| EarlierSubmission { id, is_same }))
}

/// Finds the submission that this one repeats, for the rare case of a concurrent insert.
pub async fn find(db: &mut Connection, repeat: RepeatCriteria<'_>) -> Result<Option<EarlierSubmission>> {
    let bound = bind!(
        FIND,
        description: repeat.text,
        peer: repeat.peer,
        key: repeat.key,
        since: repeat.since,
    );
    let row: Option<(Uuid, bool)> = db.fetch_optional(bound).await?;
    Ok(row.map(|(id, is_same)| EarlierSubmission { id, is_same }))
}

/// Submissions without a mail of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectedSubmissions {
    /// Their number.
    pub count: u64,
    /// The time of the first one.
    pub first: Time,
    /// The time of the last one.
    pub last: Time,
}

/// Marks all submissions that wait for a digest as announced, if the first came by `until`.
/// Of two concurrent servers, only one receives them.
pub async fn mark_collected(db: &mut Connection, until: Time) -> Result<Option<CollectedSubmissions>> {
    let (count, first, last): (i64, Option<Time>, Option<Time>) =
        db.fetch_one(bind!(ANNOUNCE_COLLECTED, until)).await?;
    let count = u64::try_from(count).unwrap_or_default();
    Ok(first.zip(last).map(|(first, last)| CollectedSubmissions { count, first, last }))
}

/// Returns all statements of submissions, for the test that prepares them.
pub fn list_statements() -> Vec<&'static Statement> {
    STATEMENTS.list()
}
