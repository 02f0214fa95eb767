//! The statements of submissions: two for each. The first takes the limits, whose rows hold back another submission of the same
//! visitor until this one is decided; so the second sees whatever that one wrote.

use gotrue_rs::store::outbox::{self, NewMail};
use gotrue_rs::store::{Connection, Result, Statement};
use gotrue_rs::{args, outbox_insert};
use gotrue_rules::domain::user::Time;
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::limits::Limit;

/// A bucket that a submission takes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Charge {
    key: String,
    /// Seconds after which one more fits.
    refill: f64,
    /// Seconds in which an empty bucket fills.
    room: f64,
}

impl Charge {
    /// One out of the bucket `key`, kept to that limit.
    pub fn new(key: String, limit: &Limit) -> Self {
        Self { key, refill: limit.refill().as_secs_f64(), room: limit.per.as_secs_f64() }
    }
}

/// A bucket after a try.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Charged {
    /// What is limited and for whom.
    pub key: String,
    /// When the bucket is full again.
    pub full_at: Time,
    /// Nothing was taken, because nothing was left.
    pub refused: bool,
}

/// A submission that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Earlier {
    /// Its id.
    pub id: Uuid,
    /// Whether it says the same.
    pub is_same: bool,
}

/// What identifies a submission that is sent again.
#[derive(Debug, Clone, Copy)]
pub struct Repeat<'a> {
    /// The text.
    pub text: &'a str,
    /// The visitor's network.
    pub peer: &'a str,
    /// The key that the client gave it; then only that counts, among what the same visitor has sent.
    pub key: Option<&'a str>,
    /// Without a key: since when the same text of the same visitor is the same submission.
    pub since: Time,
}

/// What the first statement found.
#[derive(Debug)]
pub struct Entered {
    /// The buckets after the try, in no order.
    pub charged: Vec<Charged>,
    /// A submission that this one repeats.
    pub earlier: Option<Earlier>,
}

impl FromRow<'_, PgRow> for Entered {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let charged: Option<Json<Vec<Charged>>> = row.try_get("charged")?;
        let (id, is_same): (Option<Uuid>, Option<bool>) = (row.try_get("id")?, row.try_get("is_same")?);
        let earlier = id.zip(is_same).map(|(id, is_same)| Earlier { id, is_same });
        Ok(Self { charged: charged.map(|it| it.0).unwrap_or_default(), earlier })
    }
}

/// The submission that `$1` … `$4` (text, peer, key, since) repeat.
macro_rules! earlier {
    () => {
        "SELECT s.id, s.description = $1 AS is_same
         FROM basalt.submissions s
         WHERE s.peer = $2::text::cidr
           AND CASE WHEN $3::text IS NULL
                    THEN s.created_at > $4::timestamptz AND s.description = $1
                    ELSE s.idempotency_key = $3
               END
         LIMIT 1"
    };
}

const ENTER: Statement = Statement {
    name: "submissions.enter",
    sql: concat!(
        "WITH charged AS (
             INSERT INTO basalt.limits AS l (key, full_at, room)
             SELECT c.key, $6::timestamptz + make_interval(secs => c.refill), make_interval(secs => c.room)
             FROM jsonb_to_recordset($5) AS c (key text, refill double precision, room double precision)
             ORDER BY c.key
             ON CONFLICT (key) DO UPDATE
             SET full_at = CASE WHEN GREATEST(l.full_at, $6) + (excluded.full_at - $6) <= $6 + excluded.room
                                THEN GREATEST(l.full_at, $6) + (excluded.full_at - $6)
                                ELSE LEAST(l.full_at, $6 + excluded.room)
                           END,
                 room = excluded.room,
                 refused_at = CASE WHEN GREATEST(l.full_at, $6) + (excluded.full_at - $6) <= $6 + excluded.room
                                   THEN NULL
                                   ELSE $6
                              END
             RETURNING l.key, l.full_at, l.refused_at IS NOT NULL AS refused
         ), earlier AS (",
        earlier!(),
        ")
         SELECT (SELECT jsonb_agg(c) FROM charged c) AS charged,
                e.id,
                e.is_same
         FROM (VALUES (1)) AS always (one)
         LEFT JOIN earlier e ON true"
    ),
};

/// Takes from the buckets, waiting for others who do, and looks for what this submission repeats.
pub async fn enter(db: &mut Connection, repeat: Repeat<'_>, charges: &[Charge], now: Time) -> Result<Entered> {
    let values = args![repeat.text, repeat.peer, repeat.key, repeat.since, Json(charges), now];
    db.one(&ENTER, values).await
}

/// A submission to be stored.
#[derive(Debug)]
pub struct New<'a> {
    /// Its id.
    pub id: Uuid,
    /// When it came.
    pub now: Time,
    /// The account that was signed in.
    pub user: Option<Uuid>,
    /// Its text, where it came from, and its key.
    pub repeat: Repeat<'a>,
    /// The mail to the owner; at most one, none without an owner.
    pub notice: Vec<NewMail>,
    /// How many such mails may be written in an hour.
    pub notices_an_hour: u16,
    /// What the visitor is told: at most one mail.
    pub confirmation: Vec<NewMail>,
}

const INSERT: Statement = Statement {
    name: "submissions.insert",
    sql: concat!(
        "WITH earlier AS (",
        earlier!(),
        "), slot AS (
             UPDATE basalt.notice_slots
             SET free_at = $6::timestamptz + interval '1 hour'
             WHERE slot = (SELECT s.slot
                           FROM basalt.notice_slots s
                           WHERE s.slot <= $9 AND s.free_at <= $6 AND jsonb_array_length($10) > 0
                             AND NOT EXISTS (SELECT FROM earlier)
                           ORDER BY s.slot
                           LIMIT 1
                           FOR UPDATE SKIP LOCKED)
             RETURNING slot
         ), submission AS (
             INSERT INTO basalt.submissions (id, description, created_at, user_id, peer, idempotency_key, is_announced)
             SELECT $5, $1, $6, $7, $2::text::cidr, $3, jsonb_array_length($10) = 0 OR EXISTS (SELECT FROM slot)
             WHERE NOT EXISTS (SELECT FROM earlier)
             ON CONFLICT (peer, idempotency_key) DO NOTHING
             RETURNING id
         ), notice AS (",
        outbox_insert!(10, ", submission, slot"),
        "), confirmation AS (",
        outbox_insert!(8, ", submission"),
        ")
         SELECT id, true AS is_same FROM submission
         UNION ALL
         SELECT id, is_same FROM earlier"
    ),
};

/// Stores a submission with its mails, unless it is there already; then nothing is written. Where no more notices may be
/// written the owner is told of it by the next digest. Answers the submission that is there now, or none if one with the same
/// key came between.
pub async fn insert(db: &mut Connection, new: &New<'_>) -> Result<Option<Earlier>> {
    let Repeat { text, peer, key, since } = new.repeat;
    let (notice, confirmation) = (outbox::rows(&new.notice), outbox::rows(&new.confirmation));
    let slots = i32::from(new.notices_an_hour);
    let values = args![text, peer, key, since, new.id, new.now, new.user, confirmation, slots, notice];
    let row: Option<(Uuid, bool)> = db.optional(&INSERT, values).await?;
    Ok(row.map(|(id, is_same)| Earlier { id, is_same }))
}

const FIND: Statement = Statement { name: "submissions.find", sql: earlier!() };

/// The submission that this one repeats: for the rare case that it came between.
pub async fn find(db: &mut Connection, repeat: Repeat<'_>) -> Result<Option<Earlier>> {
    let row: Option<(Uuid, bool)> =
        db.optional(&FIND, args![repeat.text, repeat.peer, repeat.key, repeat.since]).await?;
    Ok(row.map(|(id, is_same)| Earlier { id, is_same }))
}

/// Submissions that no mail told of by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collected {
    /// How many.
    pub count: u64,
    /// When the first of them came.
    pub first: Time,
    /// When the last of them came.
    pub last: Time,
}

const ANNOUNCE_COLLECTED: Statement = Statement {
    name: "submissions.announce_collected",
    sql: "WITH announced AS (
              UPDATE basalt.submissions
              SET is_announced = true
              WHERE NOT is_announced
                AND EXISTS (SELECT FROM basalt.submissions o WHERE NOT o.is_announced AND o.created_at <= $1)
              RETURNING created_at
          )
          SELECT count(*) AS count,
                 min(created_at) AS first,
                 max(created_at) AS last
          FROM announced",
};

/// Marks all submissions that wait for a digest as told of, if the first of them came by `until`; of two servers at once one
/// finds them.
pub async fn announce_collected(db: &mut Connection, until: Time) -> Result<Option<Collected>> {
    let (count, first, last): (i64, Option<Time>, Option<Time>) = db.one(&ANNOUNCE_COLLECTED, args![until]).await?;
    let count = u64::try_from(count).unwrap_or_default();
    Ok(first.zip(last).map(|(first, last)| Collected { count, first, last }))
}

/// Every statement of submissions, for the test that prepares them.
pub const ALL: &[&Statement] = &[&ENTER, &INSERT, &FIND, &ANNOUNCE_COLLECTED];
