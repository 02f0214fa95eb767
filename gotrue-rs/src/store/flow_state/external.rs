//! Flows that wait for a browser to come back from a provider.

use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::user::{Account, Time};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use crate::store::Result;
use crate::store::rows::{AccountRow, account_columns};
use crate::store::statement::{Connection, Statement, args};

/// A flow that sends a browser to a provider.
#[derive(Debug)]
pub struct NewExternal<'a> {
    /// `id`: the state.
    pub id: Uuid,
    /// `provider_type`: the provider as it was asked for.
    pub provider: &'a str,
    /// The challenge with the code that will be exchanged for it; none for an implicit flow.
    pub pkce: Option<(&'a Challenge, Uuid)>,
    /// `invite_token`; none without one.
    pub invite_token: Option<&'a str>,
    /// `referrer`: where the browser goes in the end.
    pub target: &'a str,
    /// Id and text of the verifier that the provider is promised; none for a provider that wants none.
    pub verifier: Option<(Uuid, &'a str)>,
    /// `linking_target_id`: whose account the identity is for, when somebody links by hand.
    pub linking_target: Option<Uuid>,
    /// `email_optional`.
    pub email_optional: bool,
    /// When it was asked for.
    pub now: Time,
}

const INSERT: Statement = Statement {
    name: "flow_state.insert_external",
    sql: "WITH s AS (
              INSERT INTO oauth_client_states (id, provider_type, code_verifier, created_at)
              SELECT $8::uuid, $5::text, $9::text, $12::timestamptz
              WHERE $8::uuid IS NOT NULL
          )
          INSERT INTO flow_state (id, auth_code, code_challenge_method, code_challenge, provider_type,
                                  provider_access_token, provider_refresh_token, authentication_method, invite_token,
                                  referrer, oauth_client_state_id, linking_target_id, email_optional, created_at,
                                  updated_at)
          VALUES ($1, $2, $3::code_challenge_method, $4, $5, '', '', 'oauth', $6, $7, $8, $10, $11, $12, $12)",
};

/// Keeps a flow, and the verifier that goes with it.
pub async fn insert(db: &mut Connection, new: NewExternal<'_>) -> Result<()> {
    let values = args![
        new.id,
        new.pkce.map(|(_, code)| code.to_string()),
        new.pkce.map(|(challenge, _)| challenge.method.as_str()),
        new.pkce.map(|(challenge, _)| challenge.text.as_str()),
        new.provider,
        new.invite_token,
        new.target,
        new.verifier.map(|(id, _)| id),
        new.verifier.map(|(_, text)| text),
        new.linking_target,
        new.email_optional,
        new.now,
    ];
    db.execute(&INSERT, values).await?;
    Ok(())
}

/// A flow that a browser came back to.
#[derive(Debug)]
pub struct External {
    /// `id`.
    pub id: Uuid,
    /// `provider_type`: the provider as it was asked for.
    pub provider: String,
    /// It ends with a code, not with a session.
    pub is_pkce: bool,
    /// It has its account: somebody came back before.
    pub is_used: bool,
    /// `invite_token`; empty: none.
    pub invite_token: String,
    /// `referrer`; empty: none.
    pub target: String,
    /// `oauth_client_state_id`.
    pub verifier: Option<Uuid>,
    /// Whose account the identity is for, when somebody links by hand.
    pub linking: Linking,
    /// `email_optional`.
    pub email_optional: bool,
    /// `created_at`.
    pub created_at: Time,
}

/// Whose account an identity is for.
#[derive(Debug)]
pub enum Linking {
    /// Nobody said: it is found out.
    None,
    /// This one's.
    To(Box<Account>),
    /// Somebody's who is gone.
    Gone,
}

impl FromRow<'_, PgRow> for External {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let text = |column| Ok::<_, sqlx::Error>(row.try_get::<Option<String>, _>(column)?.unwrap_or_default());
        let is_for = row.try_get::<Option<Uuid>, _>("flow_linking_target")?;
        let linking = match (is_for, row.try_get::<Option<Uuid>, _>("id")?) {
            (None, _) => Linking::None,
            (Some(_), Some(_)) => Linking::To(Box::new(AccountRow::from_row(row)?.0)),
            (Some(_), None) => Linking::Gone,
        };
        Ok(Self {
            id: row.try_get("flow_id")?,
            provider: row.try_get("flow_provider")?,
            is_pkce: row.try_get("flow_is_pkce")?,
            is_used: row.try_get("flow_is_used")?,
            invite_token: text("flow_invite_token")?,
            target: text("flow_target")?,
            verifier: row.try_get("flow_verifier")?,
            linking,
            email_optional: row.try_get("flow_email_optional")?,
            created_at: row.try_get::<Option<Time>, _>("flow_created_at")?.unwrap_or_default(),
        })
    }
}

const BY_STATE: Statement = Statement {
    name: "flow_state.by_state",
    sql: concat!(
        "SELECT f.id AS flow_id, f.provider_type AS flow_provider, COALESCE(f.code_challenge, '') <> '' AS flow_is_pkce,
                f.user_id IS NOT NULL AS flow_is_used, f.invite_token AS flow_invite_token, f.referrer AS flow_target,
                f.oauth_client_state_id AS flow_verifier, f.linking_target_id AS flow_linking_target,
                f.email_optional AS flow_email_optional, f.created_at AS flow_created_at, ",
        account_columns!(),
        "
         FROM flow_state f
         LEFT JOIN users u ON u.id = f.linking_target_id
         WHERE f.id = $1
           AND f.authentication_method = 'oauth'"
    ),
};

/// The flow of a state, with the account that it links to; none for an id that is unknown or that of another flow than
/// one through a provider.
pub async fn by_state(db: &mut Connection, state: Uuid) -> Result<Option<External>> {
    db.optional(&BY_STATE, args![state]).await
}

/// What a provider's sign-in came to.
#[derive(Debug)]
pub struct Settled<'a> {
    /// `id`.
    pub id: Uuid,
    /// `user_id`.
    pub user_id: Uuid,
    /// `provider_access_token`; empty: none.
    pub access_token: &'a str,
    /// `provider_refresh_token`; empty: none.
    pub refresh_token: &'a str,
    /// When.
    pub now: Time,
}

const SETTLE: Statement = Statement {
    name: "flow_state.settle",
    sql: "UPDATE flow_state
          SET user_id = $2,
              provider_access_token = $3,
              provider_refresh_token = $4,
              auth_code_issued_at = $5,
              updated_at = $5
          WHERE id = $1
            AND user_id IS NULL
          RETURNING auth_code",
};

/// Gives a flow its account and the provider's tokens, once: of two who come back one gets the code.
pub async fn settle(db: &mut Connection, settled: Settled<'_>) -> Result<Option<String>> {
    let Settled { id, user_id, access_token, refresh_token, now } = settled;
    let row: Option<(Option<String>,)> =
        db.optional(&SETTLE, args![id, user_id, access_token, refresh_token, now]).await?;
    Ok(row.and_then(|(code,)| code))
}

/// Every statement of these flows.
pub const ALL: &[&Statement] = &[&INSERT, &BY_STATE, &SETTLE];
