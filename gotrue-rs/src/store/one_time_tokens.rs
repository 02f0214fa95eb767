//! `auth.one_time_tokens` and the columns of `auth.users` that hold the same hashes.
//!
//! Only this file writes both copies of a pending token. The row is inserted from `u`, or PostgreSQL would insert it before
//! the user is locked.

use foundation::time::Time;
use gotrue_rules::domain::one_time_token::{LinkToken, OneTimeTokenKind, TokenHash};
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::User;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use uuid::Uuid;

use super::audit::{AuditArrays, AuditRow};
use super::rows::{UserRow, account_columns};

statements! {
    #[proves(Audit, SecretIssued)]
    ISSUE_CONFIRMATION = "one_time_tokens.issue_confirmation": "
        WITH u AS (
            UPDATE users
            SET confirmation_token = :hash, confirmation_sent_at = :now, updated_at = :now
            WHERE id = :user_id
            RETURNING id
        ), o AS (
            INSERT INTO one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at)
            SELECT :token_id, u.id, :token_type::one_time_token_type, :hash, :relates_to,
                   :now::timestamptz AT TIME ZONE 'utc',
                   :now::timestamptz AT TIME ZONE 'utc'
            FROM u
            ON CONFLICT (user_id, token_type) DO UPDATE
            SET id = EXCLUDED.id,
                token_hash = EXCLUDED.token_hash,
                relates_to = EXCLUDED.relates_to,
                created_at = EXCLUDED.created_at,
                updated_at = EXCLUDED.updated_at
        )
        INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
        SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
        FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                    :audit_addresses::text[]) AS e (id, payload, at, address)";

    /// A repeated invitation also updates `invited_at`.
    #[proves(Audit, SecretIssued)]
    ISSUE_INVITATION = "one_time_tokens.issue_invitation": "
        WITH u AS (
            UPDATE users
            SET confirmation_token = :hash, confirmation_sent_at = :now, invited_at = :now, updated_at = :now
            WHERE id = :user_id
            RETURNING id
        ), o AS (
            INSERT INTO one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at)
            SELECT :token_id, u.id, :token_type::one_time_token_type, :hash, :relates_to,
                   :now::timestamptz AT TIME ZONE 'utc',
                   :now::timestamptz AT TIME ZONE 'utc'
            FROM u
            ON CONFLICT (user_id, token_type) DO UPDATE
            SET id = EXCLUDED.id,
                token_hash = EXCLUDED.token_hash,
                relates_to = EXCLUDED.relates_to,
                created_at = EXCLUDED.created_at,
                updated_at = EXCLUDED.updated_at
        )
        INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
        SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
        FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                    :audit_addresses::text[]) AS e (id, payload, at, address)";

    #[proves(Audit, SecretIssued)]
    ISSUE_RECOVERY = "one_time_tokens.issue_recovery": "
        WITH u AS (
            UPDATE users
            SET recovery_token = :hash, recovery_sent_at = :now, updated_at = :now
            WHERE id = :user_id
            RETURNING id
        ), o AS (
            INSERT INTO one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at)
            SELECT :token_id, u.id, :token_type::one_time_token_type, :hash, :relates_to,
                   :now::timestamptz AT TIME ZONE 'utc',
                   :now::timestamptz AT TIME ZONE 'utc'
            FROM u
            ON CONFLICT (user_id, token_type) DO UPDATE
            SET id = EXCLUDED.id,
                token_hash = EXCLUDED.token_hash,
                relates_to = EXCLUDED.relates_to,
                created_at = EXCLUDED.created_at,
                updated_at = EXCLUDED.updated_at
        )
        INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
        SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
        FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                    :audit_addresses::text[]) AS e (id, payload, at, address)";

    #[proves(Audit, SecretIssued)]
    ISSUE_REAUTHENTICATION = "one_time_tokens.issue_reauthentication": "
        WITH u AS (
            UPDATE users
            SET reauthentication_token = :hash, reauthentication_sent_at = :now, updated_at = :now
            WHERE id = :user_id
            RETURNING id
        ), o AS (
            INSERT INTO one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at)
            SELECT :token_id, u.id, :token_type::one_time_token_type, :hash, :relates_to,
                   :now::timestamptz AT TIME ZONE 'utc',
                   :now::timestamptz AT TIME ZONE 'utc'
            FROM u
            ON CONFLICT (user_id, token_type) DO UPDATE
            SET id = EXCLUDED.id,
                token_hash = EXCLUDED.token_hash,
                relates_to = EXCLUDED.relates_to,
                created_at = EXCLUDED.created_at,
                updated_at = EXCLUDED.updated_at
        )
        INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
        SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
        FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                    :audit_addresses::text[]) AS e (id, payload, at, address)";

    /// The pending address is the one that the code was sent to.
    #[proves(Audit, SecretIssued)]
    ISSUE_EMAIL_CHANGE = "one_time_tokens.issue_email_change": "
        WITH u AS (
            UPDATE users
            SET email_change_token_new = :hash, email_change_sent_at = :now,
                email_change = :relates_to, email_change_confirm_status = 0, updated_at = :now
            WHERE id = :user_id
            RETURNING id
        ), o AS (
            INSERT INTO one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at)
            SELECT :token_id, u.id, :token_type::one_time_token_type, :hash, :relates_to,
                   :now::timestamptz AT TIME ZONE 'utc',
                   :now::timestamptz AT TIME ZONE 'utc'
            FROM u
            ON CONFLICT (user_id, token_type) DO UPDATE
            SET id = EXCLUDED.id,
                token_hash = EXCLUDED.token_hash,
                relates_to = EXCLUDED.relates_to,
                created_at = EXCLUDED.created_at,
                updated_at = EXCLUDED.updated_at
        )
        INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
        SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
        FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                    :audit_addresses::text[]) AS e (id, payload, at, address)";

    /// The pending number is the one that the code was sent to.
    #[proves(Audit, SecretIssued)]
    ISSUE_PHONE_CHANGE = "one_time_tokens.issue_phone_change": "
        WITH u AS (
            UPDATE users
            SET phone_change_token = :hash, phone_change_sent_at = :now,
                phone_change = :relates_to, updated_at = :now
            WHERE id = :user_id
            RETURNING id
        ), o AS (
            INSERT INTO one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at)
            SELECT :token_id, u.id, :token_type::one_time_token_type, :hash, :relates_to,
                   :now::timestamptz AT TIME ZONE 'utc',
                   :now::timestamptz AT TIME ZONE 'utc'
            FROM u
            ON CONFLICT (user_id, token_type) DO UPDATE
            SET id = EXCLUDED.id,
                token_hash = EXCLUDED.token_hash,
                relates_to = EXCLUDED.relates_to,
                created_at = EXCLUDED.created_at,
                updated_at = EXCLUDED.updated_at
        )
        INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
        SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
        FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                    :audit_addresses::text[]) AS e (id, payload, at, address)";

    CONSUME_REAUTHENTICATION = "one_time_tokens.consume_reauthentication":
        "WITH u AS (
             UPDATE users
             SET reauthentication_token = '', updated_at = :now
             WHERE id = :user_id
               AND reauthentication_token = :hash
             RETURNING id
         ), o AS (
             DELETE FROM one_time_tokens
             WHERE user_id = (SELECT id FROM u)
               AND token_type = 'reauthentication_token'
         )
         SELECT count(*) = 1 FROM u";

    /// A row whose id is of version 8 is found by its link only with the id, any other only without one.
    #[repeatable]
    FIND_USER = "one_time_tokens.find_user": concat!(
        "SELECT ",
        account_columns!(),
        "
         FROM one_time_tokens o
         JOIN users u ON u.id = o.user_id
         WHERE o.token_hash = ANY(:hashes)
           AND CASE
                   WHEN :is_code::boolean THEN true
                   WHEN substr(o.id::text, 15, 1) = '8' THEN o.id = :row_id::uuid
                   ELSE :row_id::uuid IS NULL
               END
           AND o.token_type::text = ANY(:token_types)
           AND u.instance_id = '00000000-0000-0000-0000-000000000000'
         ORDER BY array_position(:token_types, o.token_type::text)
         LIMIT 1"
    );
}

/// A token to store.
#[derive(Debug)]
pub struct NewOneTimeToken<'a> {
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

/// Binds a [`NewOneTimeToken`] to the statement of its purpose.
macro_rules! bind_issue {
    ($statement:ident, $issued:ident) => {{
        let audit = AuditArrays::from_rows($issued.audit);
        bind!(
            $statement,
            user_id: $issued.user_id,
            hash: $issued.hash,
            token_type: $issued.purpose.token_kind().column(),
            relates_to: $issued.relates_to,
            token_id: $issued.id,
            now: $issued.now,
            ..audit,
        )
    }};
}

/// Stores a token in both tables, with its time of sending.
pub async fn issue(db: &mut Connection, issued: NewOneTimeToken<'_>) -> Result<()> {
    let bound = match issued.purpose {
        Purpose::SignUp | Purpose::Sms => bind_issue!(ISSUE_CONFIRMATION, issued),
        Purpose::Invite => bind_issue!(ISSUE_INVITATION, issued),
        Purpose::MagicLink | Purpose::Recovery => bind_issue!(ISSUE_RECOVERY, issued),
        Purpose::Reauthentication => bind_issue!(ISSUE_REAUTHENTICATION, issued),
        Purpose::EmailChange => bind_issue!(ISSUE_EMAIL_CHANGE, issued),
        Purpose::PhoneChange => bind_issue!(ISSUE_PHONE_CHANGE, issued),
    };
    db.execute(bound).await?;
    Ok(())
}

/// Consumes the reauthentication code; false if it was gone. Of two concurrent calls one succeeds.
pub async fn consume_reauthentication(db: &mut Connection, user_id: Uuid, stored: &str, now: Time) -> Result<bool> {
    let (won,): (bool,) = db.fetch_one(bind!(CONSUME_REAUTHENTICATION, user_id, hash: stored, now)).await?;
    Ok(won)
}

/// Returns the user with exactly this token of a link pending in one of the slots.
pub async fn find_user_by_link(
    db: &mut Connection,
    link: &LinkToken,
    slots: &[OneTimeTokenKind],
) -> Result<Option<User>> {
    find_user_by_hashes(db, vec![link.hash().as_str().to_owned()], Presented::Link(link.row_id()), slots).await
}

/// Returns the user with this code's hash, with or without PKCE prefix, pending in one of the slots.
pub async fn find_user_by_code(
    db: &mut Connection,
    hash: &TokenHash,
    slots: &[OneTimeTokenKind],
) -> Result<Option<User>> {
    let prefixed = hash.clone().with_pkce(true);
    let hashes = vec![hash.as_str().to_owned(), prefixed.as_str().to_owned()];
    find_user_by_hashes(db, hashes, Presented::Code, slots).await
}

/// What a request presents.
#[derive(Clone, Copy)]
enum Presented {
    /// A link, with the id of its row if it has one.
    Link(Option<Uuid>),
    /// A code, with its recipient.
    Code,
}

async fn find_user_by_hashes(
    db: &mut Connection,
    hashes: Vec<String>,
    presented: Presented,
    slots: &[OneTimeTokenKind],
) -> Result<Option<User>> {
    let types: Vec<&str> = slots.iter().map(|slot| slot.column()).collect();
    let row_id = match presented {
        Presented::Link(row_id) => row_id,
        Presented::Code => None,
    };
    let bound = bind!(
        FIND_USER,
        hashes,
        row_id,
        is_code: matches!(presented, Presented::Code),
        token_types: types,
    );
    let row: Option<UserRow> = db.fetch_optional(bound).await?;
    Ok(row.map(|row| row.0))
}
