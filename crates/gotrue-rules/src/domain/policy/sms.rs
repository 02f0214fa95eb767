//! Policy for SMS messages.

use std::collections::BTreeMap;
use std::time::Duration;

use foundation::secret::Secret;
use foundation::time::Time;

/// Default message (a Go text template).
pub(super) const DEFAULT_TEMPLATE: &str = "Your code is {{ .Code }}";

/// Policy for SMS messages.
#[derive(Debug, Clone, PartialEq)]
pub struct SmsPolicy {
    /// A new number is confirmed at once. Default false.
    pub autoconfirm: bool,
    /// Minimum interval between two messages to one user. Default 1 min.
    pub max_frequency: Duration,
    /// Lifetime of a code. Default 60 s.
    pub otp_exp: Duration,
    /// Number of digits of a code, 6–10. Default 6.
    pub otp_length: usize,
    /// The message (a Go text template over `.Code`). Default `Your code is {{ .Code }}`.
    pub template: String,
    /// Numbers (digits only) with a fixed code. Default none.
    pub test_otp: BTreeMap<String, String>,
    /// End of the fixed codes' validity; absent: unlimited. Default absent.
    pub test_otp_valid_until: Option<Time>,
    /// The provider name as configured, even if unknown; shown by `GET /settings`. Default empty.
    pub provider_name: String,
    /// The provider; absent if none is named, or if it is unknown or incomplete. Default absent.
    pub provider: Option<SmsProvider>,
}

impl SmsPolicy {
    /// Returns the fixed code of a number, if it is valid now.
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

/// An SMS provider with its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmsProvider {
    /// Twilio Programmable Messaging.
    Twilio {
        account_sid: String,
        auth_token: Secret,
        /// The messaging service SID, or the sender's number.
        message_service_sid: String,
        /// The `WhatsApp` content template; empty: plain text.
        content_sid: String,
    },
    /// Twilio Verify, which generates and verifies the codes.
    TwilioVerify {
        account_sid: String,
        auth_token: Secret,
        /// The verification service SID.
        message_service_sid: String,
    },
    /// `MessageBird`.
    Messagebird {
        access_key: Secret,
        /// The sender name.
        originator: String,
    },
    Textlocal {
        api_key: Secret,
        /// The sender name.
        sender: String,
    },
    Vonage {
        api_key: String,
        api_secret: Secret,
        /// The sender name.
        from: String,
    },
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn fixed_code_is_valid_until_its_end() {
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
