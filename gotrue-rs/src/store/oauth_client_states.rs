//! `auth.oauth_client_states`: PKCE verifiers for external providers (RFC 7636).
//!
//! `flow_state::external::insert` stores them together with their flow.

use gotrue_rules::domain::external::state::StoredVerifier;
use gotrue_rules::domain::user::Time;
use uuid::Uuid;

use super::Result;
use super::statement::{Connection, Statement, args};

const TAKE: Statement = Statement {
    name: "oauth_client_states.take",
    sql: "DELETE FROM oauth_client_states
          WHERE id = $1
          RETURNING provider_type, code_verifier, created_at",
};

/// Deletes a verifier and returns it.
pub async fn take(db: &mut Connection, id: Uuid) -> Result<Option<StoredVerifier>> {
    let row: Option<(String, Option<String>, Time)> = db.fetch_optional(&TAKE, args![id]).await?;
    Ok(row.map(|(provider, verifier, created_at)| StoredVerifier {
        provider,
        verifier: verifier.unwrap_or_default(),
        created_at,
    }))
}

/// All statements of this table.
pub const ALL: &[&Statement] = &[&TAKE];
