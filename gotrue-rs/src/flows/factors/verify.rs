//! `POST /factors/{id}/verify`: a right answer to a challenge lifts the session to `aal2`.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::mfa::verification::{
    Standing, challenge_expired, challenge_not_found, challenge_not_yours, check_first, remembered, standing,
};
use gotrue_rules::domain::mfa::{FactorType, Step};
use gotrue_rules::domain::user::{Factor, Time};
use gotrue_rules::wire::hook::MfaAttempt;
use gotrue_rules::wire::requests::VerifyFactor;
use uuid::Uuid;

use super::{phone, totp, webauthn};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::sessions::Extras;
use crate::services::sessions::elevate::{self, Elevation, Shown, session_of};
use crate::services::{hooks, limits, notices};
use crate::store::OrRefuse;
use crate::store::challenges::{self, Kept, Spending};

/// New tokens of the same session.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let (caller, factor) = (cx.caller()?, cx.factor()?);
    let request = VerifyFactor::decode(&cx.bytes().await?)?;
    let kind = FactorType::parse(&factor.factor_type)?;
    if kind != FactorType::WebAuthn && request.code.is_empty() {
        return Err(Error::invalid("Code needs to be non-empty"));
    }
    kind.require_verification(&cx.app.policy.mfa, Step::Verify)?;
    check_first(&caller.account, factor, session_of(caller)?, &cx.app.policy.mfa)?;
    let guess = limits::at_code(&cx, &caller.account.id.to_string()).await?;
    let answer = match kind {
        FactorType::Totp => totp::verify(&cx, factor, &request).await,
        FactorType::Phone => phone::verify(&cx, factor, &request).await,
        FactorType::WebAuthn => webauthn::verify(&cx, factor, &request).await,
    }?;
    guess.was_right();
    Ok(answer)
}

/// The challenge, if it may be answered here and now. One that is too old is deleted.
pub(super) async fn kept(cx: &Cx, factor: &Factor, id: Uuid) -> Result<Kept> {
    let found = challenges::with_secret(&mut cx.db(), id, factor.id, remembered_since(cx)).await;
    let kept = found.or_refuse("Database error finding Challenge")?.ok_or_else(challenge_not_found)?;
    match standing(&kept.challenge, cx.address(), &cx.app.policy.mfa, cx.now) {
        Standing::Good => Ok(kept),
        Standing::NotYours => Err(challenge_not_yours()),
        Standing::Expired => {
            challenges::delete(&mut cx.db(), id).await.or_refuse("Database error deleting challenge")?;
            Err(challenge_expired(id))
        }
    }
}

/// Since when answered challenges are asked for the codes that they remember.
fn remembered_since(cx: &Cx) -> Time {
    remembered(&cx.app.policy.mfa, cx.now)
}

/// What is stored cannot be read: a failure of ours.
pub(super) fn unreadable(cause: Error) -> Error {
    Error::internal("Database error verifying MFA TOTP secret").because(cause)
}

/// Puts an attempt, right or wrong, to the operator's hook.
pub(super) async fn put_to_hook(cx: &Cx, factor: &Factor, is_right: bool) -> Result<()> {
    let user_id = cx.caller()?.account.id;
    let attempt = MfaAttempt { user_id, factor_id: factor.id, factor_type: &factor.factor_type, valid: is_right };
    hooks::mfa_verification(cx, attempt).await
}

/// A challenge that was answered rightly.
pub(super) struct Answered {
    /// The factor's kind.
    pub kind: FactorType,
    /// The challenge.
    pub challenge_id: Uuid,
    /// The step whose code it was, where a code counts once.
    pub step: Option<i64>,
    /// The factor's secret, where it is to be stored anew.
    pub resealed: Option<String>,
}

/// Uses challenge and code up and lifts the session; of two at once one is told that the challenge is used.
pub(super) async fn finish(cx: &Cx, factor: &Factor, answered: Answered) -> Result<Reply> {
    let mut elevation = elevate::begin(cx).await?;
    let spending = Spending {
        id: answered.challenge_id,
        factor_id: factor.id,
        now: cx.now,
        step: answered.step,
        since: remembered_since(cx),
        sealed: answered.resealed.as_deref(),
    };
    if !challenges::spend(&mut elevation.db, spending).await? {
        elevation.give_up().await?;
        return Err(challenge_not_yours());
    }
    lift(
        cx,
        factor,
        elevation,
        Shown { factor_id: factor.id, kind: answered.kind, challenge_id: answered.challenge_id },
    )
    .await
}

/// The session, lifted; who has a factor more is told by mail.
pub(super) async fn lift(cx: &Cx, factor: &Factor, elevation: Elevation, shown: Shown) -> Result<Reply> {
    let kind = shown.kind;
    let minted = elevation.finish(cx, shown).await?;
    if !factor.is_verified() {
        notices::of_factor(cx, &minted.account, notices::FactorNews::Enrolled, kind).await;
    }
    Ok(Reply::json(&minted.body(Extras::default())))
}
