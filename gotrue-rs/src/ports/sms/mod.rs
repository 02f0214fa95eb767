//! Phone messages: the message type, the sender interface, and the common parts of the five senders.
//!
//! Each sender's request and response format is in its own file.

mod inbox;
mod messagebird;
mod template;
mod textlocal;
mod twilio;
mod twilio_verify;
mod vonage;

use std::fmt;
use std::sync::Arc;

use foundation::secret::Secret;
use futures::future::BoxFuture;
use gotrue_rules::domain::contact::SmsChannel;
use gotrue_rules::domain::policy::{Policy, SmsProvider};
use gotrue_rules::wire::go_json::{self, Document};
use platform::http_client::{HttpClient, HttpError, HttpResponse, ResponseLimits};
use platform::mail::inbox::Inbox;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde::de::DeserializeOwned;
use url::form_urlencoded::Serializer;

pub use self::template::{SmsTemplate, SmsTemplateError};

/// The `message_id` of a message to a test number (`SmsPolicy::test_code`), which is not sent.
pub const TEST_MESSAGE_ID: &str = "test-otp";

/// The maximum number of bytes of a response; known ones are below four kilobytes.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// Shorter secrets are not redacted in responses.
const MIN_REDACTED_BYTES: usize = 8;

/// One message to one number.
#[derive(Clone, PartialEq, Eq)]
pub struct SmsMessage {
    /// The number: digits only, no `+`.
    pub to: String,
    pub channel: SmsChannel,
    /// The text.
    pub body: String,
    /// The code in the text, for senders that take it separately.
    pub code: String,
}

/// Omits number and code.
impl fmt::Debug for SmsMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmsMessage").field("channel", &self.channel).finish_non_exhaustive()
    }
}

/// Why a message was not sent, or a code is wrong.
///
/// `Display` is for the log; clients get [`Self::client_message`].
#[derive(Debug, thiserror::Error)]
pub enum SmsError {
    /// No sender is configured.
    #[error("no sender of phone messages can be used: configure an SMS provider completely")]
    NoProvider,
    /// The sender rejected the message.
    #[error("the sender refused")]
    Refused(String),
    /// The request to the sender failed.
    #[error("asking {sender}: {cause}")]
    Transport { sender: &'static str, cause: HttpError },
    /// The sender's response is not valid JSON of the expected form.
    #[error("{sender} answered {status} with what cannot be read: {reason}")]
    Unreadable {
        sender: &'static str,
        status: u16,
        /// The parse error of the body.
        reason: go_json::GoJsonError,
    },
    /// The message could not be written into the development inbox.
    #[error("the message could not be kept: {0}")]
    NotKept(String),
    /// The sender does not verify codes.
    #[error("this sender makes no codes of its own")]
    CodesUnsupported,
}

impl SmsError {
    /// Returns the client's message: the sender's text of a rejection, else only the sender's name.
    pub fn client_message(&self) -> String {
        match self {
            Self::Refused(words) => words.clone(),
            Self::Transport { sender, .. } => format!("{sender} cannot be reached"),
            Self::Unreadable { sender, status, .. } => format!("{sender} answered {status} with what cannot be read"),
            Self::NotKept(_) => "the message could not be kept".to_owned(),
            Self::NoProvider | Self::CodesUnsupported => self.to_string(),
        }
    }
}

/// Sends phone messages.
pub trait SmsSender: fmt::Debug + Send + Sync + 'static {
    /// Sends a message and returns the sender's id of it, if there is one.
    fn send<'a>(&'a self, message: &'a SmsMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>>;

    /// Verifies a code that the sender itself generated for this number.
    fn verify_code<'a>(&'a self, _to: &'a str, _code: &'a str) -> BoxFuture<'a, Result<(), SmsError>> {
        Box::pin(async { Err(SmsError::CodesUnsupported) })
    }
}

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

/// The HTTP client of one sender.
#[derive(Debug)]
struct SenderClient {
    /// The sender's name as the reference spells it.
    name: &'static str,
    /// The API secret; never part of an error.
    secret: Secret,
    http: Arc<HttpClient>,
    limits: ResponseLimits,
}

impl SenderClient {
    /// Posts a form.
    async fn post(
        &self,
        url: &str,
        authorization: Option<String>,
        form: &[(&str, &str)],
    ) -> Result<HttpResponse, SmsError> {
        let unreadable = |reason: &dyn fmt::Display| HttpError::Client(format!("a setting cannot be sent: {reason}"));
        let failed = |cause| SmsError::Transport { sender: self.name, cause };
        let url = Url::parse(url).map_err(|reason| failed(unreadable(&reason)))?;
        let mut request = reqwest::Request::new(reqwest::Method::POST, url);
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, kind);
        if let Some(authorization) = authorization {
            let mut value = HeaderValue::try_from(authorization).map_err(|reason| failed(unreadable(&reason)))?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        *request.body_mut() = Some(Serializer::new(String::new()).extend_pairs(form).finish().into());
        self.http.send_trusted(self.name, request, self.limits).await.map_err(failed)
    }

    fn parse_response<T: DeserializeOwned>(&self, answer: &HttpResponse) -> Result<T, SmsError> {
        let read = Document::parse_first(&answer.body).and_then(|body| body.read());
        read.map_err(|reason| SmsError::Unreadable { sender: self.name, status: answer.status, reason })
    }

    /// Returns a rejection in the sender's text, with the secret redacted.
    ///
    /// A short secret is a common word and stays.
    fn rejection(&self, words: &str) -> SmsError {
        let secret = self.secret.reveal();
        SmsError::Refused(if secret.len() < MIN_REDACTED_BYTES {
            words.to_owned()
        } else {
            words.replace(secret, "***")
        })
    }

    /// Rejects a channel other than SMS.
    fn require_sms(&self, channel: &SmsChannel) -> Result<(), SmsError> {
        if *channel == SmsChannel::default() {
            return Ok(());
        }
        Err(self.rejection(&format!("channel type {:?} is not supported for {}", channel.as_str(), self.name)))
    }
}

/// Returns an id unless it is empty.
fn non_empty(id: String) -> Option<String> {
    Some(id).filter(|id| !id.is_empty())
}
