//! `grant_type=pkce`: exchanges the code of a flow and the verifier of its challenge for a session.
//!
//! A code works once.

use std::time::Duration;

use foundation::error::{Error, ErrorCode, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::explanation::verification::explain_verifier;
use gotrue_rules::domain::pkce::{Challenge, FlowState, unknown_code};
use gotrue_rules::wire::requests::PkceGrant;
use platform::explanation::history::digest_secret;
use platform::journal::{Fact, FactCondition};

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::explanations;
use crate::services::sessions::create::{Authentication, create_session};
use crate::services::sessions::{self, SessionExtras};
use crate::store::flow_state::{self, Flow as StoredFlow};

/// The minimum lifetime of a code.
const MIN_LIFETIME: Duration = Duration::from_mins(5);

/// Verifies code and verifier and returns a session by the flow's method.
pub(super) async fn grant_pkce(cx: &RequestContext) -> Result<Reply> {
    let request = PkceGrant::decode(&cx.read_body().await?)?;
    if request.auth_code.is_empty() || request.code_verifier.is_empty() {
        cx.journal.record_decision(explain_verifier(true));
        return Err(Error::invalid("invalid request: both auth code and code verifier should be non-empty"));
    }
    let stored = flow_state::find_by_code(&mut cx.db(), &request.auth_code).await?;
    let stored = stored.ok_or_else(|| {
        explanations::record_unknown_code(cx, &request.auth_code);
        unknown_code()
    })?;
    let life = cx.app.policy.external.flow_state_expiry.max(MIN_LIFETIME);
    let verified = flow_from_row(&stored)?.verify_exchange(&request.code_verifier, life, cx.now);
    verified.inspect_err(|error| {
        if error.code() == ErrorCode::BadCodeVerifier {
            cx.journal.record_decision(explain_verifier(false));
        }
    })?;
    cx.note(FactCondition::Success, || Fact::SecretUsed { digest: digest_secret(&request.auth_code) });
    let entry = AuditEntry::new(AuditAction::Login).with_trait("provider_type", stored.provider_type.as_str());
    let mut db = sessions::begin_token_transaction(cx).await?;
    if flow_state::delete(&mut db, stored.id).await? == 0 {
        return Err(unknown_code());
    }
    let authentication = Authentication::new(&stored.user, &stored.method, vec![entry]);
    let issued = create_session(cx, &mut db, authentication).await?;
    db.commit().await?;
    Ok(issued.reply(SessionExtras {
        provider_token: stored.provider_access_token.as_deref(),
        provider_refresh_token: stored.provider_refresh_token.as_deref(),
        ..SessionExtras::default()
    }))
}

fn flow_from_row(stored: &StoredFlow) -> Result<FlowState> {
    let text = stored.challenge.as_deref().unwrap_or_default();
    let challenge = Challenge::new(text, stored.challenge_method.as_deref().unwrap_or_default())?;
    Ok(FlowState {
        challenge,
        method: stored.method.clone(),
        created_at: stored.created_at,
        auth_code_issued_at: stored.auth_code_issued_at,
    })
}
