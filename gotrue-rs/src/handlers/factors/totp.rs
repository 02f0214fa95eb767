//! TOTP factors: a shared secret and the time (RFC 6238).

use foundation::error::{Error, Result};
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::mfa::key_uri::{format_key_uri, select_issuer};
use gotrue_rules::domain::mfa::totp::{SECRET_LENGTH, find_matching_step};
use gotrue_rules::domain::mfa::verification::{used_code, wrong_code};
use gotrue_rules::domain::user::{Factor, User};
use gotrue_rules::wire::factor::{EnrolledJson, TotpJson};
use gotrue_rules::wire::qr_code;
use gotrue_rules::wire::requests::{EnrollFactor, VerifyFactor};

use super::{answered_challenge, enrolled_factor, issued_challenge};
use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::sealing;
use crate::store::factors::NewFactor;

/// Enrolls a TOTP factor and returns its secret, its URI and the QR code of the URI.
pub(super) async fn enroll(cx: &RequestContext, caller: &Caller, request: &EnrollFactor) -> Result<Reply> {
    enrolled_factor::prepare_enrollment(cx, caller, &request.friendly_name, None).await?;
    let user = &caller.user;
    let secret = cx.entropy.base32(SECRET_LENGTH).to_ascii_uppercase();
    let email = user.email.as_deref().unwrap_or_default();
    let uri = format_key_uri(select_issuer(&request.issuer, &cx.app.policy.site.site_url), email, &secret)?;
    let too_long = || Error::invalid("The issuer is too long for a QR code, please use a shorter one");
    let qr_code = qr_code::render_svg(&uri).ok_or_else(too_long)?;
    let id = cx.entropy.uuid();
    let sealed = sealing::seal(cx, id, &secret);
    let new = NewFactor {
        id,
        user_id: user.id,
        friendly_name: &request.friendly_name,
        factor_type: FactorType::Totp,
        phone: None,
        secret: &sealed,
        now: cx.now,
    };
    enrolled_factor::store_factor(cx, caller, new).await?;
    Ok(Reply::json(&EnrolledJson {
        id,
        factor_type: FactorType::Totp.as_str(),
        friendly_name: &request.friendly_name,
        totp: Some(TotpJson { qr_code: &qr_code, secret: &secret, uri: &uri }),
        phone: None,
    }))
}

/// Issues a challenge; nothing is sent.
pub(super) async fn challenge(cx: &RequestContext, user: &User, factor: &Factor) -> Result<Reply> {
    issued_challenge::store_code_challenge(cx, user, factor, cx.entropy.uuid(), "").await
}

/// Verifies a code and raises the session. Where codes count once, one of a used time step is refused, and the text says so.
pub(super) async fn verify(
    cx: &RequestContext,
    caller: &Caller,
    factor: &Factor,
    request: &VerifyFactor,
) -> Result<Reply> {
    let stored = answered_challenge::load_challenge(cx, factor, request.challenge_id).await?;
    let secret = sealing::open(cx, factor.id, &stored.secret).map_err(answered_challenge::unreadable_secret_error)?;
    let counts_once = cx.app.policy.mfa.is_totp_replay_rejected;
    let is_new = |step: &i64| !counts_once || stored.last_step.is_none_or(|last| last < *step);
    let matching = find_matching_step(&secret.plain, &request.code, cx.now);
    let step = matching.filter(is_new);
    answered_challenge::report_attempt(cx, caller.user.id, factor, step.is_some()).await?;
    let refusal = || if matching.is_some() { used_code() } else { wrong_code(FactorType::Totp) };
    let step = step.ok_or_else(refusal)?;
    let resealed = secret.is_outdated.then(|| sealing::seal(cx, factor.id, &secret.plain));
    let challenge = answered_challenge::AnsweredChallenge {
        kind: FactorType::Totp,
        challenge_id: stored.challenge.id,
        totp_step: counts_once.then_some(step),
        resealed,
    };
    answered_challenge::finish_verification(cx, caller, factor, challenge).await
}
