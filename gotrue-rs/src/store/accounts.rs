//! Statements that write a user together with its dependent rows.
//!
//! One statement writes the row of `auth.users`, its identities, its pending one-time tokens and the audit rows.
//!
//! A new password clears the pending one-time secrets of the user with their times of sending, here and in [`admin`] and
//! [`identities`], where an account is reset. The requested address and number stay, like in the reference after a change
//! of the password.
//!
//! [`admin`]: super::admin
//! [`identities`]: super::identities

use foundation::time::Time;
use gotrue_rules::domain::user::{Identity, User};
use platform::journal::{EndedSessions, Fact, FactCondition};
use platform::store::Result;
use platform::store::binding::{BoundStatement, bind, statements};
use platform::store::statement::Connection;
use serde_json::{Map, Value};
use sqlx::types::Json;
use uuid::Uuid;

use super::audit::{AuditArrays, AuditRow};
pub use super::insertion::UserInsertion;
use super::insertion::with_shown_parts;
use super::rows::{UserRow, account_columns};

statements! {
    #[proves(Audit)]
    INSERT = "accounts.insert": concat!(
        "WITH t AS (
             SELECT NOT :is_in_steps::boolean
                    AND EXISTS (SELECT
                                FROM pg_catalog.pg_trigger g
                                WHERE g.tgrelid = 'users'::regclass
                                  AND NOT g.tgisinternal
                                  AND g.tgenabled <> 'D'
                                  AND g.tgtype & 16 <> 0) AS has_update_triggers
         ),
         u AS (
             INSERT INTO users (instance_id, id, aud, role, email, phone, encrypted_password, email_confirmed_at,
                                phone_confirmed_at, confirmation_token, recovery_token, email_change_token_new,
                                email_change, email_change_token_current, email_change_confirm_status, phone_change,
                                phone_change_token, reauthentication_token, raw_app_meta_data, raw_user_meta_data,
                                is_super_admin, is_sso_user, is_anonymous, created_at, updated_at)
             SELECT '00000000-0000-0000-0000-000000000000', :user_id, :audience, :role, :email, :phone,
                     :encrypted_password, :email_confirmed_at, :phone_confirmed_at, '', '', '', '', '', 0, '', '', '',
                     :app_metadata, :user_metadata, NULL, :is_sso_user, :is_anonymous, :now, :now
             FROM t
             WHERE NOT t.has_update_triggers
             RETURNING *
         ), i AS (
             INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                     updated_at)
             SELECT :identity_id, u.id, :provider, :provider_id, :identity_data, :now, :now, :now
             FROM u
             WHERE :identity_id::uuid IS NOT NULL
         ), a AS (
             INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
             SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
             FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                         :audit_addresses::text[]) AS e (id, payload, at, address)
             WHERE EXISTS (SELECT FROM u)
         )
         SELECT t.has_update_triggers, ",
        account_columns!(),
        " FROM t LEFT JOIN u ON true"
    );

    SET_NEW_ROLE = "accounts.set_new_role": concat!(
        "UPDATE users u SET role = :role, updated_at = :now WHERE u.id = :user_id RETURNING ",
        account_columns!()
    );

    SET_NEW_METADATA = "accounts.set_new_metadata": concat!(
        "UPDATE users u
         SET raw_app_meta_data = u.raw_app_meta_data || :app_metadata,
             raw_user_meta_data = u.raw_user_meta_data || :user_metadata,
             updated_at = :now
         WHERE u.id = :user_id
         RETURNING ",
        account_columns!()
    );

    CONFIRM_NEW_EMAIL = "accounts.confirm_new_email": concat!(
        "UPDATE users u
         SET confirmation_token = '', email_confirmed_at = :now,
             raw_user_meta_data = CASE WHEN jsonb_typeof(u.raw_user_meta_data) = 'object'
                                            AND u.raw_user_meta_data ? 'email_verified'
                                       THEN u.raw_user_meta_data || '{\"email_verified\": true}'
                                       ELSE u.raw_user_meta_data END,
             updated_at = :now
         WHERE u.id = :user_id
         RETURNING ",
        account_columns!()
    );

    CONFIRM_NEW_PHONE = "accounts.confirm_new_phone": concat!(
        "UPDATE users u
         SET confirmation_token = '', phone_confirmed_at = :now, updated_at = :now
         WHERE u.id = :user_id
         RETURNING ",
        account_columns!()
    );

    BAN_NEW = "accounts.ban_new": concat!(
        "UPDATE users u SET banned_until = :banned_until, updated_at = :now WHERE u.id = :user_id RETURNING ",
        account_columns!()
    );

    #[proves(Audit)]
    CONFIRM_EMAIL = "accounts.confirm_email": concat!(
        "WITH u AS (
             UPDATE users
             SET confirmation_token = '',
                 email_confirmed_at = :now,
                 raw_user_meta_data = CASE WHEN jsonb_typeof(raw_user_meta_data) = 'object' THEN raw_user_meta_data
                                           ELSE '{}' END || '{\"email_verified\": true}',
                 /*if password*/
                 encrypted_password = :encrypted_password::text,
                 confirmation_sent_at =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN NULL ELSE confirmation_sent_at END,
                 recovery_token = CASE WHEN :encrypted_password::text IS NOT NULL THEN '' ELSE recovery_token END,
                 recovery_sent_at = CASE WHEN :encrypted_password::text IS NOT NULL THEN NULL ELSE recovery_sent_at END,
                 email_change_token_current =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN '' ELSE email_change_token_current END,
                 email_change_token_new =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN '' ELSE email_change_token_new END,
                 email_change_sent_at =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN NULL ELSE email_change_sent_at END,
                 phone_change_token =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN '' ELSE phone_change_token END,
                 phone_change_sent_at =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN NULL ELSE phone_change_sent_at END,
                 reauthentication_token =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN '' ELSE reauthentication_token END,
                 reauthentication_sent_at =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN NULL ELSE reauthentication_sent_at END,
                 /*end*/
                 /*if app_metadata*/ raw_app_meta_data = :app_metadata, /*end*/
                 updated_at = :now
             WHERE id = :user_id
               AND confirmation_token = :token
             RETURNING *
         ), i AS (
             UPDATE identities
             SET identity_data = identity_data || '{\"email_verified\": true}'
             WHERE user_id = (SELECT id FROM u)
               AND email = (SELECT u.email FROM u)
               AND :verifies_identity::boolean
             RETURNING *
         ), o AS (
             DELETE FROM one_time_tokens WHERE user_id = (SELECT id FROM u)
         ), a AS (
             INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
             SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
             FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                         :audit_addresses::text[]) AS e (id, payload, at, address)
             WHERE EXISTS (SELECT FROM u)
         )
         SELECT ",
        account_columns!(),
        " FROM u"
    );

    #[proves(Audit)]
    CONFIRM_PHONE = "accounts.confirm_phone": concat!(
        "WITH u AS (
             UPDATE users
             SET confirmation_token = '',
                 phone_confirmed_at = :now,
                 /*if anonymous*/ is_anonymous = false, /*end*/
                 /*if password*/ encrypted_password = :encrypted_password::text, /*end*/
                 /*if app_metadata*/ raw_app_meta_data = :app_metadata, /*end*/
                 updated_at = :now
             WHERE id = :user_id
               AND confirmation_token = :token
             RETURNING *
         ), o AS (
             DELETE FROM one_time_tokens WHERE user_id = (SELECT id FROM u)
         ), a AS (
             INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
             SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
             FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                         :audit_addresses::text[]) AS e (id, payload, at, address)
             WHERE EXISTS (SELECT FROM u) AND :verifies_identity::boolean IS NOT NULL
         )
         SELECT ",
        account_columns!(),
        " FROM u"
    );

    #[proves(Audit)]
    RECOVER = "accounts.recover": concat!(
        "WITH u AS (
             UPDATE users
             SET recovery_token = '',
                 /*if password*/ encrypted_password = :encrypted_password::text, /*end*/
                 /*if app_metadata*/ raw_app_meta_data = :app_metadata, /*end*/
                 updated_at = :now
             WHERE id = :user_id
               AND recovery_token = :token
             RETURNING *
         ), o AS (
             DELETE FROM one_time_tokens WHERE user_id = (SELECT id FROM u)
         ), a AS (
             INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
             SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
             FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                         :audit_addresses::text[]) AS e (id, payload, at, address)
             WHERE EXISTS (SELECT FROM u) AND :verifies_identity::boolean IS NOT NULL
         )
         SELECT ",
        account_columns!(),
        " FROM u"
    );

    #[proves(Audit)]
    RECOVER_AND_CONFIRM = "accounts.recover_and_confirm": concat!(
        "WITH u AS (
             UPDATE users
             SET recovery_token = '',
                 confirmation_token = '',
                 email_confirmed_at = :now,
                 raw_user_meta_data = CASE WHEN jsonb_typeof(raw_user_meta_data) = 'object' THEN raw_user_meta_data
                                           ELSE '{}' END || '{\"email_verified\": true}',
                 /*if password*/ encrypted_password = :encrypted_password::text, /*end*/
                 /*if app_metadata*/ raw_app_meta_data = :app_metadata, /*end*/
                 updated_at = :now
             WHERE id = :user_id
               AND recovery_token = :token
             RETURNING *
         ), o AS (
             DELETE FROM one_time_tokens WHERE user_id = (SELECT id FROM u)
         ), a AS (
             INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
             SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
             FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                         :audit_addresses::text[]) AS e (id, payload, at, address)
             WHERE EXISTS (SELECT FROM u) AND :verifies_identity::boolean IS NOT NULL
         )
         SELECT ",
        account_columns!(),
        " FROM u"
    );

    /// Merges metadata within the row, so that of two concurrent updates neither is lost. It is the equivalent of
    /// `identity::merged`: members replace those of the same name, null removes one. The object is rebuilt, because
    /// subtracting names takes time proportional to their number times that of the members.
    #[proves(Audit, SessionsEnded)]
    UPDATE = "accounts.update": concat!(
        "WITH u AS (
             UPDATE users
             SET /*if user_metadata*/
                 raw_user_meta_data = CASE
                     WHEN jsonb_typeof(raw_user_meta_data) = 'object' AND :user_metadata::jsonb IS NOT NULL
                     THEN (SELECT COALESCE(jsonb_object_agg(it.key, it.value), '{}')
                           FROM jsonb_each(raw_user_meta_data || :user_metadata::jsonb) AS it
                           WHERE it.key NOT IN (SELECT gone.key
                                                FROM jsonb_each(:user_metadata::jsonb) AS gone
                                                WHERE gone.value = 'null'))
                     ELSE (COALESCE(NULLIF(raw_user_meta_data, 'null'), '{}') || :user_metadata::jsonb)
                          - ARRAY(SELECT it.key FROM jsonb_each(:user_metadata::jsonb) AS it WHERE it.value = 'null')
                 END,
                 /*end*/
                 /*if app_metadata*/
                 raw_app_meta_data = CASE
                     WHEN jsonb_typeof(raw_app_meta_data) = 'object' AND :app_metadata::jsonb IS NOT NULL
                     THEN (SELECT COALESCE(jsonb_object_agg(it.key, it.value), '{}')
                           FROM jsonb_each(raw_app_meta_data || :app_metadata::jsonb) AS it
                           WHERE it.key NOT IN (SELECT gone.key
                                                FROM jsonb_each(:app_metadata::jsonb) AS gone
                                                WHERE gone.value = 'null'))
                     ELSE (COALESCE(NULLIF(raw_app_meta_data, 'null'), '{}') || :app_metadata::jsonb)
                          - ARRAY(SELECT it.key FROM jsonb_each(:app_metadata::jsonb) AS it WHERE it.value = 'null')
                 END,
                 /*end*/
                 /*if password*/
                 encrypted_password = :encrypted_password::text, confirmation_token = '',
                 confirmation_sent_at =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN NULL ELSE confirmation_sent_at END,
                 recovery_token = CASE WHEN :encrypted_password::text IS NOT NULL THEN '' ELSE recovery_token END,
                 recovery_sent_at = CASE WHEN :encrypted_password::text IS NOT NULL THEN NULL ELSE recovery_sent_at END,
                 email_change_token_current =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN '' ELSE email_change_token_current END,
                 email_change_token_new =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN '' ELSE email_change_token_new END,
                 email_change_sent_at =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN NULL ELSE email_change_sent_at END,
                 phone_change_token =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN '' ELSE phone_change_token END,
                 phone_change_sent_at =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN NULL ELSE phone_change_sent_at END,
                 reauthentication_token =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN '' ELSE reauthentication_token END,
                 reauthentication_sent_at =
                     CASE WHEN :encrypted_password::text IS NOT NULL THEN NULL ELSE reauthentication_sent_at END,
                 /*end*/
                 updated_at = :now
             WHERE id = :user_id
             RETURNING *
         ), s AS (
             DELETE FROM sessions
             WHERE user_id = :user_id
               AND :encrypted_password::text IS NOT NULL
               AND (:kept_session_id::uuid IS NULL OR id <> :kept_session_id)
         ), o AS (
             DELETE FROM one_time_tokens WHERE user_id = :user_id AND :encrypted_password::text IS NOT NULL
         ), a AS (
             INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
             SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
             FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                         :audit_addresses::text[]) AS e (id, payload, at, address)
         )
         SELECT ",
        account_columns!(),
        " FROM u"
    );

    REPLACE_IDENTITY = "accounts.replace_identity":
        "WITH u AS (
             UPDATE users
             SET raw_user_meta_data = :identity_data, raw_app_meta_data = :app_metadata, updated_at = :now
             WHERE id = :user_id
             RETURNING id
         ), gone AS (
             DELETE FROM identities WHERE user_id = (SELECT id FROM u) AND provider <> :provider
         )
         INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                 updated_at)
         SELECT :identity_id, u.id, :provider, :provider_id, :identity_data, :now, :now, :now FROM u
         ON CONFLICT (provider_id, provider) DO NOTHING";
}

/// Inserts a user with its first identity, if it has one.
///
/// Of two concurrent inserts of one address or number, the later waits for the earlier and gets a conflict.
pub async fn insert(db: &mut Connection, user: &User, audit: Vec<AuditRow>) -> Result<UserInsertion> {
    insert_row(db, user, false, audit).await
}

/// Inserts a user in the steps of the reference, which triggers on updates see. Requires a transaction.
pub async fn insert_in_steps(db: &mut Connection, user: &User, audit: Vec<AuditRow>) -> Result<UserInsertion> {
    match insert_row(db, &without_later_steps(user), true, audit).await? {
        UserInsertion::Written(_) => {
            let bound = bind!(
                SET_NEW_METADATA,
                user_id: user.id,
                now: user.created_at,
                app_metadata: Value::Object(user.app_metadata.clone()),
                user_metadata: Value::Object(user.user_metadata.clone()),
            );
            let UserRow(stored) = db.fetch_one(bound).await?;
            take_later_steps(db, user, stored).await
        }
        other => Ok(other),
    }
}

/// Inserts a user within a transaction, in steps where the project has triggers on updates.
pub async fn insert_within(db: &mut Connection, user: &User, audit: Vec<AuditRow>) -> Result<UserInsertion> {
    match insert(db, user, audit.clone()).await? {
        UserInsertion::NeedsSteps => insert_in_steps(db, user, audit).await,
        other => Ok(other),
    }
}

/// Returns a new user without what the reference sets by updates.
pub(super) fn without_later_steps(user: &User) -> User {
    User { role: String::new(), email_confirmed_at: None, phone_confirmed_at: None, banned_until: None, ..user.clone() }
}

/// Sets role, confirmations and ban of an inserted user, one update each.
pub(super) async fn take_later_steps(db: &mut Connection, new: &User, stored: User) -> Result<UserInsertion> {
    let (user_id, now) = (new.id, new.created_at);
    let mut last = stored;
    if !new.role.is_empty() {
        UserRow(last) = db.fetch_one(bind!(SET_NEW_ROLE, user_id, now, role: new.role.as_str())).await?;
    }
    if new.email_confirmed_at.is_some() {
        UserRow(last) = db.fetch_one(bind!(CONFIRM_NEW_EMAIL, user_id, now)).await?;
    }
    if new.phone_confirmed_at.is_some() {
        UserRow(last) = db.fetch_one(bind!(CONFIRM_NEW_PHONE, user_id, now)).await?;
    }
    if let Some(banned_until) = new.banned_until {
        UserRow(last) = db.fetch_one(bind!(BAN_NEW, user_id, now, banned_until)).await?;
    }
    Ok(UserInsertion::Written(Box::new(with_shown_parts(last, new))))
}

async fn insert_row(
    db: &mut Connection,
    user: &User,
    is_in_steps: bool,
    audit: Vec<AuditRow>,
) -> Result<UserInsertion> {
    let audit = AuditArrays::from_rows(audit);
    let identity = user.identities.first();
    let bound = bind!(
        INSERT,
        is_in_steps,
        user_id: user.id,
        audience: user.aud.as_str(),
        role: user.role.as_str(),
        email: user.email.as_deref(),
        phone: user.phone.as_deref(),
        encrypted_password: user.encrypted_password.as_deref().unwrap_or_default(),
        email_confirmed_at: user.email_confirmed_at,
        phone_confirmed_at: user.phone_confirmed_at,
        app_metadata: Value::Object(user.app_metadata.clone()),
        user_metadata: Value::Object(user.user_metadata.clone()),
        is_sso_user: user.is_sso_user,
        is_anonymous: user.is_anonymous,
        now: user.created_at,
        identity_id: identity.map(|identity| identity.id),
        provider: identity.map(|identity| identity.provider.as_str()),
        provider_id: identity.map(|identity| identity.provider_id.as_str()),
        identity_data: identity.map(|identity| Value::Object(identity.identity_data.clone())),
        ..audit,
    );
    UserInsertion::from_insert(db.fetch_one(bound).await, user)
}

/// Values that a confirmation writes.
#[derive(Debug)]
pub struct UserConfirmation<'a> {
    pub user_id: Uuid,
    /// The stored hash that was presented.
    ///
    /// It is cleared, so that of two concurrent confirmations one succeeds.
    pub token: &'a str,
    /// The time of the request.
    pub now: Time,
    /// `users.encrypted_password`, where the confirmation sets one.
    pub password: Option<&'a str>,
    /// The new `users.raw_app_meta_data`; `None` leaves it unchanged.
    pub app_metadata: Option<Value>,
    /// Whether the user is anonymous until this confirmation of a number.
    pub was_anonymous: bool,
    /// Whether the identities of the address are marked as verified, too.
    pub should_verify_identity: bool,
    /// Audit rows of the confirmation.
    pub audit: Vec<AuditRow>,
}

/// Binds a [`UserConfirmation`] to one of the four statements that take one.
macro_rules! bind_confirmation {
    ($statement:ident, $confirmation:ident) => {{
        let audit = AuditArrays::from_rows($confirmation.audit);
        let parts = [
            ("password", $confirmation.password.is_some()),
            ("app_metadata", $confirmation.app_metadata.is_some()),
            ("anonymous", $confirmation.was_anonymous),
        ];
        let bound = bind!(
            $statement,
            user_id: $confirmation.user_id,
            token: $confirmation.token,
            now: $confirmation.now,
            encrypted_password: $confirmation.password,
            verifies_identity: $confirmation.should_verify_identity,
            app_metadata: $confirmation.app_metadata,
            ..audit,
        );
        bound.with_changed(&parts)
    }};
}

/// Confirms the address if the hash is still pending, and returns the updated user.
pub async fn confirm_email(db: &mut Connection, confirmation: UserConfirmation<'_>) -> Result<Option<User>> {
    fetch_user(db, bind_confirmation!(CONFIRM_EMAIL, confirmation)).await
}

/// Confirms the number if the hash is still pending, and returns the updated user.
pub async fn confirm_phone(db: &mut Connection, confirmation: UserConfirmation<'_>) -> Result<Option<User>> {
    fetch_user(db, bind_confirmation!(CONFIRM_PHONE, confirmation)).await
}

async fn fetch_user(db: &mut Connection, bound: BoundStatement) -> Result<Option<User>> {
    let row: Option<UserRow> = db.fetch_optional(bound).await?;
    Ok(row.map(|row| row.0))
}

/// Consumes a recovery token if its hash is still pending, and returns the updated user.
pub async fn consume_recovery(db: &mut Connection, confirmation: UserConfirmation<'_>) -> Result<Option<User>> {
    fetch_user(db, bind_confirmation!(RECOVER, confirmation)).await
}

/// Consumes a recovery token like [`consume_recovery`] and confirms the address.
pub async fn consume_recovery_and_confirm(
    db: &mut Connection,
    confirmation: UserConfirmation<'_>,
) -> Result<Option<User>> {
    fetch_user(db, bind_confirmation!(RECOVER_AND_CONFIRM, confirmation)).await
}

/// The changes of `PUT /user` and similar requests. An absent part stays unchanged.
#[derive(Debug, Default)]
pub struct UserChanges<'a> {
    /// Merged into `raw_user_meta_data`: members replace those of the same name, null removes one.
    pub user_metadata: Option<&'a Map<String, Value>>,
    /// Merged into `raw_app_meta_data` in the same way.
    pub app_metadata: Option<&'a Map<String, Value>>,
    /// The new password hash; setting it also clears every pending token.
    pub password: Option<&'a str>,
    /// With a new password: the session that stays. All others are deleted (`None`: all).
    pub keep_session: Option<Uuid>,
}

/// Updates a user; `None` if it no longer exists.
pub async fn update(
    db: &mut Connection,
    user_id: Uuid,
    now: Time,
    changes: UserChanges<'_>,
    audit: Vec<AuditRow>,
) -> Result<Option<User>> {
    if changes.password.is_some() {
        let kept = changes.keep_session;
        let ended = || Fact::SessionsEnded(EndedSessions { kept, ..EndedSessions::of_user(user_id) });
        db.note(FactCondition::Statement, ended);
    }
    let audit = AuditArrays::from_rows(audit);
    let bound = bind!(
        UPDATE,
        user_id,
        now,
        user_metadata: changes.user_metadata.map(Json),
        app_metadata: changes.app_metadata.map(Json),
        encrypted_password: changes.password,
        kept_session_id: changes.keep_session,
        ..audit,
    );
    let bound = bound.with_changed(&[
        ("user_metadata", changes.user_metadata.is_some()),
        ("app_metadata", changes.app_metadata.is_some()),
        ("password", changes.password.is_some()),
    ]);
    fetch_user(db, bound).await
}

/// Replaces the user's other identities by one of a new provider.
///
/// Its data becomes the user metadata; `app_metadata` names its provider. An identity of that provider that was added
/// concurrently stays.
pub async fn replace_identity(
    db: &mut Connection,
    identity: &Identity,
    app_metadata: &Map<String, Value>,
) -> Result<()> {
    let data = Value::Object(identity.identity_data.clone());
    let bound = bind!(
        REPLACE_IDENTITY,
        identity_id: identity.id,
        user_id: identity.user_id,
        provider: identity.provider.as_str(),
        provider_id: identity.provider_id.as_str(),
        identity_data: data,
        now: identity.created_at,
        app_metadata: Value::Object(app_metadata.clone()),
    );
    db.execute(bound).await?;
    Ok(())
}
