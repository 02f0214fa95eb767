//! Messages to phones with a code in them: the gap, the code, who sends it.

use gotrue_rules::domain::contact::Channel;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::one_time_token::{TokenHash, seconds_to_wait};
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::Account;

use super::too_soon;
use crate::cx::Cx;
use crate::ports::sms::TEST_MESSAGE_ID;

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
    /// What the client is told of it: only of numbers with a fixed code.
    pub message_id: Option<String>,
}

/// Texts a new code; 429 if the last of its kind went out a moment ago.
pub async fn text(cx: &Cx, account: &Account, text: Text<'_>) -> Result<Texted> {
    let policy = &cx.app.policy.sms;
    if let Some(seconds) = seconds_to_wait(text.purpose.slot().sent_at(account), policy.max_frequency, cx.now) {
        return Err(too_soon("over_sms_send_rate_limit", seconds));
    }
    // A number of the operator's test list gets its fixed code, and nothing is sent.
    let code = policy.test_code(text.to, cx.now).ok_or_else(|| Error::internal("Unable to get SMS provider"))?;
    Ok(Texted { hash: TokenHash::of(text.to, code), message_id: Some(TEST_MESSAGE_ID.to_owned()) })
}
