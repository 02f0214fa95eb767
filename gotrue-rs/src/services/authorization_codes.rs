//! Replayed authorization codes (RFC 6749 §4.1.2): a client that presents a code again loses the session that the code
//! opened.
//!
//! A code counts as exchanged once the exchange is committed. Of two requests at once the second waits for the outcome of
//! the first: if that commits, the second is a replay and ends the session, also where it is an honest client's retry; if
//! it rolls back, the second exchanges the code.

use aws_lc_rs::digest::{Digest, SHA256, digest};
use chrono::TimeDelta;
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::user::Time;
use uuid::Uuid;

use crate::cx::Cx;
use crate::store::exchanged_codes::{self, ExchangedCode};
use crate::store::{Connection, OrRefuse};

/// How long after the exchange a replay is recognised. A code lives for minutes, so later ones are very rare.
const KEPT: TimeDelta = TimeDelta::days(1);

const FAILED: &str = "Error revoking the tokens of an authorization code";

/// Records in the transaction of an exchange which session the code opens.
pub async fn record_exchange(cx: &Cx, db: &mut Connection, client: Uuid, code: &str, session: Uuid) -> Result<()> {
    if !cx.app.policy.oauth_server.replayed_code_revokes {
        return Ok(());
    }
    let digest = digest_of(code);
    let exchanged = ExchangedCode {
        digest: digest.as_ref(),
        client_id: client,
        session_id: session,
        ends_at: cx.now.checked_add_signed(KEPT).unwrap_or(Time::MAX_UTC),
        now: cx.now,
    };
    exchanged_codes::insert(db, exchanged).await.or_refuse("Error recording an authorization code")
}

/// Revokes the session that this client opened with the code before, if it did. A code that another client presents revokes
/// nothing: it was not issued to that client.
pub async fn revoke_replayed(cx: &Cx, client: Uuid, code: &str) -> Result<()> {
    if !cx.app.policy.oauth_server.replayed_code_revokes || Uuid::parse_str(code).is_err() {
        return Ok(());
    }
    if exchanged_codes::revoke(&mut cx.db(), digest_of(code).as_ref(), client).await.or_refuse(FAILED)? {
        tracing::warn!(request.id = cx.request.id, oauth.client_id = %client, "authorization code replayed, session revoked");
    }
    Ok(())
}

fn digest_of(code: &str) -> Digest {
    digest(&SHA256, code.as_bytes())
}
