//! `auth.one_time_tokens` and the columns of `auth.users` that hold the same hashes.
//!
//! Only this file writes both copies of a pending token.

use gotrue_rules::domain::one_time_token::{OneTimeTokenKind, TokenHash};
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::{Time, User};
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::rows::{AccountRow, account_columns};
use super::statement::{Connection, Statement, args};

/// A token to store.
#[derive(Debug)]
pub struct NewOneTimeToken<'a> {
    /// The user.
    pub user_id: Uuid,
    /// The purpose; a pending token of the same slot is replaced.
    pub purpose: Purpose,
    /// The hash, with the prefix `pkce_` for a PKCE flow.
    pub hash: &'a str,
    /// The address or number that it was sent to, lower case.
    pub relates_to: &'a str,
    /// The id of the row.
    pub id: Uuid,
    /// The time of sending.
    pub now: Time,
    /// Audit rows of the request.
    pub audit: Vec<AuditRow>,
}

/// Locks the user before its tokens: `o` reads from `u`, or PostgreSQL would run it first.
macro_rules! issue {
    ($column:literal, $sent_at:literal) => {
        issue!($column, $sent_at, "")
    };
    ($column:literal, $sent_at:literal, $more:literal) => {
        concat!(
            "WITH u AS (
                 UPDATE users SET ", $column, " = $2, ", $sent_at, " = $6, ", $more, "updated_at = $6 WHERE id = $1 RETURNING id
             ), o AS (
                 INSERT INTO one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at)
                 SELECT $5, u.id, $3::one_time_token_type, $2, $4, $6::timestamptz AT TIME ZONE 'utc',
                        $6::timestamptz AT TIME ZONE 'utc'
                 FROM u
                 ON CONFLICT (user_id, token_type) DO UPDATE
                 SET id = EXCLUDED.id,
                     token_hash = EXCLUDED.token_hash,
                     relates_to = EXCLUDED.relates_to,
                     created_at = EXCLUDED.created_at,
                     updated_at = EXCLUDED.updated_at
             )
             ", audit_insert!(7, 8, 9, 10)
        )
    };
}

const ISSUE_CONFIRMATION: Statement =
    Statement { name: "one_time_tokens.issue_confirmation", sql: issue!("confirmation_token", "confirmation_sent_at") };
/// A repeated invitation also updates `invited_at`.
const ISSUE_INVITATION: Statement = Statement {
    name: "one_time_tokens.issue_invitation",
    sql: issue!("confirmation_token", "confirmation_sent_at", "invited_at = $6, "),
};
const ISSUE_RECOVERY: Statement =
    Statement { name: "one_time_tokens.issue_recovery", sql: issue!("recovery_token", "recovery_sent_at") };
const ISSUE_REAUTHENTICATION: Statement = Statement {
    name: "one_time_tokens.issue_reauthentication",
    sql: issue!("reauthentication_token", "reauthentication_sent_at"),
};
/// The pending address is the one that the code was sent to.
const ISSUE_EMAIL_CHANGE: Statement = Statement {
    name: "one_time_tokens.issue_email_change",
    sql: issue!(
        "email_change_token_new",
        "email_change_sent_at",
        "email_change = $4, email_change_confirm_status = 0, "
    ),
};
/// The pending number is the one that the code was sent to.
const ISSUE_PHONE_CHANGE: Statement = Statement {
    name: "one_time_tokens.issue_phone_change",
    sql: issue!("phone_change_token", "phone_change_sent_at", "phone_change = $4, "),
};

/// Stores a token in both tables, with its time of sending.
pub async fn issue(db: &mut Connection, issued: NewOneTimeToken<'_>) -> Result<()> {
    let statement = match issued.purpose {
        Purpose::SignUp | Purpose::Sms => &ISSUE_CONFIRMATION,
        Purpose::Invite => &ISSUE_INVITATION,
        Purpose::MagicLink | Purpose::Recovery => &ISSUE_RECOVERY,
        Purpose::Reauthentication => &ISSUE_REAUTHENTICATION,
        Purpose::EmailChange => &ISSUE_EMAIL_CHANGE,
        Purpose::PhoneChange => &ISSUE_PHONE_CHANGE,
    };
    let audit = AuditArrays::from_rows(issued.audit);
    let values = args![
        issued.user_id,
        issued.hash,
        issued.purpose.token_kind().column(),
        issued.relates_to,
        issued.id,
        issued.now,
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
    ];
    db.execute(statement, values).await?;
    Ok(())
}

const CONSUME_REAUTHENTICATION: Statement = Statement {
    name: "one_time_tokens.use_up_reauthentication",
    sql: "WITH u AS (
              UPDATE users
              SET reauthentication_token = '', updated_at = $3
              WHERE id = $1
                AND reauthentication_token = $2
              RETURNING id
          ), o AS (
              DELETE FROM one_time_tokens
              WHERE user_id = (SELECT id FROM u)
                AND token_type = 'reauthentication_token'
          )
          SELECT count(*) = 1 FROM u",
};

/// Consumes the reauthentication code; false if it was gone. Of two concurrent calls one succeeds.
pub async fn consume_reauthentication(db: &mut Connection, user_id: Uuid, stored: &str, now: Time) -> Result<bool> {
    let (won,): (bool,) = db.fetch_one(&CONSUME_REAUTHENTICATION, args![user_id, stored, now]).await?;
    Ok(won)
}

const FIND_USER: Statement = Statement {
    name: "one_time_tokens.account_of",
    sql: concat!(
        "SELECT ",
        account_columns!(),
        "
         FROM one_time_tokens o
         JOIN users u ON u.id = o.user_id
         WHERE o.token_hash = ANY($1)
           AND o.token_type::text = ANY($2)
           AND u.instance_id = '00000000-0000-0000-0000-000000000000'
         ORDER BY array_position($2, o.token_type::text)
         LIMIT 1"
    ),
};

/// Returns the user with exactly this hash pending in one of the slots.
pub async fn find_user_by_hash(db: &mut Connection, hash: &str, slots: &[OneTimeTokenKind]) -> Result<Option<User>> {
    find_user_by_hashes(db, vec![hash.to_owned()], slots).await
}

/// Returns the user with this code's hash, with or without PKCE prefix, pending in one of the slots.
pub async fn find_user_by_code(
    db: &mut Connection,
    hash: &TokenHash,
    slots: &[OneTimeTokenKind],
) -> Result<Option<User>> {
    let prefixed = hash.clone().with_pkce(true);
    find_user_by_hashes(db, vec![hash.as_str().to_owned(), prefixed.as_str().to_owned()], slots).await
}

async fn find_user_by_hashes(
    db: &mut Connection,
    hashes: Vec<String>,
    slots: &[OneTimeTokenKind],
) -> Result<Option<User>> {
    let types: Vec<&str> = slots.iter().map(|slot| slot.column()).collect();
    let row: Option<AccountRow> = db.fetch_optional(&FIND_USER, args![hashes, types]).await?;
    Ok(row.map(|row| row.0))
}

/// All statements of this table.
pub const ALL: &[&Statement] = &[
    &ISSUE_CONFIRMATION,
    &ISSUE_INVITATION,
    &ISSUE_RECOVERY,
    &ISSUE_REAUTHENTICATION,
    &ISSUE_EMAIL_CHANGE,
    &ISSUE_PHONE_CHANGE,
    &CONSUME_REAUTHENTICATION,
    &FIND_USER,
];
