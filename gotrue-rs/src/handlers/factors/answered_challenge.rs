//! The challenge that a request of any factor type answers: it is loaded, reported and consumed.

use foundation::error::{Error, Result};
use foundation::time::Time;
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::mfa::verification::{
    ChallengeStatus, challenge_expired, challenge_mismatch, challenge_not_found, challenge_status, replay_window_start,
};
use gotrue_rules::domain::user::Factor;
use gotrue_rules::wire::hook::MfaAttempt;
use platform::store::OrInternalError;
use uuid::Uuid;

use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::sessions::SessionExtras;
use crate::services::sessions::elevate::{self, Elevation, VerifiedFactor};
use crate::services::{hooks, notices};
use crate::store::challenges::{self, ChallengeWithSecret, ConsumedChallenge};

/// Loads the challenge and checks that it may be answered here and now. An expired one is deleted.
pub(super) async fn load_challenge(cx: &RequestContext, factor: &Factor, id: Uuid) -> Result<ChallengeWithSecret> {
    let found = challenges::find_with_secret(&mut cx.db(), id, factor.id, used_steps_since(cx)).await;
    let stored = found.or_internal_error("Database error finding Challenge")?.ok_or_else(challenge_not_found)?;
    match challenge_status(&stored.challenge, cx.client_ip_or_unspecified(), &cx.app.policy.mfa, cx.now) {
        ChallengeStatus::Valid => Ok(stored),
        ChallengeStatus::Mismatch => Err(challenge_mismatch()),
        ChallengeStatus::Expired => {
            challenges::delete(&mut cx.db(), id).await.or_internal_error("Database error deleting challenge")?;
            Err(challenge_expired(id))
        }
    }
}

/// The time since when verified challenges are searched for used time steps.
fn used_steps_since(cx: &RequestContext) -> Time {
    replay_window_start(&cx.app.policy.mfa, cx.now)
}

/// The internal error of a stored secret that cannot be decrypted.
pub(super) fn unreadable_secret_error(cause: Error) -> Error {
    Error::internal("Database error verifying MFA TOTP secret").with_cause(cause)
}

/// Reports an attempt to the operator's hook.
pub(super) async fn report_attempt(cx: &RequestContext, user_id: Uuid, factor: &Factor, is_right: bool) -> Result<()> {
    let attempt = MfaAttempt { user_id, factor_id: factor.id, factor_type: &factor.factor_type, valid: is_right };
    hooks::report_mfa_attempt(cx, attempt).await
}

/// A challenge with a correct answer.
pub(super) struct AnsweredChallenge {
    pub kind: FactorType,
    pub challenge_id: Uuid,
    /// The time step of the code, where codes count once.
    pub totp_step: Option<i64>,
    /// The factor's secret to store, if it was encrypted with an outdated key.
    pub resealed: Option<String>,
}

/// Consumes challenge and code and raises the session.
///
/// Of two concurrent requests, one gets the error of a used challenge.
pub(super) async fn finish_verification(
    cx: &RequestContext,
    caller: &Caller,
    factor: &Factor,
    challenge: AnsweredChallenge,
) -> Result<Reply> {
    let mut elevation = elevate::begin_elevation(cx, caller).await?;
    let spending = ConsumedChallenge {
        id: challenge.challenge_id,
        factor_id: factor.id,
        now: cx.now,
        step: challenge.totp_step,
        since: used_steps_since(cx),
        resealed_secret: challenge.resealed.as_deref(),
    };
    if !challenges::consume(&mut elevation.db, spending).await? {
        elevation.rollback().await?;
        return Err(challenge_mismatch());
    }
    raise_session(
        cx,
        factor,
        elevation,
        VerifiedFactor::by_challenge(factor.id, challenge.kind, challenge.challenge_id),
    )
    .await
}

/// Raises the session and returns its new tokens. The user is notified of a newly verified factor.
pub(super) async fn raise_session(
    cx: &RequestContext,
    factor: &Factor,
    elevation: Elevation<'_>,
    verified: VerifiedFactor,
) -> Result<Reply> {
    let kind = verified.factor_type;
    let issued = elevation.finish(cx, verified).await?;
    if !factor.is_verified() {
        notices::send_factor_changed(cx, &issued.user, notices::FactorEvent::Enrolled, kind.as_str()).await;
    }
    Ok(Reply::json(&issued.body(SessionExtras::default())))
}
