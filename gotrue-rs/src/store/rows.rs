//! Conversion of database rows to users and sessions of `gotrue-rules`.
//!
//! The column lists are defined here, so that every statement that returns a user reads the same columns.

use chrono::{DateTime, NaiveDateTime, Utc};
use gotrue_rules::domain::session::{Aal, AmrClaim, Session};
use gotrue_rules::domain::user::{Factor, Identity, User};
use serde::Deserialize;
use serde_json::{Map, Value};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::types::ipnetwork::IpNetwork;
use sqlx::{FromRow, Row};
use uuid::Uuid;

/// The columns of a user from relation `u`, without identities and factors.
macro_rules! account_alone_columns {
    () => {
        "u.id, u.aud, u.role, u.email, u.phone, u.encrypted_password, u.email_confirmed_at, u.phone_confirmed_at,
         u.confirmed_at, u.invited_at, u.confirmation_token, u.confirmation_sent_at, u.recovery_token,
         u.recovery_sent_at, u.email_change_token_current, u.email_change_token_new, u.email_change,
         u.email_change_sent_at, u.email_change_confirm_status, u.phone_change_token, u.phone_change,
         u.phone_change_sent_at, u.reauthentication_token, u.reauthentication_sent_at, u.last_sign_in_at,
         u.raw_app_meta_data, u.raw_user_meta_data, u.is_super_admin, u.is_sso_user, u.is_anonymous,
         u.banned_until, u.deleted_at, u.created_at, u.updated_at"
    };
}
pub(crate) use account_alone_columns;

/// The columns of a user from relation `u`, with its identities and factors as JSON.
macro_rules! account_columns {
    () => {
        concat!(
            crate::store::rows::account_alone_columns!(),
            ",
         (SELECT json_agg(i ORDER BY i.created_at, i.id) FROM identities i WHERE i.user_id = u.id) AS identities,
         (SELECT json_agg(json_build_object(
                     'id', f.id,
                     'friendly_name', f.friendly_name,
                     'factor_type', f.factor_type,
                     'status', f.status,
                     'phone', f.phone,
                     'last_challenged_at', f.last_challenged_at,
                     'web_authn_aaguid', f.web_authn_aaguid,
                     'last_webauthn_challenge_data', f.last_webauthn_challenge_data,
                     'created_at', f.created_at,
                     'updated_at', f.updated_at) ORDER BY f.updated_at, f.last_challenged_at NULLS FIRST, f.id)
          FROM mfa_factors f WHERE f.user_id = u.id) AS factors"
        )
    };
}
pub(crate) use account_columns;

/// The columns of a session from relation `s`, with its AMR claims as JSON.
///
/// Each name is prefixed with `session_`.
macro_rules! session_columns {
    () => {
        "s.id AS session_id, s.user_id AS session_user_id, s.aal::text AS session_aal, s.factor_id AS session_factor_id,
         s.not_after AS session_not_after, s.refreshed_at AS session_refreshed_at, s.user_agent AS session_user_agent,
         s.ip AS session_ip, s.tag AS session_tag, s.oauth_client_id AS session_oauth_client_id,
         s.scopes AS session_scopes, s.refresh_token_hmac_key AS session_refresh_token_hmac_key,
         s.refresh_token_counter AS session_refresh_token_counter, s.created_at AS session_created_at,
         s.updated_at AS session_updated_at,
         (SELECT json_agg(json_build_object('method', c.authentication_method, 'updated_at', c.updated_at))
          FROM mfa_amr_claims c WHERE c.session_id = s.id) AS session_amr"
    };
}
pub(crate) use session_columns;

/// A user as selected by [`account_columns!`].
#[derive(Debug)]
pub struct AccountRow(pub User);

impl FromRow<'_, PgRow> for AccountRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let AccountAloneRow(mut account) = AccountAloneRow::from_row(row)?;
        account.identities = list(row, "identities", IdentityRow::into_identity)?;
        account.factors = list(row, "factors", FactorRow::into_factor)?;
        Ok(Self(account))
    }
}

/// A user as selected by [`account_alone_columns!`], without identities and factors.
#[derive(Debug)]
pub struct AccountAloneRow(pub User);

impl FromRow<'_, PgRow> for AccountAloneRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let mut account = read_contact_and_state(row)?;
        read_pending_tokens(row, &mut account)?;
        Ok(Self(account))
    }
}

fn read_contact_and_state(row: &PgRow) -> sqlx::Result<User> {
    Ok(User {
        id: row.try_get("id")?,
        aud: text(row, "aud")?,
        role: text(row, "role")?,
        email: some_text(row, "email")?,
        phone: some_text(row, "phone")?,
        encrypted_password: row.try_get("encrypted_password")?,
        email_confirmed_at: row.try_get("email_confirmed_at")?,
        phone_confirmed_at: row.try_get("phone_confirmed_at")?,
        confirmed_at: row.try_get("confirmed_at")?,
        invited_at: row.try_get("invited_at")?,
        last_sign_in_at: row.try_get("last_sign_in_at")?,
        app_metadata: object(row, "raw_app_meta_data")?,
        user_metadata: object(row, "raw_user_meta_data")?,
        is_super_admin: row.try_get("is_super_admin")?,
        is_sso_user: row.try_get("is_sso_user")?,
        is_anonymous: row.try_get("is_anonymous")?,
        banned_until: row.try_get("banned_until")?,
        deleted_at: row.try_get("deleted_at")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
        ..User::default()
    })
}

fn read_pending_tokens(row: &PgRow, account: &mut User) -> sqlx::Result<()> {
    account.confirmation_token = text(row, "confirmation_token")?;
    account.confirmation_sent_at = row.try_get("confirmation_sent_at")?;
    account.recovery_token = text(row, "recovery_token")?;
    account.recovery_sent_at = row.try_get("recovery_sent_at")?;
    account.email_change_token_current = text(row, "email_change_token_current")?;
    account.email_change_token_new = text(row, "email_change_token_new")?;
    account.email_change = text(row, "email_change")?;
    account.email_change_sent_at = row.try_get("email_change_sent_at")?;
    account.email_change_confirm_status = row.try_get::<Option<i16>, _>("email_change_confirm_status")?.unwrap_or(0);
    account.phone_change_token = text(row, "phone_change_token")?;
    account.phone_change = text(row, "phone_change")?;
    account.phone_change_sent_at = row.try_get("phone_change_sent_at")?;
    account.reauthentication_token = text(row, "reauthentication_token")?;
    account.reauthentication_sent_at = row.try_get("reauthentication_sent_at")?;
    Ok(())
}

/// A session as selected by [`session_columns!`]; `None` where an outer join found none.
#[derive(Debug)]
pub struct SessionRow(pub Option<Session>);

impl FromRow<'_, PgRow> for SessionRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let Some(id) = row.try_get::<Option<Uuid>, _>("session_id")? else { return Ok(Self(None)) };
        let refreshed_at: Option<NaiveDateTime> = row.try_get("session_refreshed_at")?;
        Ok(Self(Some(Session {
            id,
            user_id: row.try_get("session_user_id")?,
            aal: Aal::parse(&text(row, "session_aal")?),
            factor_id: row.try_get("session_factor_id")?,
            not_after: row.try_get("session_not_after")?,
            refreshed_at,
            user_agent: row.try_get("session_user_agent")?,
            ip: row.try_get::<Option<IpNetwork>, _>("session_ip")?.map(|network| network.ip().to_string()),
            tag: row.try_get("session_tag")?,
            oauth_client_id: row.try_get("session_oauth_client_id")?,
            scopes: row.try_get("session_scopes")?,
            refresh_token_hmac_key: row.try_get("session_refresh_token_hmac_key")?,
            refresh_token_counter: row.try_get("session_refresh_token_counter")?,
            created_at: time(row, "session_created_at")?,
            updated_at: time(row, "session_updated_at")?,
            amr: list(row, "session_amr", AmrRow::into_claim)?,
        })))
    }
}

/// A user with an optional session, from one statement.
#[derive(Debug)]
pub struct AccountAndSession {
    /// The user.
    pub account: User,
    /// The requested session, if it exists.
    pub session: Option<Session>,
}

impl FromRow<'_, PgRow> for AccountAndSession {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self { account: AccountRow::from_row(row)?.0, session: SessionRow::from_row(row)?.0 })
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
    last_sign_in_at: Option<DateTime<Utc>>,
    created_at: Option<DateTime<Utc>>,
    updated_at: Option<DateTime<Utc>>,
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
            last_sign_in_at: self.last_sign_in_at,
            created_at: self.created_at.unwrap_or_default(),
            updated_at: self.updated_at.unwrap_or_default(),
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
    last_challenged_at: Option<DateTime<Utc>>,
    web_authn_aaguid: Option<Uuid>,
    last_webauthn_challenge_data: Option<Value>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl FactorRow {
    fn into_factor(self) -> Factor {
        Factor {
            id: self.id,
            friendly_name: self.friendly_name.unwrap_or_default(),
            factor_type: self.factor_type,
            status: self.status,
            phone: self.phone.unwrap_or_default(),
            last_challenged_at: self.last_challenged_at,
            web_authn_aaguid: self.web_authn_aaguid,
            last_webauthn_challenge_data: self.last_webauthn_challenge_data,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

#[derive(Deserialize)]
struct AmrRow {
    method: String,
    updated_at: DateTime<Utc>,
}

impl AmrRow {
    fn into_claim(self) -> AmrClaim {
        AmrClaim { method: self.method, updated_at: self.updated_at }
    }
}

fn text(row: &PgRow, column: &str) -> sqlx::Result<String> {
    Ok(row.try_get::<Option<String>, _>(column)?.unwrap_or_default())
}

fn some_text(row: &PgRow, column: &str) -> sqlx::Result<Option<String>> {
    Ok(row.try_get::<Option<String>, _>(column)?.filter(|text| !text.is_empty()))
}

fn time(row: &PgRow, column: &str) -> sqlx::Result<DateTime<Utc>> {
    Ok(row.try_get::<Option<DateTime<Utc>>, _>(column)?.unwrap_or_default())
}

fn object(row: &PgRow, column: &str) -> sqlx::Result<Map<String, Value>> {
    match row.try_get::<Option<Json<Value>>, _>(column)? {
        Some(Json(Value::Object(object))) => Ok(object),
        _ => Ok(Map::new()),
    }
}

fn list<T, U>(row: &PgRow, column: &str, convert: fn(T) -> U) -> sqlx::Result<Vec<U>>
where
    T: for<'d> Deserialize<'d>,
{
    let rows = row.try_get::<Option<Json<Vec<T>>>, _>(column)?;
    Ok(rows.map_or_else(Vec::new, |Json(rows)| rows.into_iter().map(convert).collect()))
}
