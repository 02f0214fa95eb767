//! `POST /factors/{id}/challenge`: asks for something that only a right answer to lifts the session.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::mfa::verification::expires_at;
use gotrue_rules::domain::mfa::{FactorType, Step, factor_not_found};
use gotrue_rules::domain::user::Factor;
use gotrue_rules::wire::factor::ChallengeJson;
use uuid::Uuid;

use super::{phone, totp, webauthn};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::audit;
use crate::store::challenges::{self, MOMENT_UNIQUE, NewChallenge};

/// How often another moment is tried, when one is taken.
const MOST_TRIES: u32 = 20;

/// A challenge of the path's factor.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let factor = cx.factor()?;
    let kind = FactorType::parse(&factor.factor_type)?;
    kind.require_verification(&cx.app.policy.mfa, Step::Challenge)?;
    match kind {
        FactorType::Totp => totp::challenge(&cx, factor).await,
        FactorType::Phone => phone::challenge(&cx, factor).await,
        FactorType::WebAuthn => webauthn::challenge(&cx, factor).await,
    }
}

/// Stores a challenge of a code and tells of it.
pub(super) async fn store(cx: &Cx, factor: &Factor, id: Uuid, otp_code: &str) -> Result<Reply> {
    let entry = Entry::of(Action::ChallengeCreated)
        .with("factor_id", factor.id.to_string())
        .with("factor_status", factor.status.as_str());
    let audit = audit::rows(cx, &cx.caller()?.account, [entry]);
    let address = cx.address();
    let new = NewChallenge { id, factor_id: factor.id, now: cx.now, address, otp_code, session: None, audit };
    Ok(Reply::json(&insert(cx, factor, new).await?))
}

/// Stores a challenge. The moments of challenges are unique over all factors, whoever's they are: one that is taken is
/// moved by a microsecond.
pub(super) async fn insert<'f>(cx: &Cx, factor: &'f Factor, new: NewChallenge<'_>) -> Result<ChallengeJson<'f>> {
    let mut tries = 0;
    let is_made = loop {
        tries += 1;
        match challenges::insert(&mut cx.db(), NewChallenge { now: cx.stamp(), ..new.clone() }).await {
            Err(error) if error.constraint() == Some(MOMENT_UNIQUE) && tries < MOST_TRIES => {}
            made => break made?,
        }
    };
    if !is_made {
        return Err(factor_not_found());
    }
    let expires_at = expires_at(cx.now, &cx.app.policy.mfa).timestamp();
    Ok(ChallengeJson { id: new.id, factor_type: &factor.factor_type, expires_at })
}
