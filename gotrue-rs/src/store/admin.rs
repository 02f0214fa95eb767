//! Creating and updating users through the admin API.
//!
//! Each statement writes the user, its identities, sessions, pending tokens and audit rows.

pub mod deletion;
pub mod listing;

use foundation::email::Email;
use foundation::time::Time;
use gotrue_rules::domain::admin_user::{AdminUserChange, TakenContacts};
use gotrue_rules::domain::contact::Phone;
use gotrue_rules::domain::user::{Identity, User};
use platform::journal::{EndedSessions, Fact, FactCondition};
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::accounts::{take_later_steps, without_later_steps};
use super::audit::{AuditArrays, AuditRow};
use super::insertion::UserInsertion;
use super::rows::account_columns;

statements! {
    modules: deletion, listing;

    #[repeatable]
    TAKEN = "admin.find_taken":
        "SELECT EXISTS (SELECT
                        FROM users u
                        WHERE lower(u.email) = :email
                          AND u.instance_id = '00000000-0000-0000-0000-000000000000'
                          AND u.aud = :audience
                          AND u.is_sso_user = false)
                OR EXISTS (SELECT
                           FROM identities i
                           JOIN users u ON u.id = i.user_id
                           WHERE i.email = :email
                             AND i.provider NOT LIKE 'sso:%'
                             AND i.provider <> ALL(:own_domain_providers)
                             AND u.instance_id = '00000000-0000-0000-0000-000000000000'
                             AND u.aud = :audience) AS email,
                EXISTS (SELECT
                        FROM users u
                        WHERE u.phone = :phone
                          AND u.instance_id = '00000000-0000-0000-0000-000000000000'
                          AND u.aud = :audience
                          AND u.is_sso_user = false) AS phone";

    #[proves(Audit)]
    INSERT = "admin.insert": concat!(
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
                                is_super_admin, is_sso_user, is_anonymous, banned_until, created_at, updated_at)
             SELECT '00000000-0000-0000-0000-000000000000', :user_id, :audience, :role, :email, :phone,
                     :encrypted_password, :email_confirmed_at,
                     :phone_confirmed_at, '', '', '', '', '', 0, '', '', '', :app_metadata, :user_metadata, NULL,
                         false, false, :banned_until, :now, :now
             FROM t
             WHERE NOT t.has_update_triggers
             RETURNING *
         ), i AS (
             INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                     updated_at)
             SELECT n.id, u.id, n.provider, u.id::text, n.data::jsonb, n.at, n.at, n.at
             FROM u, unnest(:identity_ids::uuid[], :identity_providers::text[], :identity_data::text[],
                            :identity_times::timestamptz[]) AS n (id, provider, data, at)
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

    /// An existing identity keeps `updated_at`, and all of its data except the address or number.
    ///
    /// Metadata gets members, and loses those of `:removed_app_metadata` and `:removed_user_metadata`; it stays for a
    /// NULL object. The object is rebuilt, because subtracting names takes time proportional to their number times that
    /// of the members.
    #[proves(Audit, SessionsEnded)]
    UPDATE = "admin.update": "
        WITH u AS (
            UPDATE users
            SET /*if role*/ role = :role, /*end*/
                /*if email*/ email = :email, /*end*/
                /*if phone*/ phone = :phone, /*end*/
                /*if email_confirmed_at*/ email_confirmed_at = :now, /*end*/
                /*if phone_confirmed_at*/ phone_confirmed_at = :now, /*end*/
                /*if confirmation_token*/ confirmation_token = '', /*end*/
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
                /*if app_metadata*/
                raw_app_meta_data = CASE
                    WHEN :app_metadata::jsonb IS NULL THEN raw_app_meta_data
                    WHEN jsonb_typeof(raw_app_meta_data) = 'object' THEN (
                        SELECT COALESCE(jsonb_object_agg(it.key, it.value), '{}')
                        FROM jsonb_each(raw_app_meta_data || :app_metadata) AS it
                        WHERE it.key NOT IN (SELECT unnest(:removed_app_metadata::text[]))
                    )
                    ELSE :app_metadata
                END,
                /*end*/
                /*if user_metadata*/
                raw_user_meta_data = CASE
                    WHEN :user_metadata::jsonb IS NULL THEN raw_user_meta_data
                    WHEN jsonb_typeof(raw_user_meta_data) = 'object' THEN (
                        SELECT COALESCE(jsonb_object_agg(it.key, it.value), '{}')
                        FROM jsonb_each(raw_user_meta_data || :user_metadata) AS it
                        WHERE it.key NOT IN (SELECT unnest(:removed_user_metadata::text[]))
                    )
                    ELSE :user_metadata
                END,
                /*end*/
                /*if is_anonymous*/ is_anonymous = false, /*end*/
                /*if ban*/ banned_until = :banned_until, /*end*/
                updated_at = :updated_at
            WHERE id = :user_id
            RETURNING id
        ), i AS (
            INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                    updated_at)
            SELECT n.id, u.id, n.provider, u.id::text, n.data::jsonb, n.at, n.at, n.at
            FROM u, unnest(:identity_ids::uuid[], :identity_providers::text[], :identity_data::text[],
                           :identity_times::timestamptz[]) AS n (id, provider, data, at)
            ON CONFLICT (provider_id, provider) DO UPDATE
            SET identity_data = identities.identity_data
                    || (EXCLUDED.identity_data
                        - CASE EXCLUDED.provider WHEN 'email' THEN 'phone_verified' ELSE 'email_verified' END)
        ), s AS (
            DELETE FROM sessions WHERE user_id = :user_id AND :encrypted_password::text IS NOT NULL
        ), o AS (
            DELETE FROM one_time_tokens WHERE user_id = :user_id AND :clears_pending
        ), a AS (
            INSERT INTO audit_log_entries (instance_id, id, payload, created_at, ip_address)
            SELECT '00000000-0000-0000-0000-000000000000'::uuid, e.id, e.payload::json, e.at, e.address
            FROM unnest(:audit_ids::uuid[], :audit_payloads::text[], :audit_times::timestamptz[],
                        :audit_addresses::text[]) AS e (id, payload, at, address)
            WHERE EXISTS (SELECT FROM u)
        )
        SELECT u.id FROM u";
}

/// The contact data that [`find_taken_contacts`] looks up.
#[derive(Debug, Clone, Copy)]
pub struct ContactQuery<'a> {
    /// The address in lower case.
    pub email: Option<&'a str>,
    /// The number as digits.
    pub phone: Option<&'a str>,
    /// The audience in which users count.
    pub audience: &'a str,
    /// Providers with their own linking domain: their identities do not count.
    pub own_domain_providers: &'a [String],
}

/// Returns whether users have the address or the number.
pub async fn find_taken_contacts(db: &mut Connection, wanted: ContactQuery<'_>) -> Result<TakenContacts> {
    let bound = bind!(
        TAKEN,
        email: wanted.email,
        phone: wanted.phone,
        audience: wanted.audience,
        own_domain_providers: wanted.own_domain_providers,
    );
    let (email, phone) = db.fetch_one(bound).await?;
    Ok(TakenContacts { email, phone })
}

/// Inserts a user with its identities.
///
/// With `has_null_metadata` the user metadata is `null` instead of an empty object.
pub async fn insert(
    db: &mut Connection,
    user: &User,
    has_null_metadata: bool,
    audit: Vec<AuditRow>,
) -> Result<UserInsertion> {
    insert_row(db, user, has_null_metadata, false, audit).await
}

/// Inserts a user in the steps of the reference, which triggers on updates see. Requires a transaction.
pub async fn insert_in_steps(
    db: &mut Connection,
    user: &User,
    has_null_metadata: bool,
    audit: Vec<AuditRow>,
) -> Result<UserInsertion> {
    match insert_row(db, &without_later_steps(user), has_null_metadata, true, audit).await? {
        UserInsertion::Written(stored) => take_later_steps(db, user, *stored).await,
        other => Ok(other),
    }
}

async fn insert_row(
    db: &mut Connection,
    user: &User,
    has_null_metadata: bool,
    is_in_steps: bool,
    audit: Vec<AuditRow>,
) -> Result<UserInsertion> {
    let (audit, identities) = (AuditArrays::from_rows(audit), IdentityArrays::from_identities(&user.identities));
    let bound = bind!(
        INSERT,
        is_in_steps,
        user_id: user.id,
        audience: user.aud.as_str(),
        role: user.role.as_str(),
        email: user.email.as_deref(),
        phone: user.phone.as_deref(),
        encrypted_password: user.encrypted_password.as_deref(),
        email_confirmed_at: user.email_confirmed_at,
        phone_confirmed_at: user.phone_confirmed_at,
        app_metadata: Value::Object(user.app_metadata.clone()),
        user_metadata: if has_null_metadata { Value::Null } else { Value::Object(user.user_metadata.clone()) },
        banned_until: user.banned_until,
        now: user.created_at,
        identity_ids: identities.ids,
        identity_providers: identities.providers,
        identity_data: identities.data,
        identity_times: identities.times,
        ..audit,
    );
    UserInsertion::from_insert(db.fetch_one(bound).await, user)
}

/// Values that [`update`] writes.
#[derive(Debug)]
pub struct AdminUserUpdate<'a> {
    /// The requested change.
    pub change: &'a AdminUserChange,
    /// The user after the change.
    pub after: &'a User,
    /// The identities of the new address and number.
    pub identities: &'a [Identity],
    /// The time of the request.
    pub now: Time,
    /// Audit rows of the change.
    pub audit: Vec<AuditRow>,
}

/// Updates the user; false if it no longer exists.
///
/// Members of its metadata are set and removed one by one, so that of two concurrent changes neither is lost.
pub async fn update(db: &mut Connection, update: AdminUserUpdate<'_>) -> Result<bool> {
    let AdminUserUpdate { change, after, identities, now, audit } = update;
    let (audit, identities) = (AuditArrays::from_rows(audit), IdentityArrays::from_identities(identities));
    let (app_metadata, user_metadata) = (
        MetadataPatch::from_updates(change.app_metadata.as_ref()),
        MetadataPatch::from_updates(change.user_metadata.as_ref()),
    );
    if change.encrypted_password.is_some() {
        let ended = || Fact::SessionsEnded(EndedSessions::of_user(after.id));
        db.note(FactCondition::Statement, ended);
    }
    let bound = bind!(
        UPDATE,
        user_id: after.id,
        now,
        role: change.role.as_deref(),
        email: change.contacts.email.as_ref().map(Email::as_str),
        phone: change.contacts.phone.as_ref().map(Phone::as_str),
        encrypted_password: change.encrypted_password.as_deref(),
        app_metadata: app_metadata.members,
        removed_app_metadata: app_metadata.removed,
        user_metadata: user_metadata.members,
        removed_user_metadata: user_metadata.removed,
        banned_until: after.banned_until,
        clears_pending: change.should_clear_pending(),
        updated_at: after.updated_at,
        identity_ids: identities.ids,
        identity_providers: identities.providers,
        identity_data: identities.data,
        identity_times: identities.times,
        ..audit,
    );
    let bound = bound.with_changed(&[
        ("role", change.role.is_some()),
        ("email", change.contacts.email.is_some()),
        ("phone", change.contacts.phone.is_some()),
        ("email_confirmed_at", change.is_email_confirmed),
        ("phone_confirmed_at", change.is_phone_confirmed),
        ("confirmation_token", change.should_clear_pending()),
        ("password", change.encrypted_password.is_some()),
        ("app_metadata", change.app_metadata.is_some()),
        ("user_metadata", change.user_metadata.is_some()),
        ("is_anonymous", change.should_become_permanent()),
        ("ban", change.ban.is_some()),
    ]);
    let updated: Option<(Uuid,)> = db.fetch_optional(bound).await?;
    Ok(updated.is_some())
}

/// Metadata members to set, and names of those to remove.
#[derive(Default)]
struct MetadataPatch {
    members: Option<Value>,
    removed: Vec<String>,
}

impl MetadataPatch {
    fn from_updates(updates: Option<&Map<String, Value>>) -> Self {
        let Some(updates) = updates else { return Self::default() };
        let (gone, kept): (Map<_, _>, Map<_, _>) = updates.clone().into_iter().partition(|(_, value)| value.is_null());
        Self { members: Some(Value::Object(kept)), removed: gone.into_iter().map(|(name, _)| name).collect() }
    }
}

/// Identities as column arrays, the form in which statements take them.
#[derive(Default)]
struct IdentityArrays {
    ids: Vec<Uuid>,
    providers: Vec<String>,
    data: Vec<String>,
    times: Vec<Time>,
}

impl IdentityArrays {
    fn from_identities(identities: &[Identity]) -> Self {
        let mut arrays = Self::default();
        for identity in identities {
            arrays.ids.push(identity.id);
            arrays.providers.push(identity.provider.clone());
            arrays.data.push(Value::Object(identity.identity_data.clone()).to_string());
            arrays.times.push(identity.created_at);
        }
        arrays
    }
}
