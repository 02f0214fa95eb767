//! Phone factors: codes by SMS. As in GoTrue, numbers with a fixed code have none here.

use foundation::error::{ErrorCode, Result};
use gotrue_rules::domain::contact::{Contact, Phone, SmsChannel};
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::mfa::enrollment;
use gotrue_rules::domain::mfa::verification::{is_sent_code, wrong_code};
use gotrue_rules::domain::one_time_token::seconds_to_wait;
use gotrue_rules::domain::policy::SmsProvider;
use gotrue_rules::domain::user::{Factor, User};
use gotrue_rules::wire::factor::EnrolledJson;
use gotrue_rules::wire::requests::{ChallengeFactor, EnrollFactor, VerifyFactor};

use super::{answered_challenge, enrolled_factor, issued_challenge};
use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::messages::{SmsCode, SmsReason, deliver_code, require_provider_approval};
use crate::services::{limits, sealing};
use crate::store::challenges::ChallengeWithSecret;
use crate::store::factors::NewFactor;

/// Enrolls a phone factor; the response shows the number as received.
pub(super) async fn enroll(cx: &RequestContext, caller: &Caller, request: &EnrollFactor) -> Result<Reply> {
    let phone = enrollment::parse_phone(&request.phone)?;
    enrolled_factor::prepare_enrollment(cx, caller, &request.friendly_name, Some(&phone)).await?;
    let id = cx.entropy.uuid();
    let new = NewFactor {
        id,
        user_id: caller.user.id,
        friendly_name: &request.friendly_name,
        factor_type: FactorType::Phone,
        phone: Some(phone.as_str()),
        secret: "",
        now: cx.now,
    };
    enrolled_factor::store_factor(cx, caller, new).await?;
    Ok(Reply::json(&EnrolledJson {
        id,
        factor_type: FactorType::Phone.as_str(),
        friendly_name: &request.friendly_name,
        totp: None,
        phone: Some(&request.phone),
    }))
}

/// Sends a code. Nothing is stored if that fails.
pub(super) async fn challenge(cx: &RequestContext, user: &User, factor: &Factor) -> Result<Reply> {
    let policy = &cx.app.policy;
    let request = ChallengeFactor::decode(&cx.read_body().await?)?;
    let channel = SmsChannel::parse(&request.channel, &policy.sms, policy.hooks.send_sms.is_some())?;
    if let Some(seconds) = seconds_to_wait(factor.last_challenged_at, policy.mfa.phone.max_frequency, cx.now) {
        return Err(limits::too_soon_error(cx, ErrorCode::OverSmsSendRateLimit, seconds));
    }
    limits::count_user_message(cx, &Contact::Phone(Phone::parse(&factor.phone)?)).await?;
    let code = cx.entropy.digits(policy.mfa.phone.otp_length);
    let text = SmsCode { reason: SmsReason::Factor, to: &factor.phone, code: &code, channel: &channel };
    deliver_code(cx, user, text).await?;
    let id = cx.entropy.uuid();
    let sealed = sealing::seal(cx, id, &code);
    issued_challenge::store_code_challenge(cx, user, factor, id, &sealed).await
}

/// Verifies a code and raises the session.
pub(super) async fn verify(
    cx: &RequestContext,
    caller: &Caller,
    factor: &Factor,
    request: &VerifyFactor,
) -> Result<Reply> {
    let stored = answered_challenge::load_challenge(cx, factor, request.challenge_id).await?;
    let is_right = is_correct_code(cx, factor, &stored, &request.code).await?;
    answered_challenge::report_attempt(cx, caller.user.id, factor, is_right).await?;
    if !is_right {
        return Err(wrong_code(FactorType::Phone));
    }
    let challenge = answered_challenge::AnsweredChallenge {
        kind: FactorType::Phone,
        challenge_id: stored.challenge.id,
        totp_step: None,
        resealed: None,
    };
    answered_challenge::finish_verification(cx, caller, factor, challenge).await
}

/// Whether the code is correct.
///
/// Twilio Verify issues its own codes: it is asked, and its error is returned (403).
async fn is_correct_code(
    cx: &RequestContext,
    factor: &Factor,
    stored: &ChallengeWithSecret,
    code: &str,
) -> Result<bool> {
    if matches!(cx.app.policy.sms.provider, Some(SmsProvider::TwilioVerify { .. })) {
        require_provider_approval(cx, &factor.phone, code).await?;
        return Ok(true);
    }
    let texted = sealing::open(cx, stored.challenge.id, &stored.otp_code)
        .map_err(answered_challenge::unreadable_secret_error)?;
    Ok(is_sent_code(&texted.plain, code))
}
