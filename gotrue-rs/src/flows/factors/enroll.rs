//! `POST /factors`: sets a factor up. It counts once it has been verified.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::contact::Phone;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::mfa::enrolment::{self, check, name_conflict};
use gotrue_rules::domain::session::Aal;
use gotrue_rules::wire::requests::EnrollFactor;

use super::{phone, totp, webauthn};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::audit;
use crate::services::sessions::elevate::session_of;
use crate::store::factors::{self, Insertion, Limits, NewFactor};
use crate::store::users;

/// The new factor, with what only its owner may see and only now.
pub async fn handle(cx: Cx) -> Result<Reply> {
    session_of(cx.caller()?)?;
    let request = EnrollFactor::decode(&cx.bytes().await?)?;
    let kind = FactorType::parse(&request.factor_type)?;
    kind.require_enrolment(&cx.app.policy.mfa)?;
    match kind {
        FactorType::Totp => totp::enroll(&cx, &request).await,
        FactorType::Phone => phone::enroll(&cx, &request).await,
        FactorType::WebAuthn => webauthn::enroll(&cx, &request).await,
    }
}

/// Pushes old leftovers aside, which stays so whatever follows, then looks whether the account may have one more of
/// that name.
pub(super) async fn make_way(cx: &Cx, name: &str, phone: Option<&Phone>) -> Result<()> {
    let (caller, policy) = (cx.caller()?, &cx.app.policy.mfa);
    let account = &caller.account;
    let leftovers = enrolment::leftovers(account, phone, policy, cx.now)?;
    let gone = if leftovers.may_be {
        factors::delete_leftovers(&mut cx.db(), account.id, leftovers).await?
    } else {
        Vec::new()
    };
    let kept = account.factors.iter().filter(|factor| !gone.contains(&factor.id));
    check(kept, name, session_of(caller)?, policy)
}

/// Stores it within the limits, which are checked again under a lock. What concurrent requests enrolled since the first
/// check is refused as if it had been seen.
pub(super) async fn store(cx: &Cx, new: NewFactor<'_>) -> Result<()> {
    let mut entry = Entry::of(Action::FactorInProgress).with("factor_id", new.id.to_string());
    if new.factor_type != FactorType::Totp {
        entry = entry.with("factor_type", new.factor_type.as_str());
    }
    let (caller, policy) = (cx.caller()?, &cx.app.policy.mfa);
    let (name, session) = (new.friendly_name, session_of(caller)?);
    let audit = audit::rows(cx, &caller.account, [entry]);
    let limits = Limits {
        enrolled: policy.max_enrolled_factors,
        verified: (session.aal >= Aal::Aal2).then_some(policy.max_verified_factors),
    };
    let mut db = cx.begin().await?;
    let inserted = factors::insert(&mut db, new, limits, audit).await?;
    if inserted == Insertion::Written {
        return Ok(db.commit().await?);
    }
    db.rollback().await?;
    let retry = |message| Error::http(409, "conflict", message);
    match inserted {
        Insertion::NameTaken => Err(name_conflict(name)),
        Insertion::NumberTaken => Err(retry("This number is being enrolled already, please try again")),
        Insertion::LimitReached | Insertion::Written => {
            let current = users::with_session(&mut cx.db(), caller.account.id, None).await?;
            check(current.iter().flat_map(|it| &it.account.factors), name, session, policy)?;
            Err(retry("Factors of this user are being changed, please try again"))
        }
    }
}
