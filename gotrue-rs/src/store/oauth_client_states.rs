//! `auth.oauth_client_states`: PKCE verifiers for external providers (RFC 7636).
//!
//! `flow_state::external::insert` stores them together with their flow.

use gotrue_rules::domain::external::state::StoredVerifier;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use platform::store::stored_time::StoredTime;
use uuid::Uuid;

statements! {
    TAKE = "oauth_client_states.consume":
        "DELETE FROM oauth_client_states
         WHERE id = :id
         RETURNING provider_type, code_verifier, created_at";
}

/// Deletes a verifier and returns it.
pub async fn take(db: &mut Connection, id: Uuid) -> Result<Option<StoredVerifier>> {
    let row: Option<(String, Option<String>, StoredTime)> = db.fetch_optional(bind!(TAKE, id)).await?;
    Ok(row.map(|(provider, verifier, created_at)| StoredVerifier {
        provider,
        verifier: verifier.unwrap_or_default(),
        created_at: created_at.0.and_utc(),
    }))
}
