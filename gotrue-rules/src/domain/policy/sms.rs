//! Messages by phone.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::secret::Secret;
use crate::domain::user::Time;

/// The text of a message unless the operator gives another (a Go text template).
pub const DEFAULT_TEMPLATE: &str = "Your code is {{ .Code }}";

/// What is sent to phones, when and by whom.
#[derive(Debug, Clone, PartialEq)]
pub struct SmsPolicy {
    /// A new number counts as confirmed at once. Default false.
    pub autoconfirm: bool,
    /// Shortest time between two messages to one account. Default 1 min.
    pub max_frequency: Duration,
    /// Life of a code. Default 60 s.
    pub otp_exp: Duration,
    /// Digits of a code, 6–10. Default 6.
    pub otp_length: usize,
    /// The text (a Go text template over `.Code`). Default `Your code is {{ .Code }}`.
    pub template: String,
    /// Numbers (digits only) with a fixed code. Default none.
    pub test_otp: BTreeMap<String, String>,
    /// Until when the fixed codes hold; absent: for ever. Default absent.
    pub test_otp_valid_until: Option<Time>,
    /// The sender's name as the operator wrote it, also when it is unknown; `GET /settings` shows it. Default empty.
    pub provider_name: String,
    /// Who sends; absent when none is named, or the one named is unknown or lacks a value it needs. Default absent.
    pub provider: Option<SmsProvider>,
}

impl SmsPolicy {
    /// The fixed code of a number, if it has one now.
    pub fn test_code(&self, phone: &str, now: Time) -> Option<&str> {
        let holds = self.test_otp_valid_until.is_none_or(|until| now < until);
        self.test_otp.get(phone).filter(|_| holds).map(String::as_str)
    }
}

impl Default for SmsPolicy {
    fn default() -> Self {
        Self {
            autoconfirm: false,
            max_frequency: Duration::from_mins(1),
            otp_exp: Duration::from_mins(1),
            otp_length: 6,
            template: DEFAULT_TEMPLATE.to_owned(),
            test_otp: BTreeMap::new(),
            test_otp_valid_until: None,
            provider_name: String::new(),
            provider: None,
        }
    }
}

/// A sender of messages with what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmsProvider {
    /// Twilio's messages.
    Twilio {
        /// The account.
        account_sid: String,
        /// Its password.
        auth_token: Secret,
        /// The messaging service, or the number to send from.
        message_service_sid: String,
        /// The `WhatsApp` content template; empty: plain text.
        content_sid: String,
    },
    /// Twilio Verify, which makes and checks the codes itself.
    TwilioVerify {
        /// The account.
        account_sid: String,
        /// Its password.
        auth_token: Secret,
        /// The verification service.
        message_service_sid: String,
    },
    /// `MessageBird`.
    Messagebird {
        /// The access key.
        access_key: Secret,
        /// The sender shown.
        originator: String,
    },
    /// `Textlocal`.
    Textlocal {
        /// The API key.
        api_key: Secret,
        /// The sender shown.
        sender: String,
    },
    /// Vonage.
    Vonage {
        /// The API key.
        api_key: String,
        /// The API secret.
        api_secret: Secret,
        /// The sender shown.
        from: String,
    },
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn a_fixed_code_holds_until_its_end() {
        let now = Time::UNIX_EPOCH;
        let test_otp = BTreeMap::from([("15550100001".to_owned(), "123456".to_owned())]);
        let mut policy = SmsPolicy { test_otp, ..SmsPolicy::default() };
        assert_eq!(policy.test_code("15550100001", now), Some("123456"));
        assert_eq!(policy.test_code("15550100002", now), None);
        policy.test_otp_valid_until = Some(now + TimeDelta::seconds(1));
        assert_eq!(policy.test_code("15550100001", now), Some("123456"));
        assert_eq!(policy.test_code("15550100001", now + TimeDelta::seconds(1)), None);
    }
}
