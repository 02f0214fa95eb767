//! Messages to phones with a code in them: the gap and the quota, the code, the text, who sends it. Nothing is stored
//! here, and no connection is held, unless a function of the database sends them.

use gotrue_rules::domain::contact::Channel;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::one_time_token::{TokenHash, seconds_to_wait};
use gotrue_rules::domain::policy::HookKind;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::Account;
use gotrue_rules::domain::verification::bad_code;
use gotrue_rules::wire::hook::Sms;

use crate::cx::Cx;
use crate::journal::Step;
use crate::ports::sms::{SmsError, TEST_MESSAGE_ID, TextMessage};
use crate::services::{hooks, limits};
use crate::store::Connection;
use crate::store::hooks::Within;

/// A text to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// What it is for.
    pub purpose: Purpose,
    /// The number, digits only.
    pub to: &'a str,
    /// The way it goes.
    pub channel: &'a Channel,
}

/// A text that is on the way.
#[derive(Debug)]
pub struct Texted {
    /// The hash to be stored.
    pub hash: TokenHash,
    /// What the client is told of it: only of numbers with a fixed code, as recorded.
    pub message_id: Option<String>,
    /// Number and code that a function of the database is still to be given.
    kept: Option<(String, String)>,
}

impl Texted {
    /// Inside the write: gives the code to the operator's function of the database, if it is that which sends texts.
    pub async fn keep(&self, cx: &Cx, db: &mut Connection, account: &Account) -> Result<()> {
        let Some((phone, otp)) = &self.kept else { return Ok(()) };
        hooks::send_sms(cx, Within::This(db), account, Sms { otp, phone, sms_type: "" }).await
    }
}

/// Texts a new code; 429 if the last of its kind went out a moment ago, or if too many went out to anybody.
pub async fn text(cx: &Cx, account: &Account, text: Text<'_>) -> Result<Texted> {
    let policy = &cx.app.policy.sms;
    if let Some(seconds) = seconds_to_wait(text.purpose.slot().sent_at(account), policy.max_frequency, cx.now) {
        return Err(limits::too_soon(cx, "over_sms_send_rate_limit", seconds));
    }
    // A number of the operator's test list gets its fixed code, and nothing is sent or counted. An empty one is none.
    if let Some(code) = policy.test_code(text.to, cx.now).filter(|code| !code.is_empty()) {
        let hash = TokenHash::of(text.to, code);
        return Ok(Texted { hash, message_id: Some(TEST_MESSAGE_ID.to_owned()), kept: None });
    }
    limits::take_text(cx)?;
    let code = cx.entropy.digits(policy.otp_length);
    let hash = TokenHash::of(text.to, &code);
    if cx.app.hooks.is_in_database(HookKind::SendSms) {
        return Ok(Texted { hash, message_id: None, kept: Some((text.to.to_owned(), code)) });
    }
    let reason = Reason::Account(text.purpose);
    deliver(cx, account, Outgoing { reason, to: text.to, code: &code, channel: text.channel }).await?;
    Ok(Texted { hash, message_id: None, kept: None })
}

/// A code on its way to a phone.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    /// Why it is sent.
    pub reason: Reason,
    /// The number, digits only.
    pub to: &'a str,
    /// The code.
    pub code: &'a str,
    /// The way it goes.
    pub channel: &'a Channel,
}

/// Why a code is texted. Decides the operator's words around it and what a failure is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Something of the account is to be confirmed.
    Account(Purpose),
    /// A second factor is asked for.
    Factor,
}

/// Hands a code over to whoever sends texts: the operator's hook, else a sender. There is no gap and no quota here, and
/// nobody has a fixed code.
///
/// Errors: 500 if there is no sender or its text cannot be written; a sender that fails is told in its own words (422
/// `sms_send_failed`) unless the code is that of a factor (500).
pub async fn deliver(cx: &Cx, account: &Account, text: Outgoing<'_>) -> Result<()> {
    if cx.app.hooks.is_on(HookKind::SendSms) {
        return by_hook(cx, account, text).await;
    }
    let texts = &cx.app.texts;
    let template = match text.reason {
        Reason::Account(_) => &texts.code,
        Reason::Factor => &texts.factor,
    };
    let body =
        template.fill(text.code).map_err(|cause| Error::internal("error generating sms template").because(cause))?;
    let message =
        TextMessage { to: text.to.to_owned(), channel: text.channel.clone(), body, code: text.code.to_owned() };
    cx.journal.note(Step::Call("sms.send"));
    let sent = texts.sender.send(&message).await.map_err(|error| refusal(text.reason, error))?;
    tracing::debug!(user.id = %account.id, sms.id = sent, "text handed over");
    Ok(())
}

/// What goes wrong with the code of a factor is told in no detail.
async fn by_hook(cx: &Cx, account: &Account, text: Outgoing<'_>) -> Result<()> {
    let is_factor = text.reason == Reason::Factor;
    let sms = Sms { otp: text.code, phone: text.to, sms_type: if is_factor { "mfa" } else { "" } };
    let sent = hooks::send_sms(cx, Within::None(&mut cx.db().with_long_statements()), account, sms).await;
    sent.map_err(|error| if is_factor { Error::internal("error invoking hook").because(error) } else { error })
}

/// What a text that was not sent is answered with.
fn refusal(reason: Reason, error: SmsError) -> Error {
    let Reason::Account(purpose) = reason else {
        let is_nobody = matches!(error, SmsError::NoProvider);
        let message = if is_nobody { "Failed to get SMS provider" } else { "error sending message" };
        return Error::internal(message).because(error);
    };
    if matches!(error, SmsError::NoProvider) {
        return Error::internal("Unable to get SMS provider").because(error);
    }
    let kind = match purpose {
        Purpose::PhoneChange => "phone_change",
        Purpose::Reauthentication => "reauthentication",
        _ => "confirmation",
    };
    let message = format!("Error sending {kind} OTP to provider: {}", error.words());
    Error::unprocessable("sms_send_failed", message).because(error)
}

/// Asks the sender that makes its codes itself whether this is the one for that number; 403 `otp_expired` if it is not
/// or nobody says so.
pub async fn require_right_by_sender(cx: &Cx, to: &str, code: &str) -> Result<()> {
    cx.journal.note(Step::Call("sms.check"));
    cx.app.texts.sender.check(to, code).await.map_err(|cause| bad_code().because(cause))
}
