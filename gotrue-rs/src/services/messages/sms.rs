//! SMS messages that contain a code: minimum interval, quota, code and delivery.
//!
//! Nothing is stored here and no connection is held, unless a database function sends the messages.

use foundation::error::{Error, ErrorCode, Result};
use gotrue_rules::domain::contact::SmsChannel;
use gotrue_rules::domain::one_time_token::{TokenHash, seconds_to_wait};
use gotrue_rules::domain::policy::HookKind;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::User;
use gotrue_rules::domain::verification::invalid_code;
use gotrue_rules::wire::hook::Sms;
use platform::journal::{Fact, FactCondition, Step};
use platform::store::Connection;
use telemetry::catalog::SMS;
use tracing::Instrument;
use tracing::field::Empty;

use crate::ports::sms::{SmsError, SmsMessage, TEST_MESSAGE_ID};
use crate::request_context::RequestContext;
use crate::services::{hooks, limits};
use crate::store::hooks::HookTransaction;

/// An SMS to send.
#[derive(Debug, Clone, Copy)]
pub struct TokenSms<'a> {
    /// What the SMS is for.
    pub purpose: Purpose,
    /// The phone number, digits only.
    pub to: &'a str,
    /// The channel: SMS or `WhatsApp`.
    pub channel: &'a SmsChannel,
}

/// An SMS that was sent.
#[derive(Debug)]
pub struct SentSms {
    /// The token hash to store.
    pub hash: TokenHash,
    /// The message id in the response; as in GoTrue only for numbers with a fixed code.
    pub message_id: Option<String>,
    /// The number and code that a database function still has to send.
    pending: Option<(String, String)>,
}

impl SentSms {
    /// Runs inside the write: passes the code to the operator's database function, if one sends SMS.
    pub async fn send_within_write(&self, cx: &RequestContext, db: &mut Connection, user: &User) -> Result<()> {
        let Some((phone, otp)) = &self.pending else { return Ok(()) };
        hooks::send_sms(cx, HookTransaction::Current(db), user, Sms { otp, phone, sms_type: "" }).await
    }
}

/// Sends a new code; 429 if the previous one is too recent or the quota is used up.
pub async fn send_sms(cx: &RequestContext, user: &User, text: TokenSms<'_>) -> Result<SentSms> {
    let policy = &cx.app.policy.sms;
    if let Some(seconds) = seconds_to_wait(text.purpose.token_kind().sent_at(user), policy.max_frequency, cx.now) {
        return Err(limits::too_soon_error(cx, ErrorCode::OverSmsSendRateLimit, seconds));
    }
    // A number of the operator's test list gets its fixed code; nothing is sent or counted. An empty code is none.
    if let Some(code) = policy.test_code(text.to, cx.now).filter(|code| !code.is_empty()) {
        let hash = TokenHash::new(text.to, code);
        return Ok(SentSms { hash, message_id: Some(TEST_MESSAGE_ID.to_owned()), pending: None });
    }
    limits::count_sms(cx).await?;
    let code = cx.entropy.digits(policy.otp_length);
    let hash = TokenHash::new(text.to, &code);
    if cx.app.hooks.is_in_database(HookKind::SendSms) {
        return Ok(SentSms { hash, message_id: None, pending: Some((text.to.to_owned(), code)) });
    }
    let reason = SmsReason::Account(text.purpose);
    deliver_code(cx, user, SmsCode { reason, to: text.to, code: &code, channel: text.channel }).await?;
    Ok(SentSms { hash, message_id: None, pending: None })
}

/// A code to send to a phone.
#[derive(Clone, Copy)]
pub struct SmsCode<'a> {
    /// Why the code is sent.
    pub reason: SmsReason,
    /// The phone number, digits only.
    pub to: &'a str,
    pub code: &'a str,
    /// The channel: SMS or `WhatsApp`.
    pub channel: &'a SmsChannel,
}

/// Why a code is sent. Selects the message template and the error response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmsReason {
    /// To confirm a change or a sign-in of the user.
    Account(Purpose),
    /// To verify a second factor.
    Factor,
}

/// Sends a code by the operator's hook, else by the SMS provider.
///
/// There is no minimum interval, no quota and no fixed code here.
///
/// # Errors
///
/// 500 if there is no provider or its template fails. A provider's error is returned with its text (422
/// `sms_send_failed`), except for a factor's code (500).
pub async fn deliver_code(cx: &RequestContext, user: &User, text: SmsCode<'_>) -> Result<()> {
    if cx.app.hooks.is_enabled(HookKind::SendSms) {
        return send_by_hook(cx, user, text).await;
    }
    let texts = &cx.app.sms;
    let template = match text.reason {
        SmsReason::Account(_) => &texts.code_template,
        SmsReason::Factor => &texts.factor_template,
    };
    let body = template
        .render(text.code)
        .map_err(|cause| Error::internal("error generating sms template").with_cause(cause))?;
    let message =
        SmsMessage { to: text.to.to_owned(), channel: text.channel.clone(), body, code: text.code.to_owned() };
    cx.journal.record(Step::Call("sms.send"));
    let span = tracing::info_span!("sms", outcome = Empty);
    let sent = texts.sender.send(&message).instrument(span.clone()).await;
    let outcome = match &sent {
        Ok(_) => "sent",
        Err(SmsError::Refused(_)) => "refused",
        Err(_) => "failed",
    };
    span.record("outcome", outcome);
    SMS.increment(&[outcome]);
    let sent = sent.map_err(|error| delivery_error(text.reason, error))?;
    tracing::debug!(user.id = %user.id, sms.id = sent, "SMS sent");
    cx.note(FactCondition::Now, || Fact::Message {
        channel: "sms",
        kind: "sms_otp".into(),
        to: message.to,
        subject: None,
    });
    Ok(())
}

/// Sends a code by the operator's hook. Errors of a factor's code hide their details.
async fn send_by_hook(cx: &RequestContext, user: &User, text: SmsCode<'_>) -> Result<()> {
    let is_factor = text.reason == SmsReason::Factor;
    let sms = Sms { otp: text.code, phone: text.to, sms_type: if is_factor { "mfa" } else { "" } };
    let sent = hooks::send_sms(cx, HookTransaction::None(&mut cx.db().with_long_statements()), user, sms).await;
    sent.map_err(|error| if is_factor { Error::internal("error invoking hook").with_cause(error) } else { error })
}

/// The error response of an SMS that was not sent.
fn delivery_error(reason: SmsReason, error: SmsError) -> Error {
    let SmsReason::Account(purpose) = reason else {
        let has_no_provider = matches!(error, SmsError::NoProvider);
        let message = if has_no_provider { "Failed to get SMS provider" } else { "error sending message" };
        return Error::internal(message).with_cause(error);
    };
    if matches!(error, SmsError::NoProvider) {
        return Error::internal("Unable to get SMS provider").with_cause(error);
    }
    let kind = match purpose {
        Purpose::PhoneChange => "phone_change",
        Purpose::Reauthentication => "reauthentication",
        _ => "confirmation",
    };
    let message = format!("Error sending {kind} OTP to provider: {}", error.client_message());
    Error::new(ErrorCode::SmsSendFailed, message).with_cause(error)
}

/// Asks an SMS provider that issues its own codes whether this is the code of that number.
///
/// # Errors
///
/// 403 `otp_expired` if it is wrong or the provider does not confirm it.
pub async fn require_provider_approval(cx: &RequestContext, to: &str, code: &str) -> Result<()> {
    cx.journal.record(Step::Call("sms.check"));
    cx.app.sms.sender.verify_code(to, code).await.map_err(|cause| invalid_code().with_cause(cause))
}
