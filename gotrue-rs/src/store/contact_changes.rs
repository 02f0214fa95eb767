//! Pending and completed changes of a user's address or number.
//!
//! The resulting user is computed by `contact_change` of `gotrue-rules`. The statements write it if the pending tokens
//! are unchanged.

use foundation::time::Time;
use gotrue_rules::domain::one_time_token::OneTimeTokenKind;
use gotrue_rules::domain::user::{Identity, User};
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use serde_json::Value;
use uuid::Uuid;

use super::audit::{AuditArrays, AuditRow};

statements! {
    /// Locks the user before its tokens: every other part reads from `u`.
    #[proves(SecretIssued)]
    STORE_EMAIL_CHANGE = "contact_changes.store_email_change":
        "WITH u AS (
             UPDATE users
             SET email_change = :new_email,
                 email_change_token_new = :new_hash,
                 email_change_token_current = COALESCE(:current_hash, ''),
                 email_change_confirm_status = 0,
                 email_change_sent_at = :now,
                 updated_at = :now
             WHERE id = :user_id
             RETURNING id
         ), o AS (
             DELETE FROM one_time_tokens
             WHERE user_id = (SELECT id FROM u)
               AND token_type = 'email_change_token_current'
               AND :current_hash::text IS NULL
         )
         INSERT INTO one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at)
         SELECT it.id, u.id, it.slot::one_time_token_type, it.hash, it.address, :now::timestamptz AT TIME ZONE 'utc',
                :now::timestamptz AT TIME ZONE 'utc'
         FROM u CROSS JOIN (
             VALUES (:new_id::uuid, 'email_change_token_new', :new_hash::text, :new_email::text),
                    (:current_id::uuid, 'email_change_token_current', :current_hash::text, :current_email::text)
         ) AS it (id, slot, hash, address)
         WHERE it.hash IS NOT NULL
         ON CONFLICT (user_id, token_type) DO UPDATE
         SET id = EXCLUDED.id,
             token_hash = EXCLUDED.token_hash,
             relates_to = EXCLUDED.relates_to,
             created_at = EXCLUDED.created_at,
             updated_at = EXCLUDED.updated_at";

    /// The other token stays valid only if it belongs to the same new address.
    ///
    /// Otherwise a link for one address would confirm another.
    #[proves(SecretIssued)]
    STORE_EMAIL_CHANGE_HALF = "contact_changes.store_email_change_half":
        "WITH before AS (
             SELECT id, email_change FROM users WHERE id = :user_id FOR UPDATE
         ), u AS (
             UPDATE users
             SET email_change = :new_email::text,
                 email_change_token_new =
                     CASE WHEN :token_type::text = 'email_change_token_new' THEN :hash::text
                          WHEN before.email_change = :new_email::text THEN users.email_change_token_new
                          ELSE '' END,
                 email_change_token_current =
                     CASE WHEN :token_type::text = 'email_change_token_current' THEN :hash::text
                          WHEN before.email_change = :new_email::text THEN users.email_change_token_current
                          ELSE '' END,
                 email_change_confirm_status = 0,
                 email_change_sent_at = :now,
                 updated_at = :now
             FROM before
             WHERE users.id = before.id
         ), o AS (
             DELETE FROM one_time_tokens
             USING before
             WHERE user_id = before.id
               AND before.email_change IS DISTINCT FROM :new_email::text
               AND token_type IN ('email_change_token_new', 'email_change_token_current')
               AND token_type::text <> :token_type::text
         )
         INSERT INTO one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at)
         SELECT :token_id, before.id, :token_type::text::one_time_token_type, :hash::text, :relates_to,
                :now::timestamptz AT TIME ZONE 'utc',
                :now::timestamptz AT TIME ZONE 'utc'
         FROM before
         ON CONFLICT (user_id, token_type) DO UPDATE
         SET id = EXCLUDED.id,
             token_hash = EXCLUDED.token_hash,
             relates_to = EXCLUDED.relates_to,
             created_at = EXCLUDED.created_at,
             updated_at = EXCLUDED.updated_at";

    CONFIRM_HALF = "contact_changes.confirm_half":
        "WITH u AS (
             UPDATE users
             SET email_change_confirm_status = 1,
                 email_change_token_current =
                     CASE WHEN :token_type = 'email_change_token_current' THEN '' ELSE email_change_token_current END,
                 email_change_token_new =
                     CASE WHEN :token_type = 'email_change_token_new' THEN '' ELSE email_change_token_new END,
                 updated_at = :now
             WHERE id = :user_id
               AND email_change_confirm_status = 0
               AND :hash = CASE WHEN :token_type = 'email_change_token_new' THEN email_change_token_new
                                ELSE email_change_token_current END
             RETURNING id
         ), o AS (
             DELETE FROM one_time_tokens
             WHERE user_id = (SELECT id FROM u)
               AND token_type::text = :token_type
         )
         SELECT count(*) = 1 FROM u";

    #[proves(Audit)]
    APPLY_EMAIL = "contact_changes.apply_email": "
        WITH u AS (
            UPDATE users
            SET email = :email,
                email_change = '',
                email_change_token_new = '',
                email_change_token_current = '',
                email_change_confirm_status = 0,
                /*if confirmation*/
                email_confirmed_at = :email_confirmed_at,
                confirmation_token = CASE WHEN email_confirmed_at IS NULL THEN '' ELSE confirmation_token END,
                raw_user_meta_data = CASE WHEN email_confirmed_at IS NULL
                                          THEN COALESCE(NULLIF(raw_user_meta_data, 'null'), '{}')
                                               || '{\"email_verified\": true}'
                                          ELSE raw_user_meta_data END,
                /*end*/
                /*if app_metadata*/ raw_app_meta_data = :app_metadata, /*end*/
                /*if anonymous*/ is_anonymous = false, /*end*/
                updated_at = :now
            WHERE id = :user_id
              AND email_change_token_new = :email_change_token_new
              AND email_change_token_current = :email_change_token_current
            RETURNING id
        ), i AS (
            INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                    updated_at)
            SELECT :identity_id, u.id, :provider, :provider_id::text, :identity_data, :now, :now, :now FROM u
            ON CONFLICT (provider_id, provider) DO UPDATE
            SET identity_data = EXCLUDED.identity_data, updated_at = EXCLUDED.updated_at
        ), o AS (
            DELETE FROM one_time_tokens WHERE user_id = (SELECT id FROM u)
        ), a AS (
            INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
            SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
            FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                        :audit_addresses::text[]) AS e (id, payload, at, address)
            WHERE EXISTS (SELECT FROM u)
        )
        SELECT count(*) = 1 FROM u";

    #[proves(Audit)]
    APPLY_PHONE = "contact_changes.apply_phone": "
        WITH u AS (
            UPDATE users
            SET phone = :phone,
                phone_change = '',
                phone_change_token = '',
                phone_confirmed_at = :phone_confirmed_at,
                /*if app_metadata*/ raw_app_meta_data = :app_metadata, /*end*/
                /*if anonymous*/ is_anonymous = false, /*end*/
                updated_at = :now
            WHERE id = :user_id
              AND phone_change_token = :phone_change_token
            RETURNING id
        ), i AS (
            INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                    updated_at)
            SELECT :identity_id, u.id, :provider, :provider_id::text, :identity_data, :now, :now, :now FROM u
            ON CONFLICT (provider_id, provider) DO UPDATE
            SET identity_data = EXCLUDED.identity_data, updated_at = EXCLUDED.updated_at
        ), o AS (
            DELETE FROM one_time_tokens WHERE user_id = (SELECT id FROM u)
        ), a AS (
            INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
            SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
            FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                        :audit_addresses::text[]) AS e (id, payload, at, address)
            WHERE EXISTS (SELECT FROM u)
        )
        SELECT count(*) = 1 FROM u";
}

/// A requested change of address.
#[derive(Debug)]
pub struct EmailChange<'a> {
    pub user_id: Uuid,
    /// `email_change`, lower case.
    pub new: &'a str,
    /// The token hash for the new address, and the id of its row.
    pub new_hash: (&'a str, Uuid),
    /// If the old address must confirm, too: the address, its token hash, and the id of its row.
    pub current: Option<(&'a str, &'a str, Uuid)>,
    /// The time of sending.
    pub now: Time,
}

/// Stores a change of address with its one or two tokens.
///
/// Replaces a pending one, even a half-confirmed one.
pub async fn store_email_change(db: &mut Connection, change: EmailChange<'_>) -> Result<()> {
    let (new_hash, new_id) = change.new_hash;
    let (address, hash, id) = match change.current {
        Some((address, hash, id)) => (Some(address), Some(hash), Some(id)),
        None => (None, None, None),
    };
    let bound = bind!(
        STORE_EMAIL_CHANGE,
        user_id: change.user_id,
        new_email: change.new,
        new_hash,
        new_id,
        current_email: address,
        current_hash: hash,
        current_id: id,
        now: change.now,
    );
    db.execute(bound).await?;
    Ok(())
}

/// One of the two confirmations of a change of address, whose link an administrator generates.
#[derive(Debug)]
pub struct EmailChangeHalf<'a> {
    pub user_id: Uuid,
    /// `email_change`, lower case.
    pub new: &'a str,
    /// [`OneTimeTokenKind::EmailChangeCurrent`] or [`OneTimeTokenKind::EmailChangeNew`].
    pub slot: OneTimeTokenKind,
    /// The token hash in the link, and the id of its row.
    pub hash: (&'a str, Uuid),
    /// The address that confirms with the link.
    pub relates_to: &'a str,
    /// The time of the request.
    pub now: Time,
}

/// Stores one of the two confirmations with its token.
pub async fn store_email_change_half(db: &mut Connection, half: EmailChangeHalf<'_>) -> Result<()> {
    let (hash, id) = half.hash;
    let bound = bind!(
        STORE_EMAIL_CHANGE_HALF,
        user_id: half.user_id,
        new_email: half.new,
        token_type: half.slot.column(),
        hash,
        token_id: id,
        relates_to: half.relates_to,
        now: half.now,
    );
    db.execute(bound).await?;
    Ok(())
}

/// Records the first of two confirmations and clears its token; false if hash or state have changed.
pub async fn confirm_email_change_half(
    db: &mut Connection,
    user_id: Uuid,
    slot: OneTimeTokenKind,
    stored: &str,
    now: Time,
) -> Result<bool> {
    let bound = bind!(CONFIRM_HALF, user_id, hash: stored, token_type: slot.column(), now);
    let (written,): (bool,) = db.fetch_one(bound).await?;
    Ok(written)
}

/// A user before and after a change of address or number.
#[derive(Debug)]
pub struct AppliedContactChange<'a> {
    /// The user as read: its tokens must be unchanged.
    pub before: &'a User,
    /// The user after the change.
    pub after: &'a User,
    /// The identity of the address or number after the change.
    pub identity: &'a Identity,
    /// The new `raw_app_meta_data`; `None` leaves it unchanged.
    pub app_metadata: Option<Value>,
    /// The time of the request.
    pub now: Time,
    /// Audit rows of the change.
    pub audit: Vec<AuditRow>,
}

/// Replaces the address; false if the tokens are no longer those of `before`.
pub async fn apply_email(db: &mut Connection, change: AppliedContactChange<'_>) -> Result<bool> {
    let parts = changed_parts(&change);
    let audit = AuditArrays::from_rows(change.audit);
    let bound = bind!(
        APPLY_EMAIL,
        user_id: change.before.id,
        now: change.now,
        app_metadata: change.app_metadata,
        identity_id: change.identity.id,
        provider: change.identity.provider.as_str(),
        provider_id: change.identity.provider_id.as_str(),
        identity_data: Value::Object(change.identity.identity_data.clone()),
        email: change.after.email.as_deref(),
        email_confirmed_at: change.after.email_confirmed_at,
        email_change_token_new: change.before.email_change_token_new.as_str(),
        email_change_token_current: change.before.email_change_token_current.as_str(),
        ..audit,
    );
    let (written,): (bool,) = db.fetch_one(bound.with_changed(&parts)).await?;
    Ok(written)
}

/// Replaces the number; false if the token is no longer that of `before`.
pub async fn apply_phone(db: &mut Connection, change: AppliedContactChange<'_>) -> Result<bool> {
    let parts = changed_parts(&change);
    let audit = AuditArrays::from_rows(change.audit);
    let bound = bind!(
        APPLY_PHONE,
        user_id: change.before.id,
        now: change.now,
        app_metadata: change.app_metadata,
        identity_id: change.identity.id,
        provider: change.identity.provider.as_str(),
        provider_id: change.identity.provider_id.as_str(),
        identity_data: Value::Object(change.identity.identity_data.clone()),
        phone: change.after.phone.as_deref(),
        phone_confirmed_at: change.after.phone_confirmed_at,
        phone_change_token: change.before.phone_change_token.as_str(),
        ..audit,
    );
    let (written,): (bool,) = db.fetch_one(bound.with_changed(&parts)).await?;
    Ok(written)
}

/// The optional parts of a change, and whether it has them.
fn changed_parts(change: &AppliedContactChange<'_>) -> [(&'static str, bool); 3] {
    [
        ("confirmation", change.before.email_confirmed_at != change.after.email_confirmed_at),
        ("app_metadata", change.app_metadata.is_some()),
        ("anonymous", change.before.is_anonymous),
    ]
}
