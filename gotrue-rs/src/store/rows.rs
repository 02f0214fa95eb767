//! Conversion of database rows to users and sessions of `gotrue-rules`.
//!
//! The column lists are defined here, so that every statement that returns a user reads the same columns.

use std::fmt;

use chrono::{DateTime, Utc};
use foundation::time::Time;
use gotrue_rules::domain::session::{Aal, AmrClaim, Session};
use gotrue_rules::domain::user::{Factor, Identity, User};
use platform::store::stored_time::StoredTime;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use sqlx::FromRow;
use sqlx::postgres::PgRow;
use sqlx::types::ipnetwork::IpNetwork;
use uuid::Uuid;

use super::columns::ColumnReader;

/// The columns of a user from relation `u` that a response shows.
#[macro_export]
macro_rules! shown_user_columns {
    () => {
        "u.id, u.aud, u.role, u.email, u.phone, u.email_confirmed_at, u.phone_confirmed_at, u.confirmed_at, u.invited_at,
         u.confirmation_sent_at, u.recovery_sent_at, u.email_change, u.email_change_sent_at, u.phone_change,
         u.phone_change_sent_at, u.reauthentication_sent_at, u.last_sign_in_at, u.raw_app_meta_data,
         u.raw_user_meta_data, u.is_anonymous, u.banned_until, u.deleted_at, u.created_at, u.updated_at"
    };
}
pub(crate) use shown_user_columns;

/// The columns of a user from relation `u` that no response shows: secrets and states.
#[macro_export]
macro_rules! hidden_user_columns {
    () => {
        "u.encrypted_password, u.confirmation_token, u.recovery_token, u.email_change_token_current,
         u.email_change_token_new, u.email_change_confirm_status, u.phone_change_token, u.reauthentication_token,
         u.is_super_admin, u.is_sso_user"
    };
}

/// The identities and factors of the user of relation `u` as arrays of JSON.
///
/// `read_user_lists` sorts them: PostgreSQL needs longer to set up a sort than to read them, and an aggregate needs
/// longer than an array.
#[macro_export]
macro_rules! user_list_columns {
    () => {
        "ARRAY(SELECT to_json(i) FROM identities i WHERE i.user_id = u.id) AS identities,
         ARRAY(SELECT json_build_object(
                     'id', f.id,
                     'friendly_name', f.friendly_name,
                     'factor_type', f.factor_type,
                     'status', f.status,
                     'phone', f.phone,
                     'last_challenged_at', f.last_challenged_at,
                     'web_authn_aaguid', f.web_authn_aaguid,
                     'last_webauthn_challenge_data', f.last_webauthn_challenge_data,
                     'created_at', f.created_at,
                     'updated_at', f.updated_at)
               FROM mfa_factors f WHERE f.user_id = u.id) AS factors"
    };
}
pub(crate) use user_list_columns;

/// All columns of a user from relation `u`, with its identities and factors.
#[macro_export]
macro_rules! account_columns {
    () => {
        concat!($crate::shown_user_columns!(), ", ", $crate::hidden_user_columns!(), ", ", $crate::user_list_columns!())
    };
}
pub use account_columns;

/// The columns of a session from relation `s`, with its AMR claims as array of JSON.
///
/// Each name is prefixed with `session_`.
#[macro_export]
macro_rules! session_columns {
    () => {
        "s.id AS session_id, s.user_id AS session_user_id, s.aal::text AS session_aal, s.factor_id AS session_factor_id,
         s.not_after AS session_not_after, s.refreshed_at AS session_refreshed_at, s.user_agent AS session_user_agent,
         s.ip AS session_ip, s.tag AS session_tag, s.oauth_client_id AS session_oauth_client_id,
         s.scopes AS session_scopes, s.refresh_token_hmac_key AS session_refresh_token_hmac_key,
         s.refresh_token_counter AS session_refresh_token_counter, s.created_at AS session_created_at,
         s.updated_at AS session_updated_at,
         ARRAY(SELECT json_build_object('method', c.authentication_method, 'updated_at', c.updated_at)
               FROM mfa_amr_claims c WHERE c.session_id = s.id) AS session_amr"
    };
}
pub use session_columns;

/// A user as selected by [`account_columns!`].
#[derive(Debug)]
pub struct UserRow(pub User);

impl FromRow<'_, PgRow> for UserRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        read_account(&mut ColumnReader::new(row)).map(Self)
    }
}

/// A user as selected by [`shown_user_columns!`].
///
/// The columns of [`crate::hidden_user_columns!`], identities and factors are not loaded.
#[derive(Debug)]
pub struct ShownUserRow(pub User);

impl FromRow<'_, PgRow> for ShownUserRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        read_shown_user(&mut ColumnReader::new(row)).map(Self)
    }
}

/// A user without secrets, and the session of a request that only reads.
#[derive(Debug)]
pub struct UserToRead {
    /// The user; the columns of [`crate::hidden_user_columns!`] are not loaded.
    pub user: User,
    /// The requested session, if it exists.
    pub session: Option<SessionOrigin>,
}

/// The OAuth client that a session was issued to.
#[derive(Debug, Clone)]
pub struct SessionOrigin {
    pub oauth_client_id: Option<Uuid>,
    pub scopes: Option<String>,
}

impl FromRow<'_, PgRow> for UserToRead {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let mut columns = ColumnReader::new(row);
        let mut user = read_shown_user(&mut columns)?;
        read_user_lists(&mut columns, &mut user)?;
        let session = match columns.get::<Option<Uuid>>("session_id")? {
            Some(_) => Some(SessionOrigin {
                oauth_client_id: columns.get("session_oauth_client_id")?,
                scopes: columns.get("session_scopes")?,
            }),
            None => None,
        };
        Ok(Self { user, session })
    }
}

/// Whether a user and a session may act now.
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    /// End of the user's ban, which may have passed.
    pub banned_until: Option<Time>,
    /// Whether the requested session exists.
    pub has_session: bool,
}

impl FromRow<'_, PgRow> for Standing {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let mut columns = ColumnReader::new(row);
        Ok(Self { banned_until: columns.some_time("banned_until")?, has_session: columns.get("has_session")? })
    }
}

fn read_account(columns: &mut ColumnReader<'_>) -> sqlx::Result<User> {
    let mut user = read_shown_user(columns)?;
    read_hidden_columns(columns, &mut user)?;
    read_user_lists(columns, &mut user)?;
    Ok(user)
}

/// Reads the columns of [`shown_user_columns!`] in their order.
fn read_shown_user(columns: &mut ColumnReader<'_>) -> sqlx::Result<User> {
    Ok(User {
        id: columns.get("id")?,
        aud: columns.text("aud")?,
        role: columns.text("role")?,
        email: columns.some_text("email")?,
        phone: columns.some_text("phone")?,
        email_confirmed_at: columns.some_time("email_confirmed_at")?,
        phone_confirmed_at: columns.some_time("phone_confirmed_at")?,
        confirmed_at: columns.some_time("confirmed_at")?,
        invited_at: columns.some_time("invited_at")?,
        confirmation_sent_at: columns.some_time("confirmation_sent_at")?,
        recovery_sent_at: columns.some_time("recovery_sent_at")?,
        email_change: columns.text("email_change")?,
        email_change_sent_at: columns.some_time("email_change_sent_at")?,
        phone_change: columns.text("phone_change")?,
        phone_change_sent_at: columns.some_time("phone_change_sent_at")?,
        reauthentication_sent_at: columns.some_time("reauthentication_sent_at")?,
        last_sign_in_at: columns.some_time("last_sign_in_at")?,
        app_metadata: columns.object("raw_app_meta_data")?,
        user_metadata: columns.object("raw_user_meta_data")?,
        is_anonymous: columns.get("is_anonymous")?,
        banned_until: columns.some_time("banned_until")?,
        deleted_at: columns.some_time("deleted_at")?,
        created_at: columns.time("created_at")?,
        updated_at: columns.time("updated_at")?,
        ..User::default()
    })
}

/// Reads the columns of [`crate::hidden_user_columns!`] in their order.
fn read_hidden_columns(columns: &mut ColumnReader<'_>, user: &mut User) -> sqlx::Result<()> {
    user.encrypted_password = columns.get("encrypted_password")?;
    user.confirmation_token = columns.text("confirmation_token")?;
    user.recovery_token = columns.text("recovery_token")?;
    user.email_change_token_current = columns.text("email_change_token_current")?;
    user.email_change_token_new = columns.text("email_change_token_new")?;
    user.email_change_confirm_status = columns.get::<Option<i16>>("email_change_confirm_status")?.unwrap_or_default();
    user.phone_change_token = columns.text("phone_change_token")?;
    user.reauthentication_token = columns.text("reauthentication_token")?;
    user.is_super_admin = columns.get("is_super_admin")?;
    user.is_sso_user = columns.get("is_sso_user")?;
    Ok(())
}

/// Reads the columns of [`user_list_columns!`] and sorts their entries.
fn read_user_lists(columns: &mut ColumnReader<'_>, user: &mut User) -> sqlx::Result<()> {
    let mut identities: Vec<IdentityRow> = columns.list("identities")?;
    identities.sort_by_key(|row| (row.created_at.is_none(), row.created_at, row.id));
    user.identities = identities.into_iter().map(IdentityRow::into_identity).collect();
    let mut factors: Vec<FactorRow> = columns.list("factors")?;
    factors.sort_by_key(|row| (row.updated_at, row.last_challenged_at, row.id));
    user.factors = factors.into_iter().map(FactorRow::into_factor).collect();
    Ok(())
}

/// A session as selected by [`session_columns!`]; `None` where an outer join found none.
#[derive(Debug)]
pub struct SessionRow(pub Option<Session>);

impl FromRow<'_, PgRow> for SessionRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        read_session(&mut ColumnReader::new(row)).map(Self)
    }
}

/// Reads the columns of a session in the order of [`session_columns!`].
fn read_session(columns: &mut ColumnReader<'_>) -> sqlx::Result<Option<Session>> {
    let Some(id) = columns.get::<Option<Uuid>>("session_id")? else { return Ok(None) };
    Ok(Some(Session {
        id,
        user_id: columns.get("session_user_id")?,
        aal: Aal::parse(&columns.text("session_aal")?),
        factor_id: columns.get("session_factor_id")?,
        not_after: columns.some_time("session_not_after")?,
        refreshed_at: columns.get::<Option<StoredTime>>("session_refreshed_at")?.map(|time| time.0),
        user_agent: columns.get("session_user_agent")?,
        ip: columns.get::<Option<IpNetwork>>("session_ip")?.map(|network| network.ip().to_string()),
        tag: columns.get("session_tag")?,
        oauth_client_id: columns.get("session_oauth_client_id")?,
        scopes: columns.get("session_scopes")?,
        refresh_token_hmac_key: columns.get("session_refresh_token_hmac_key")?,
        refresh_token_counter: columns.get("session_refresh_token_counter")?,
        created_at: columns.time("session_created_at")?,
        updated_at: columns.time("session_updated_at")?,
        amr: columns.list("session_amr")?.into_iter().map(AmrRow::into_claim).collect(),
    }))
}

/// A user with an optional session, from one statement.
#[derive(Debug)]
pub struct UserAndSession {
    pub user: User,
    /// The requested session, if it exists.
    pub session: Option<Session>,
}

impl FromRow<'_, PgRow> for UserAndSession {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let mut columns = ColumnReader::new(row);
        Ok(Self { user: read_account(&mut columns)?, session: read_session(&mut columns)? })
    }
}

#[derive(Deserialize)]
struct IdentityRow {
    id: Uuid,
    user_id: Uuid,
    provider: String,
    provider_id: String,
    identity_data: Map<String, Value>,
    email: Option<String>,
    last_sign_in_at: Option<JsonTime>,
    created_at: Option<JsonTime>,
    updated_at: Option<JsonTime>,
}

/// A timestamp as `to_json` writes it (RFC 3339).
///
/// The parser of chrono's `Deserialize` takes five times as long.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct JsonTime(DateTime<Utc>);

impl<'de> Deserialize<'de> for JsonTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(JsonTimeVisitor)
    }
}

struct JsonTimeVisitor;

impl Visitor<'_> for JsonTimeVisitor {
    type Value = JsonTime;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a timestamp")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<JsonTime, E> {
        // Almost all texts are of this form, and this parser is the quickest.
        if let Ok(time) = DateTime::parse_from_rfc3339(text) {
            return Ok(JsonTime(time.to_utc()));
        }
        StoredTime::parse(text).map(|time| JsonTime(time.0.and_utc())).map_err(E::custom)
    }
}

impl IdentityRow {
    fn into_identity(self) -> Identity {
        Identity {
            id: self.id,
            user_id: self.user_id,
            provider: self.provider,
            provider_id: self.provider_id,
            identity_data: self.identity_data,
            email: self.email,
            last_sign_in_at: self.last_sign_in_at.map(|time| time.0),
            created_at: self.created_at.unwrap_or_default().0,
            updated_at: self.updated_at.unwrap_or_default().0,
        }
    }
}

#[derive(Deserialize)]
struct FactorRow {
    id: Uuid,
    friendly_name: Option<String>,
    factor_type: String,
    status: String,
    phone: Option<String>,
    last_challenged_at: Option<JsonTime>,
    web_authn_aaguid: Option<Uuid>,
    last_webauthn_challenge_data: Option<Value>,
    created_at: JsonTime,
    updated_at: JsonTime,
}

impl FactorRow {
    fn into_factor(self) -> Factor {
        Factor {
            id: self.id,
            friendly_name: self.friendly_name.unwrap_or_default(),
            factor_type: self.factor_type,
            status: self.status,
            phone: self.phone.unwrap_or_default(),
            last_challenged_at: self.last_challenged_at.map(|time| time.0),
            web_authn_aaguid: self.web_authn_aaguid,
            last_webauthn_challenge_data: self.last_webauthn_challenge_data,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
        }
    }
}

#[derive(Deserialize)]
struct AmrRow {
    method: String,
    updated_at: JsonTime,
}

impl AmrRow {
    fn into_claim(self) -> AmrClaim {
        AmrClaim { method: self.method, updated_at: self.updated_at.0 }
    }
}
