//! Codes by text message. Numbers with a fixed code have none here, as recorded.

use gotrue_rules::domain::contact::{Channel, Contact, Phone};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::mfa::enrolment;
use gotrue_rules::domain::mfa::verification::{is_texted, wrong_code};
use gotrue_rules::domain::one_time_token::seconds_to_wait;
use gotrue_rules::domain::policy::SmsProvider;
use gotrue_rules::domain::user::Factor;
use gotrue_rules::wire::factor::EnrolledJson;
use gotrue_rules::wire::requests::{ChallengeFactor, EnrollFactor, VerifyFactor};

use super::{challenge, enroll, verify};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::messages::{Outgoing, Reason, deliver, require_right_by_sender};
use crate::services::{limits, sealing};
use crate::store::challenges::Kept;
use crate::store::factors::NewFactor;

/// The factor, with the number as it was given.
pub(super) async fn enroll(cx: &Cx, request: &EnrollFactor) -> Result<Reply> {
    let phone = enrolment::phone(&request.phone)?;
    enroll::make_way(cx, &request.friendly_name, Some(&phone)).await?;
    let id = cx.entropy.uuid();
    let new = NewFactor {
        id,
        user_id: cx.caller()?.account.id,
        friendly_name: &request.friendly_name,
        factor_type: FactorType::Phone,
        phone: Some(phone.as_str()),
        secret: "",
        now: cx.now,
    };
    enroll::store(cx, new).await?;
    Ok(Reply::json(&EnrolledJson {
        id,
        factor_type: FactorType::Phone.as_str(),
        friendly_name: &request.friendly_name,
        totp: None,
        phone: Some(&request.phone),
    }))
}

/// Texts a code. Nothing is stored if it is not sent.
pub(super) async fn challenge(cx: &Cx, factor: &Factor) -> Result<Reply> {
    let policy = &cx.app.policy;
    let request = ChallengeFactor::decode(&cx.bytes().await?)?;
    let channel = Channel::parse(&request.channel, &policy.sms, policy.hooks.send_sms.is_some())?;
    if let Some(seconds) = seconds_to_wait(factor.last_challenged_at, policy.mfa.phone.max_frequency, cx.now) {
        return Err(limits::too_soon(cx, "over_sms_send_rate_limit", seconds));
    }
    limits::member_asks(cx, &Contact::Phone(Phone::parse(&factor.phone)?))?;
    let code = cx.entropy.digits(policy.mfa.phone.otp_length);
    let text = Outgoing { reason: Reason::Factor, to: &factor.phone, code: &code, channel: &channel };
    deliver(cx, &cx.caller()?.account, text).await?;
    let id = cx.entropy.uuid();
    let sealed = sealing::seal(cx, id, &code);
    challenge::store(cx, factor, id, &sealed).await
}

/// The session, lifted.
pub(super) async fn verify(cx: &Cx, factor: &Factor, request: &VerifyFactor) -> Result<Reply> {
    let kept = verify::kept(cx, factor, request.challenge_id).await?;
    let is_right = is_right(cx, factor, &kept, &request.code).await?;
    verify::put_to_hook(cx, factor, is_right).await?;
    if !is_right {
        return Err(wrong_code(FactorType::Phone));
    }
    let answered =
        verify::Answered { kind: FactorType::Phone, challenge_id: kept.challenge.id, step: None, resealed: None };
    verify::finish(cx, factor, answered).await
}

/// Twilio Verify made the code itself and is asked; a wrong one is then told in its own words (403).
async fn is_right(cx: &Cx, factor: &Factor, kept: &Kept, code: &str) -> Result<bool> {
    if matches!(cx.app.policy.sms.provider, Some(SmsProvider::TwilioVerify { .. })) {
        require_right_by_sender(cx, &factor.phone, code).await?;
        return Ok(true);
    }
    let texted = sealing::open(cx, kept.challenge.id, &kept.otp_code).map_err(verify::unreadable)?;
    Ok(is_texted(&texted.plain, code))
}
