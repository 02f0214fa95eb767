//! `auth.flow_state`: flows from the request to the code exchange or the end of a provider's sign-in.

pub mod external;

use foundation::time::Time;
use gotrue_rules::domain::user::User;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::TimeColumn;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use super::rows::{UserRow, account_columns};

statements! {
    modules: external;

    INSERT = "flow_state.insert":
        "INSERT INTO flow_state (id, user_id, auth_code, code_challenge_method, code_challenge, provider_type,
                                 provider_access_token, provider_refresh_token, authentication_method, email_optional,
                                 created_at, updated_at)
         VALUES (:flow_id, :user_id, :auth_code, :challenge_method::code_challenge_method, :challenge, :provider, '',
                 '', :method, false, :now, :now)";

    ISSUE_CODE = "flow_state.issue_code":
        "UPDATE flow_state
         SET auth_code_issued_at = :now, updated_at = :now
         WHERE id = (SELECT id
                     FROM flow_state
                     WHERE user_id = :user_id
                       AND authentication_method = :method
                     ORDER BY created_at DESC
                     LIMIT 1)
         RETURNING auth_code";

    #[repeatable]
    BY_CODE = "flow_state.by_code": concat!(
        "SELECT f.id AS flow_id, f.code_challenge AS flow_challenge,
                f.code_challenge_method::text AS flow_challenge_method, f.provider_type AS flow_provider_type,
                f.authentication_method AS flow_method, f.provider_access_token AS flow_access_token,
                f.provider_refresh_token AS flow_refresh_token, f.auth_code_issued_at AS flow_code_issued_at,
                f.created_at AS flow_created_at, ",
        account_columns!(),
        "
         FROM flow_state f
         JOIN users u ON u.id = f.user_id
         WHERE f.auth_code = :auth_code"
    );

    DELETE = "flow_state.delete": "DELETE FROM flow_state WHERE id = :flow_id";
}

/// A flow to insert.
#[derive(Debug)]
pub struct NewFlow<'a> {
    pub id: Uuid,
    /// `user_id`, for e-mail flows.
    pub user_id: Option<Uuid>,
    /// `auth_code`: the value of `?code=`.
    pub auth_code: Uuid,
    /// `code_challenge`.
    pub challenge: &'a str,
    /// `code_challenge_method`: `s256` or `plain`.
    pub challenge_method: &'a str,
    pub provider_type: &'a str,
    /// `authentication_method`.
    pub method: &'a str,
    /// The time of the request.
    pub now: Time,
}

/// Inserts a flow.
pub async fn insert(db: &mut Connection, flow: NewFlow<'_>) -> Result<()> {
    let bound = bind!(
        INSERT,
        flow_id: flow.id,
        user_id: flow.user_id,
        auth_code: flow.auth_code.to_string(),
        challenge_method: flow.challenge_method,
        challenge: flow.challenge,
        provider: flow.provider_type,
        method: flow.method,
        now: flow.now,
    );
    db.execute(bound).await?;
    Ok(())
}

/// Marks the user's newest flow of that method as issued and returns its code, if there is one.
pub async fn issue_code(db: &mut Connection, user_id: Uuid, method: &str, now: Time) -> Result<Option<String>> {
    let row: Option<(Option<String>,)> = db.fetch_optional(bind!(ISSUE_CODE, user_id, method, now)).await?;
    Ok(row.and_then(|(code,)| code))
}

/// A flow whose code was presented.
#[derive(Debug)]
pub struct Flow {
    pub id: Uuid,
    /// `code_challenge`; `None` for an implicit flow.
    pub challenge: Option<String>,
    /// `code_challenge_method`.
    pub challenge_method: Option<String>,
    pub provider_type: String,
    /// `authentication_method`.
    pub method: String,
    /// `provider_access_token`, if the provider issued one.
    pub provider_access_token: Option<String>,
    /// `provider_refresh_token`, if the provider issued one.
    pub provider_refresh_token: Option<String>,
    pub auth_code_issued_at: Option<Time>,
    pub created_at: Time,
    /// The user that the code signs in.
    pub user: User,
}

impl FromRow<'_, PgRow> for Flow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let token =
            |column| Ok::<_, sqlx::Error>(row.try_get::<Option<String>, _>(column)?.filter(|token| !token.is_empty()));
        Ok(Self {
            id: row.try_get("flow_id")?,
            challenge: row.try_get("flow_challenge")?,
            challenge_method: row.try_get("flow_challenge_method")?,
            provider_type: row.try_get("flow_provider_type")?,
            method: row.try_get("flow_method")?,
            provider_access_token: token("flow_access_token")?,
            provider_refresh_token: token("flow_refresh_token")?,
            auth_code_issued_at: TimeColumn::read(row, "flow_code_issued_at")?,
            created_at: <Option<Time> as TimeColumn>::read(row, "flow_created_at")?.unwrap_or_default(),
            user: UserRow::from_row(row)?.0,
        })
    }
}

/// Returns the flow of a code with its user; `None` for an unknown code or a flow without a user.
pub async fn find_by_code(db: &mut Connection, code: &str) -> Result<Option<Flow>> {
    db.fetch_optional(bind!(BY_CODE, auth_code: code)).await
}

/// Deletes a flow and returns the number of rows: of two concurrent exchanges one gets 1.
pub async fn delete(db: &mut Connection, id: Uuid) -> Result<u64> {
    db.execute(bind!(DELETE, flow_id: id)).await
}
