//! Level and authentication methods of a new session, as a test environment sets them.

use gotrue_rules::domain::session::Session;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;
use uuid::Uuid;

statements! {
    /// The first method of a new session has a row already, which gets the time of the method.
    SET_METHODS = "preset_sessions.set_methods":
        "WITH s AS (
             UPDATE sessions SET aal = :aal::aal_level, factor_id = :factor_id WHERE id = :session_id RETURNING id
         )
         INSERT INTO mfa_amr_claims (id, session_id, authentication_method, created_at, updated_at)
         SELECT m.id, s.id, m.name, m.at, m.at
         FROM s, unnest(:ids::uuid[], :methods::text[], :times::timestamptz[]) AS m (id, name, at)
         ON CONFLICT ON CONSTRAINT mfa_amr_claims_session_id_authentication_method_pkey
         DO UPDATE SET updated_at = EXCLUDED.updated_at";
}

/// Stores level, factor and methods of a session; `ids` has an id for each method.
pub async fn set_methods(db: &mut Connection, session: &Session, ids: Vec<Uuid>) -> Result<()> {
    let (methods, times): (Vec<_>, Vec<_>) =
        session.amr.iter().map(|claim| (claim.method.clone(), claim.updated_at)).unzip();
    let bound = bind!(
        SET_METHODS,
        session_id: session.id,
        aal: session.aal.as_str(),
        factor_id: session.factor_id,
        ids,
        methods,
        times,
    );
    db.execute(bound).await?;
    Ok(())
}
