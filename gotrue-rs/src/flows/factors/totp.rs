//! Codes of an app: a secret that only the app and we know, and the time.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::mfa::key_uri::{issuer, key_uri};
use gotrue_rules::domain::mfa::totp::{SECRET_LENGTH, matching_step};
use gotrue_rules::domain::mfa::verification::wrong_code;
use gotrue_rules::domain::user::Factor;
use gotrue_rules::wire::factor::{EnrolledJson, TotpJson};
use gotrue_rules::wire::qr_code;
use gotrue_rules::wire::requests::{EnrollFactor, VerifyFactor};

use super::{challenge, enroll, verify};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::sealing;
use crate::store::factors::NewFactor;

/// The secret, the URI that an app reads it from, and a picture of that.
pub(super) async fn enroll(cx: &Cx, request: &EnrollFactor) -> Result<Reply> {
    enroll::make_way(cx, &request.friendly_name, None).await?;
    let account = &cx.caller()?.account;
    let secret = cx.entropy.base32(SECRET_LENGTH).to_ascii_uppercase();
    let email = account.email.as_deref().unwrap_or_default();
    let uri = key_uri(issuer(&request.issuer, &cx.app.policy.site.site_url), email, &secret)?;
    let too_long = || Error::invalid("The issuer is too long for a QR code, please use a shorter one");
    let qr_code = qr_code::svg(&uri).ok_or_else(too_long)?;
    let id = cx.entropy.uuid();
    let sealed = sealing::seal(cx, id, &secret);
    let new = NewFactor {
        id,
        user_id: account.id,
        friendly_name: &request.friendly_name,
        factor_type: FactorType::Totp,
        phone: None,
        secret: &sealed,
        now: cx.now,
    };
    enroll::store(cx, new).await?;
    Ok(Reply::json(&EnrolledJson {
        id,
        factor_type: FactorType::Totp.as_str(),
        friendly_name: &request.friendly_name,
        totp: Some(TotpJson { qr_code: &qr_code, secret: &secret, uri: &uri }),
        phone: None,
    }))
}

/// A challenge; there is nothing to send.
pub(super) async fn challenge(cx: &Cx, factor: &Factor) -> Result<Reply> {
    challenge::store(cx, factor, cx.entropy.uuid(), "").await
}

/// The session, lifted. Where a code counts once, one of a step that was used is wrong.
pub(super) async fn verify(cx: &Cx, factor: &Factor, request: &VerifyFactor) -> Result<Reply> {
    let kept = verify::kept(cx, factor, request.challenge_id).await?;
    let secret = sealing::open(cx, factor.id, &kept.secret).map_err(verify::unreadable)?;
    let counts_once = cx.app.policy.mfa.totp_replay_refused;
    let is_new = |step: &i64| !counts_once || kept.last_step.is_none_or(|last| last < *step);
    let step = matching_step(&secret.plain, &request.code, cx.now).filter(is_new);
    verify::put_to_hook(cx, factor, step.is_some()).await?;
    let step = step.ok_or_else(|| wrong_code(FactorType::Totp))?;
    let resealed = secret.is_outdated.then(|| sealing::seal(cx, factor.id, &secret.plain));
    let answered = verify::Answered {
        kind: FactorType::Totp,
        challenge_id: kept.challenge.id,
        step: counts_once.then_some(step),
        resealed,
    };
    verify::finish(cx, factor, answered).await
}
