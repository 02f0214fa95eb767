//! Replay detection of authorization codes (RFC 6749 §4.1.2).
//!
//! A replay revokes the session of the first exchange.
//!
//! A code counts as exchanged once the exchange is committed. Of two concurrent requests, the second waits for the
//! first. If the first commits, the second is a replay and revokes the session, even if it is the retry of an honest
//! client. If the first rolls back, the second exchanges the code.

use aws_lc_rs::digest::{Digest, SHA256, digest};
use chrono::TimeDelta;
use foundation::error::Result;
use foundation::time::Time;
use platform::store::{Connection, OrInternalError};
use uuid::Uuid;

use crate::request_context::RequestContext;
use crate::store::exchanged_codes::{self, ExchangedCode};

/// How long after the exchange a replay is detected.
///
/// A code lives for minutes, so later replays are very rare.
const REPLAY_WINDOW: TimeDelta = TimeDelta::days(1);

const REVOCATION_FAILED: &str = "Error revoking the tokens of an authorization code";

/// Records the session of an exchanged code, in the transaction of the exchange.
pub async fn record_exchange(
    cx: &RequestContext,
    db: &mut Connection,
    client: Uuid,
    code: &str,
    session: Uuid,
) -> Result<()> {
    if !cx.app.policy.oauth_server.should_revoke_on_code_replay {
        return Ok(());
    }
    let digest = code_digest(code);
    let exchanged = ExchangedCode {
        digest: digest.as_ref(),
        client_id: client,
        session_id: session,
        ends_at: cx.now.checked_add_signed(REPLAY_WINDOW).unwrap_or(Time::MAX_UTC),
        now: cx.now,
    };
    exchanged_codes::insert(db, exchanged).await.or_internal_error("Error recording an authorization code")
}

/// Revokes the session that this client received for the code.
///
/// A code of another client revokes nothing.
pub async fn revoke_replayed(cx: &RequestContext, client: Uuid, code: &str) -> Result<()> {
    if !cx.app.policy.oauth_server.should_revoke_on_code_replay || Uuid::parse_str(code).is_err() {
        return Ok(());
    }
    if exchanged_codes::delete_session(&mut cx.db(), code_digest(code).as_ref(), client)
        .await
        .or_internal_error(REVOCATION_FAILED)?
    {
        tracing::warn!(
            request.id = cx.request.id,
            oauth.client_id = %client,
            "authorization code replayed, session revoked"
        );
    }
    Ok(())
}

fn code_digest(code: &str) -> Digest {
    digest(&SHA256, code.as_bytes())
}
