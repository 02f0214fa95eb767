//! `auth.oauth_client_states`: verifiers of ours that providers were promised (RFC 7636). They are kept by
//! `flow_state::external::insert`, together with the flow that needs them.

use gotrue_rules::domain::external::state::KeptVerifier;
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

/// Takes a verifier back, once.
pub async fn take(db: &mut Connection, id: Uuid) -> Result<Option<KeptVerifier>> {
    let row: Option<(String, Option<String>, Time)> = db.optional(&TAKE, args![id]).await?;
    Ok(row.map(|(provider, verifier, created_at)| KeptVerifier {
        provider,
        verifier: verifier.unwrap_or_default(),
        created_at,
    }))
}

/// Every statement of this table.
pub const ALL: &[&Statement] = &[&TAKE];
