//! The challenge that a request of any factor type issues and stores.

use foundation::error::Result;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::mfa::factor_not_found;
use gotrue_rules::domain::mfa::verification::expires_at;
use gotrue_rules::domain::user::{Factor, User};
use gotrue_rules::wire::factor::ChallengeJson;
use uuid::Uuid;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::audit;
use crate::store::challenges::{self, LAST_CHALLENGED_AT_UNIQUE, NewFactorChallenge};

/// Attempts to find a free timestamp.
const MAX_ATTEMPTS: u32 = 20;

/// Stores a challenge of a code and returns the response.
pub(super) async fn store_code_challenge(
    cx: &RequestContext,
    user: &User,
    factor: &Factor,
    id: Uuid,
    otp_code: &str,
) -> Result<Reply> {
    let entry = AuditEntry::new(AuditAction::ChallengeCreated)
        .with_trait("factor_id", factor.id.to_string())
        .with_trait("factor_status", factor.status.as_str());
    let audit = audit::build_rows(cx, user, [entry]);
    let address = cx.client_ip_or_unspecified();
    let new = NewFactorChallenge { id, factor_id: factor.id, now: cx.now, address, otp_code, session: None, audit };
    Ok(Reply::json(&insert_challenge(cx, factor, new).await?))
}

/// Stores a challenge.
///
/// Timestamps of challenges are unique over all factors: a taken one is moved by a microsecond.
pub(super) async fn insert_challenge<'f>(
    cx: &RequestContext,
    factor: &'f Factor,
    new: NewFactorChallenge<'_>,
) -> Result<ChallengeJson<'f>> {
    let mut tries = 0;
    let is_made = loop {
        tries += 1;
        match challenges::insert(&mut cx.db(), NewFactorChallenge { now: cx.next_timestamp(), ..new.clone() }).await {
            Err(error) if error.constraint() == Some(LAST_CHALLENGED_AT_UNIQUE) && tries < MAX_ATTEMPTS => {}
            made => break made?,
        }
    };
    if !is_made {
        return Err(factor_not_found());
    }
    let expires_at = expires_at(cx.now, &cx.app.policy.mfa).timestamp();
    Ok(ChallengeJson { id: new.id, factor_type: &factor.factor_type, expires_at })
}
