//! Phone messages and their senders.
//!
//! Each sender's request and response format is in its own file.

mod inbox;
mod message;
mod messagebird;
mod sender_client;
mod template;
mod textlocal;
mod twilio;
mod twilio_verify;
mod vonage;

use std::sync::Arc;

use foundation::secret::Secret;
use futures::future::BoxFuture;
use gotrue_rules::domain::policy::{Policy, SmsProvider};
use platform::http_client::{HttpClient, ResponseLimits};
use platform::mail::inbox::Inbox;

pub use self::message::{SmsError, SmsMessage, SmsSender};
use self::sender_client::SenderClient;
pub use self::template::{SmsTemplate, SmsTemplateError};

/// The `message_id` of a message to a test number (`SmsPolicy::test_code`), which is not sent.
pub const TEST_MESSAGE_ID: &str = "test-otp";

/// The maximum number of bytes of a response; known ones are below four kilobytes.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// A shared sender.
pub type SharedSmsSender = Arc<dyn SmsSender>;

/// The sender and the templates of messages, configured at start.
#[derive(Debug)]
pub struct SmsDelivery {
    pub sender: SharedSmsSender,
    /// The template of messages with a one-time code.
    pub code_template: SmsTemplate,
    /// The template of messages with a code of a phone factor.
    pub factor_template: SmsTemplate,
}

impl SmsDelivery {
    /// Creates sender and templates for the policy without sending a request.
    ///
    /// Without a configured sender, `inbox` keeps the messages.
    pub fn new(policy: &Policy, http: &Arc<HttpClient>, inbox: Option<Inbox>) -> Self {
        Self {
            sender: match (&policy.sms.provider, inbox) {
                (None, Some(inbox)) => Arc::new(inbox::InboxSmsSender(inbox)),
                _ => build_sender(policy, http),
            },
            code_template: SmsTemplate::parse(&policy.sms.template),
            factor_template: SmsTemplate::parse(&policy.mfa.phone.template),
        }
    }
}

fn build_sender(policy: &Policy, http: &Arc<HttpClient>) -> SharedSmsSender {
    let Some(provider) = &policy.sms.provider else { return Arc::new(MissingSmsSender) };
    let limits = ResponseLimits { bytes: MAX_RESPONSE_BYTES, time: policy.api.outbound_timeout };
    let client = |name, secret: &Secret| SenderClient { name, secret: secret.clone(), http: http.clone(), limits };
    match provider {
        SmsProvider::Twilio { account_sid, auth_token, message_service_sid, content_sid } => Arc::new(twilio::Twilio {
            client: client("Twilio", auth_token),
            account_sid: account_sid.clone(),
            from: message_service_sid.clone(),
            content_sid: content_sid.clone(),
        }),
        SmsProvider::TwilioVerify { account_sid, auth_token, message_service_sid } => {
            Arc::new(twilio_verify::TwilioVerify {
                client: client("Twilio Verify", auth_token),
                account_sid: account_sid.clone(),
                service: message_service_sid.clone(),
            })
        }
        SmsProvider::Messagebird { access_key, originator } => Arc::new(messagebird::Messagebird {
            client: client("Messagebird", access_key),
            originator: originator.clone(),
        }),
        SmsProvider::Textlocal { api_key, sender } => {
            Arc::new(textlocal::Textlocal { client: client("TextLocal", api_key), sender: sender.clone() })
        }
        SmsProvider::Vonage { api_key, api_secret, from } => Arc::new(vonage::Vonage {
            client: client("Vonage", api_secret),
            api_key: api_key.clone(),
            from: from.clone(),
        }),
    }
}

/// No sender is configured.
#[derive(Debug, Clone, Copy, Default)]
pub struct MissingSmsSender;

impl SmsSender for MissingSmsSender {
    fn send<'a>(&'a self, _: &'a SmsMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        Box::pin(async { Err(SmsError::NoProvider) })
    }
}
