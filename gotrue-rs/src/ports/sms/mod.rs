//! Messages to phones: what one says, who takes it, and what the five senders have in common. How each of them is asked
//! and what its answer means stands in its own file (`config.md` §6).

mod messagebird;
mod template;
mod textlocal;
mod twilio;
mod twilio_verify;
mod vonage;

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use gotrue_rules::domain::contact::Channel;
use gotrue_rules::domain::policy::{Policy, SmsProvider};
use gotrue_rules::domain::secret::Secret;
use gotrue_rules::wire::go_json::{self, Document};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde::de::DeserializeOwned;
use url::form_urlencoded::Serializer;

pub use self::template::{TemplateError, TextTemplate};
use crate::ports::http_client::{Answer, HttpClient, HttpError, Limits};

/// The `message_id` of a message to a number with a fixed code (`SmsPolicy::test_code`): nothing is sent to those.
pub const TEST_MESSAGE_ID: &str = "test-otp";

/// Most bytes of an answer: those known are below four kilobytes.
const LONGEST_ANSWER: usize = 64 * 1024;

/// Secrets shorter than this are not looked for in answers.
const SHORTEST_SECRET: usize = 8;

/// One message to one number.
#[derive(Clone, PartialEq, Eq)]
pub struct TextMessage {
    /// The number: digits only, no `+`.
    pub to: String,
    /// The way it goes.
    pub channel: Channel,
    /// The text.
    pub body: String,
    /// The code in it, for senders that want it apart.
    pub code: String,
}

/// Neither number nor code is printed.
impl fmt::Debug for TextMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextMessage").field("channel", &self.channel).finish_non_exhaustive()
    }
}

/// Why a message was not sent, or a code is not right. Prints what the log may hold; the client is told [`Self::words`].
#[derive(Debug, thiserror::Error)]
pub enum SmsError {
    /// No sender is configured.
    #[error("no sender of phone messages can be used: set GOTRUE_SMS_PROVIDER and what it needs")]
    NoProvider,
    /// The sender says no.
    #[error("the sender refused")]
    Refused(String),
    /// The sender cannot be reached.
    #[error("asking {sender}: {cause}")]
    Unanswered {
        /// Who was asked.
        sender: &'static str,
        /// What went wrong.
        cause: HttpError,
    },
    /// The sender answers what nobody can read.
    #[error("{sender} answered {status} with what cannot be read: {reason}")]
    Unreadable {
        /// Who was asked.
        sender: &'static str,
        /// The status.
        status: u16,
        /// What is wrong with the body.
        reason: go_json::Error,
    },
    /// The sender checks no codes.
    #[error("this sender makes no codes of its own")]
    ChecksNone,
}

impl SmsError {
    /// What the client is told: a refusal in the sender's own words, else only who failed.
    pub fn words(&self) -> String {
        match self {
            Self::Refused(words) => words.clone(),
            Self::Unanswered { sender, .. } => format!("{sender} cannot be reached"),
            Self::Unreadable { sender, status, .. } => format!("{sender} answered {status} with what cannot be read"),
            Self::NoProvider | Self::ChecksNone => self.to_string(),
        }
    }
}

/// Sends messages to phones.
pub trait Sender: fmt::Debug + Send + Sync + 'static {
    /// Sends one; gives the sender's id of it, if it names one.
    fn send<'a>(&'a self, message: &'a TextMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>>;

    /// Asks whether a code is the one that the sender itself made for this number.
    fn check<'a>(&'a self, _to: &'a str, _code: &'a str) -> BoxFuture<'a, Result<(), SmsError>> {
        Box::pin(async { Err(SmsError::ChecksNone) })
    }
}

/// A sender that can be shared.
pub type SharedSender = Arc<dyn Sender>;

/// Who takes texts and what they say, chosen when the server starts.
#[derive(Debug)]
pub struct Texts {
    /// Who takes them.
    pub sender: SharedSender,
    /// What a text with a code of an account says.
    pub code: TextTemplate,
    /// What a text with a code of a second factor says.
    pub factor: TextTemplate,
}

impl Texts {
    /// As the policy says; nobody is asked yet.
    pub fn new(policy: &Policy, http: &Arc<HttpClient>) -> Self {
        Self {
            sender: sender(policy, http),
            code: TextTemplate::parse(&policy.sms.template),
            factor: TextTemplate::parse(&policy.mfa.phone.template),
        }
    }
}

fn sender(policy: &Policy, http: &Arc<HttpClient>) -> SharedSender {
    let Some(provider) = &policy.sms.provider else { return Arc::new(NoSender) };
    let limits = Limits { bytes: LONGEST_ANSWER, time: policy.api.outbound_timeout };
    let door = |name, secret: &Secret| Door { name, secret: secret.clone(), http: http.clone(), limits };
    match provider {
        SmsProvider::Twilio { account_sid, auth_token, message_service_sid, content_sid } => Arc::new(twilio::Twilio {
            door: door("Twilio", auth_token),
            account_sid: account_sid.clone(),
            from: message_service_sid.clone(),
            content_sid: content_sid.clone(),
        }),
        SmsProvider::TwilioVerify { account_sid, auth_token, message_service_sid } => {
            Arc::new(twilio_verify::TwilioVerify {
                door: door("Twilio Verify", auth_token),
                account_sid: account_sid.clone(),
                service: message_service_sid.clone(),
            })
        }
        SmsProvider::Messagebird { access_key, originator } => {
            Arc::new(messagebird::Messagebird { door: door("Messagebird", access_key), originator: originator.clone() })
        }
        SmsProvider::Textlocal { api_key, sender } => {
            Arc::new(textlocal::Textlocal { door: door("TextLocal", api_key), sender: sender.clone() })
        }
        SmsProvider::Vonage { api_key, api_secret, from } => {
            Arc::new(vonage::Vonage { door: door("Vonage", api_secret), api_key: api_key.clone(), from: from.clone() })
        }
    }
}

/// No sender is configured.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSender;

impl Sender for NoSender {
    fn send<'a>(&'a self, _: &'a TextMessage) -> BoxFuture<'a, Result<Option<String>, SmsError>> {
        Box::pin(async { Err(SmsError::NoProvider) })
    }
}

/// The way to one sender.
#[derive(Debug)]
struct Door {
    /// Its name, as the reference spells it.
    name: &'static str,
    /// What it knows us by; never in an error.
    secret: Secret,
    http: Arc<HttpClient>,
    limits: Limits,
}

impl Door {
    /// Posts a form.
    async fn post(&self, url: &str, authorization: Option<String>, form: &[(&str, &str)]) -> Result<Answer, SmsError> {
        let unreadable = |reason: &dyn fmt::Display| HttpError::Client(format!("a setting cannot be sent: {reason}"));
        let failed = |cause| SmsError::Unanswered { sender: self.name, cause };
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
        self.http.call(request, self.limits).await.map_err(failed)
    }

    /// Reads what an answer says.
    fn read<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, SmsError> {
        let read = Document::parse_first(&answer.body).and_then(|body| body.read());
        read.map_err(|reason| SmsError::Unreadable { sender: self.name, status: answer.status, reason })
    }

    /// A refusal in the sender's words, without what it knows us by. A secret too short to be one is a word of theirs.
    fn refused(&self, words: &str) -> SmsError {
        let secret = self.secret.reveal();
        SmsError::Refused(if secret.len() < SHORTEST_SECRET { words.to_owned() } else { words.replace(secret, "***") })
    }

    /// Refuses a channel that this sender does not have.
    fn require_sms(&self, channel: &Channel) -> Result<(), SmsError> {
        if *channel == Channel::default() {
            return Ok(());
        }
        Err(self.refused(&format!("channel type {:?} is not supported for {}", channel.as_str(), self.name)))
    }
}

/// An id that an answer may lack.
fn named(id: String) -> Option<String> {
    Some(id).filter(|id| !id.is_empty())
}
