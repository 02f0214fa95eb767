//! SMS providers: requests and responses.

mod failures;
mod requests;
mod template;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foundation::secret::Secret;
use gotrue_rs::ports::sms::{SharedSmsSender, SmsDelivery, SmsError, SmsMessage};
use gotrue_rules::domain::contact::SmsChannel;
use gotrue_rules::domain::policy::{Policy, SmsPolicy, SmsProvider};
use platform::http_client::HttpClient;
use url::form_urlencoded;

use super::internet::{Internet, RecordedRequest};

const TWILIO: &str = "https://api.twilio.com/2010-04-01/Accounts/AC1/Messages.json";
const VERIFICATIONS: &str = "https://verify.twilio.com/v2/Services/VA1/Verifications";
const CHECK: &str = "https://verify.twilio.com/v2/Services/VA1/VerificationCheck";
const MESSAGEBIRD: &str = "https://rest.messagebird.com/messages";
const TEXTLOCAL: &str = "https://api.textlocal.in/send";
const VONAGE: &str = "https://rest.nexmo.com/sms/json";

/// What all senders here are known by.
const KEY: &str = "a-secret+key";

fn twilio() -> SmsProvider {
    SmsProvider::Twilio {
        account_sid: "AC1".into(),
        auth_token: Secret::new(KEY),
        message_service_sid: "MG1".into(),
        content_sid: String::new(),
    }
}

fn twilio_verify() -> SmsProvider {
    SmsProvider::TwilioVerify {
        account_sid: "AC1".into(),
        auth_token: Secret::new(KEY),
        message_service_sid: "VA1".into(),
    }
}

fn messagebird() -> SmsProvider {
    SmsProvider::Messagebird { access_key: Secret::new(KEY), originator: "Shop".into() }
}

fn textlocal() -> SmsProvider {
    SmsProvider::Textlocal { api_key: Secret::new(KEY), sender: "Shop".into() }
}

fn vonage() -> SmsProvider {
    SmsProvider::Vonage { api_key: "k1".into(), api_secret: Secret::new(KEY), from: "Shop".into() }
}

/// All providers with their URLs.
fn all() -> [(SmsProvider, &'static str); 5] {
    [
        (twilio(), TWILIO),
        (twilio_verify(), VERIFICATIONS),
        (messagebird(), MESSAGEBIRD),
        (textlocal(), TEXTLOCAL),
        (vonage(), VONAGE),
    ]
}

/// A sender, and the internet that it is in.
struct Scene {
    internet: Internet,
    sender: SharedSmsSender,
}

impl Scene {
    async fn with(provider: SmsProvider) -> Self {
        Self::within(provider, Duration::from_secs(10)).await
    }

    async fn within(provider: SmsProvider, time: Duration) -> Self {
        let internet = Internet::start().await;
        let mut policy =
            Policy { sms: SmsPolicy { provider: Some(provider), ..SmsPolicy::default() }, ..Policy::default() };
        policy.api.outbound_timeout = time;
        let texts = SmsDelivery::new(&policy, &Arc::new(HttpClient::new(internet.outbound())), None);
        Self { internet, sender: texts.sender }
    }

    /// Sends a text where the address answers so.
    async fn send(&self, url: &str, status: u16, body: &impl ToString) -> Result<Option<String>, SmsError> {
        self.internet.put(url, status, body);
        self.sender.send(&message("sms", "Your code is 123456")).await
    }

    /// The error message of an unsent message.
    async fn error_text(&self, url: &str, status: u16, body: &impl ToString) -> String {
        self.send(url, status, body).await.expect_err("the text is not sent").client_message()
    }

    /// The one request that came.
    #[track_caller]
    fn recorded_request(&self) -> RecordedRequest {
        let mut requests = self.internet.take_requests();
        assert_eq!(requests.len(), 1);
        requests.remove(0)
    }
}

fn message(channel: &str, body: &str) -> SmsMessage {
    let twilio = SmsPolicy { provider_name: "twilio".into(), ..SmsPolicy::default() };
    SmsMessage {
        to: "15550100001".into(),
        channel: SmsChannel::parse(channel, &twilio, false).expect("a channel of Twilio's"),
        body: body.into(),
        code: "123456".into(),
    }
}

/// The members of a form.
fn form(request: &RecordedRequest) -> BTreeMap<String, String> {
    assert_eq!(request.headers["content-type"], "application/x-www-form-urlencoded");
    form_urlencoded::parse(request.body.as_bytes()).into_owned().collect()
}

fn members<const N: usize>(members: [(&str, &str); N]) -> BTreeMap<String, String> {
    members.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}
