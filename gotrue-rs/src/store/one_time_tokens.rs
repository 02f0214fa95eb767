//! `auth.one_time_tokens` and the columns of `auth.users` that hold the same hashes. Only this file knows that a
//! secret has two homes.

use gotrue_rules::domain::one_time_token::{Slot, TokenHash};
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::{Account, Time};
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::rows::{AccountRow, account_columns};
use super::statement::{Connection, Statement, args};

/// A secret to be stored.
#[derive(Debug)]
pub struct Issued<'a> {
    /// Whose it is.
    pub user_id: Uuid,
    /// What it is for; what stood in its slot is replaced.
    pub purpose: Purpose,
    /// The hash, with `pkce_` in front where the flow is PKCE.
    pub hash: &'a str,
    /// The address or number it went to, lower case.
    pub relates_to: &'a str,
    /// The id of the row.
    pub id: Uuid,
    /// When it was sent.
    pub now: Time,
    /// What the audit log is told.
    pub audit: Vec<AuditRow>,
}

/// The account is locked before its secrets are: `o` reads from `u`, or PostgreSQL would run it first.
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
/// An account that is invited once more was invited then.
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
/// The pending address is the one that the code went to.
const ISSUE_EMAIL_CHANGE: Statement = Statement {
    name: "one_time_tokens.issue_email_change",
    sql: issue!(
        "email_change_token_new",
        "email_change_sent_at",
        "email_change = $4, email_change_confirm_status = 0, "
    ),
};
/// The pending number is the one that the code went to.
const ISSUE_PHONE_CHANGE: Statement = Statement {
    name: "one_time_tokens.issue_phone_change",
    sql: issue!("phone_change_token", "phone_change_sent_at", "phone_change = $4, "),
};

/// Stores a secret in both homes and starts its clock.
pub async fn issue(db: &mut Connection, issued: Issued<'_>) -> Result<()> {
    let statement = match issued.purpose {
        Purpose::SignUp | Purpose::Sms => &ISSUE_CONFIRMATION,
        Purpose::Invite => &ISSUE_INVITATION,
        Purpose::MagicLink | Purpose::Recovery => &ISSUE_RECOVERY,
        Purpose::Reauthentication => &ISSUE_REAUTHENTICATION,
        Purpose::EmailChange => &ISSUE_EMAIL_CHANGE,
        Purpose::PhoneChange => &ISSUE_PHONE_CHANGE,
    };
    let audit = AuditArrays::of(issued.audit);
    let values = args![
        issued.user_id,
        issued.hash,
        issued.purpose.slot().column(),
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

const USE_UP_REAUTHENTICATION: Statement = Statement {
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

/// Uses the code of a reauthentication up: whether it was still there. Of two at once, one wins.
pub async fn use_up_reauthentication(db: &mut Connection, user_id: Uuid, stored: &str, now: Time) -> Result<bool> {
    let (won,): (bool,) = db.one(&USE_UP_REAUTHENTICATION, args![user_id, stored, now]).await?;
    Ok(won)
}

const ACCOUNT_OF: Statement = Statement {
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

/// The account whose pending secret in one of these slots has exactly this hash.
pub async fn account_of(db: &mut Connection, hash: &str, slots: &[Slot]) -> Result<Option<Account>> {
    account_of_any(db, vec![hash.to_owned()], slots).await
}

/// The account whose pending secret in one of these slots is that of a code: with or without the PKCE prefix.
pub async fn account_of_code(db: &mut Connection, hash: &TokenHash, slots: &[Slot]) -> Result<Option<Account>> {
    let prefixed = hash.clone().for_flow(true);
    account_of_any(db, vec![hash.as_str().to_owned(), prefixed.as_str().to_owned()], slots).await
}

async fn account_of_any(db: &mut Connection, hashes: Vec<String>, slots: &[Slot]) -> Result<Option<Account>> {
    let types: Vec<&str> = slots.iter().map(|slot| slot.column()).collect();
    let row: Option<AccountRow> = db.optional(&ACCOUNT_OF, args![hashes, types]).await?;
    Ok(row.map(|row| row.0))
}

/// Every statement of this table.
pub const ALL: &[&Statement] = &[
    &ISSUE_CONFIRMATION,
    &ISSUE_INVITATION,
    &ISSUE_RECOVERY,
    &ISSUE_REAUTHENTICATION,
    &ISSUE_EMAIL_CHANGE,
    &ISSUE_PHONE_CHANGE,
    &USE_UP_REAUTHENTICATION,
    &ACCOUNT_OF,
];
