//! Creating and updating users through the admin API.
//!
//! Each statement writes the user, its identities, sessions, pending tokens and audit rows.

pub mod deletion;
pub mod listing;

use gotrue_rules::domain::admin_user::{AdminUserChange, TakenContacts};
use gotrue_rules::domain::contact::{Email, Phone};
use gotrue_rules::domain::user::{Identity, Time, User};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::Result;
use super::audit::{AuditArrays, AuditRow, audit_insert};
use super::insertion::UserInsertion;
use super::rows::clear_tokens_on_password_change;
use super::statement::{Connection, Statement, args};

const TAKEN: Statement = Statement {
    name: "admin.taken",
    sql: "SELECT EXISTS (SELECT
                         FROM users u
                         WHERE lower(u.email) = $1
                           AND u.instance_id = '00000000-0000-0000-0000-000000000000'
                           AND u.aud = $3
                           AND u.is_sso_user = false)
                 OR EXISTS (SELECT
                            FROM identities i
                            JOIN users u ON u.id = i.user_id
                            WHERE i.email = $1
                              AND i.provider NOT LIKE 'sso:%'
                              AND i.provider <> ALL($4)
                              AND u.instance_id = '00000000-0000-0000-0000-000000000000'
                              AND u.aud = $3) AS email,
                 EXISTS (SELECT
                         FROM users u
                         WHERE u.phone = $2
                           AND u.instance_id = '00000000-0000-0000-0000-000000000000'
                           AND u.aud = $3
                           AND u.is_sso_user = false) AS phone",
};

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
    let (email, phone) =
        db.fetch_one(&TAKEN, args![wanted.email, wanted.phone, wanted.audience, wanted.own_domain_providers]).await?;
    Ok(TakenContacts { email, phone })
}

const INSERT: Statement = Statement {
    name: "admin.insert",
    sql: concat!(
        "WITH u AS (
             INSERT INTO users (instance_id, id, aud, role, email, phone, encrypted_password, email_confirmed_at,
                                phone_confirmed_at, confirmation_token, recovery_token, email_change_token_new,
                                email_change, email_change_token_current, email_change_confirm_status, phone_change,
                                phone_change_token, reauthentication_token, raw_app_meta_data, raw_user_meta_data,
                                is_super_admin, is_sso_user, is_anonymous, banned_until, created_at, updated_at)
             VALUES ('00000000-0000-0000-0000-000000000000', $1, $2, $3, $4, $5, $6, $7,
                     $8, '', '', '', '', '', 0, '', '', '', $9, $10, NULL, false, false, $11, $12, $12)
             RETURNING id
         ), i AS (
             INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                     updated_at)
             SELECT n.id, u.id, n.provider, u.id::text, n.data::jsonb, n.at, n.at, n.at
             FROM u, unnest($13::uuid[], $14::text[], $15::text[], $16::timestamptz[]) AS n (id, provider, data, at)
         )
         ",
        audit_insert!(17, 18, 19, 20)
    ),
};

/// Inserts a user with its identities.
///
/// With `has_null_metadata` the user metadata is `null` instead of an empty object.
pub async fn insert(
    db: &mut Connection,
    account: &User,
    has_null_metadata: bool,
    audit: Vec<AuditRow>,
) -> Result<UserInsertion> {
    let (audit, identities) = (AuditArrays::from_rows(audit), IdentityArrays::from_identities(&account.identities));
    let values = args![
        account.id,
        account.aud.as_str(),
        account.role.as_str(),
        account.email.as_deref(),
        account.phone.as_deref(),
        account.encrypted_password.as_deref(),
        account.email_confirmed_at,
        account.phone_confirmed_at,
        Value::Object(account.app_metadata.clone()),
        if has_null_metadata { Value::Null } else { Value::Object(account.user_metadata.clone()) },
        account.banned_until,
        account.created_at,
        identities.ids,
        identities.providers,
        identities.data,
        identities.times,
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
    ];
    UserInsertion::from_insert(db.execute(&INSERT, values).await)
}

/// Metadata with members set and removed.
///
/// Takes the parameter numbers of an object and of an array of names; a NULL object leaves the metadata unchanged. The
/// object is rebuilt, because subtracting names takes time proportional to their number times that of the members.
macro_rules! merged {
    ($column:literal, $members:literal, $names:literal) => {
        concat!(
            "CASE WHEN $",
            $members,
            "::jsonb IS NULL THEN ",
            $column,
            " WHEN jsonb_typeof(",
            $column,
            ") = 'object' THEN (
                 SELECT COALESCE(jsonb_object_agg(it.key, it.value), '{}')
                 FROM jsonb_each(",
            $column,
            " || $",
            $members,
            ") AS it
                 WHERE it.key NOT IN (SELECT unnest($",
            $names,
            "::text[]))
             ) ELSE $",
            $members,
            " END"
        )
    };
}

/// An existing identity keeps all of its data except the address or number.
const UPDATE: Statement = Statement {
    name: "admin.update",
    sql: concat!(
        "WITH u AS (
             UPDATE users
             SET role = COALESCE($3, role),
                 email = COALESCE($4, email),
                 phone = COALESCE($5, phone),
                 email_confirmed_at = CASE WHEN $6 THEN $2 ELSE email_confirmed_at END,
                 phone_confirmed_at = CASE WHEN $7 THEN $2 ELSE phone_confirmed_at END,
                 confirmation_token = CASE WHEN $15 THEN '' ELSE confirmation_token END,
                 encrypted_password = COALESCE($8::text, encrypted_password),
                 ",
        clear_tokens_on_password_change!(8),
        ",
                 raw_app_meta_data = ",
        merged!("raw_app_meta_data", 9, 10),
        ",
                 raw_user_meta_data = ",
        merged!("raw_user_meta_data", 11, 12),
        ",
                 is_anonymous = is_anonymous AND NOT $16,
                 banned_until = CASE WHEN $13 THEN $14 ELSE banned_until END,
                 updated_at = $17
             WHERE id = $1
             RETURNING id
         ), i AS (
             INSERT INTO identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at,
                                     updated_at)
             SELECT n.id, u.id, n.provider, u.id::text, n.data::jsonb, n.at, n.at, n.at
             FROM u, unnest($18::uuid[], $19::text[], $20::text[], $21::timestamptz[]) AS n (id, provider, data, at)
             ON CONFLICT (provider_id, provider) DO UPDATE
             SET identity_data = identities.identity_data
                     || (EXCLUDED.identity_data
                         - CASE EXCLUDED.provider WHEN 'email' THEN 'phone_verified' ELSE 'email_verified' END),
                 updated_at = EXCLUDED.updated_at
         ), s AS (
             DELETE FROM sessions WHERE user_id = $1 AND $8::text IS NOT NULL
         ), o AS (
             DELETE FROM one_time_tokens WHERE user_id = $1 AND $15
         ), a AS (",
        audit_insert!(22, 23, 24, 25),
        " WHERE EXISTS (SELECT FROM u)
         )
         SELECT u.id FROM u"
    ),
};

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
    let values = args![
        after.id,
        now,
        change.role.as_deref(),
        change.contacts.email.as_ref().map(Email::as_str),
        change.contacts.phone.as_ref().map(Phone::as_str),
        change.is_email_confirmed,
        change.is_phone_confirmed,
        change.encrypted_password.as_deref(),
        app_metadata.members,
        app_metadata.removed,
        user_metadata.members,
        user_metadata.removed,
        change.ban.is_some(),
        after.banned_until,
        change.should_clear_pending(),
        change.should_become_permanent(),
        after.updated_at,
        identities.ids,
        identities.providers,
        identities.data,
        identities.times,
        audit.ids,
        audit.payloads,
        audit.times,
        audit.addresses,
    ];
    let updated: Option<(Uuid,)> = db.fetch_optional(&UPDATE, values).await?;
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

/// All statements of this file.
pub const ALL: &[&Statement] = &[&TAKEN, &INSERT, &UPDATE];
