//! Asks hCaptcha or Turnstile whether a captcha was solved. Which routes ask stands in the route table; what is answered
//! to who solved none is the guard's.

use std::net::IpAddr;
use std::sync::Arc;

use gotrue_rules::domain::policy::{Captcha, CaptchaProvider};
use gotrue_rules::domain::secret::Secret;
use gotrue_rules::wire::go_json::{self, Document};
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use crate::ports::http_client::{Answer, HttpClient, HttpError, Limits};

/// Most bytes of an answer: those known are below a kilobyte.
const LONGEST_ANSWER: usize = 64 * 1024;

/// Who verifies captchas.
#[derive(Debug)]
pub struct Verifier {
    provider: CaptchaProvider,
    secret: Secret,
    limits: Limits,
    http: Arc<HttpClient>,
}

/// What the provider says of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the captcha was solved.
    pub solved: bool,
    /// If not, why: the provider's own words.
    pub reasons: Vec<String>,
}

/// Why there is no verdict. For the log only.
#[derive(Debug, thiserror::Error)]
pub enum CaptchaError {
    /// The provider cannot be asked.
    #[error("asking the captcha's provider: {0}")]
    Unasked(#[from] HttpError),
    /// The request cannot be written.
    #[error("its address is no URL: {0}")]
    Address(#[from] url::ParseError),
    /// It answers what nobody can read.
    #[error("the captcha's provider answered {status} with what cannot be read: {reason}")]
    Unreadable {
        /// The status, which does not count otherwise.
        status: u16,
        /// What is wrong with the body.
        reason: go_json::Error,
    },
}

impl Verifier {
    /// As the policy says; no request is made yet.
    pub fn new(policy: &Captcha, http: Arc<HttpClient>) -> Self {
        let limits = Limits { bytes: LONGEST_ANSWER, time: policy.timeout };
        Self { provider: policy.provider, secret: policy.secret.clone(), limits, http }
    }

    /// Whether this token stands for a captcha that was solved, by a visitor at that address.
    pub async fn verify(&self, token: &str, visitor: Option<IpAddr>) -> Result<Verdict, CaptchaError> {
        let visitor = visitor.map(|address| address.to_string()).unwrap_or_default();
        let form = Serializer::new(String::new())
            .append_pair("remoteip", &visitor)
            .append_pair("response", token)
            .append_pair("secret", self.secret.reveal())
            .finish();
        let mut request = reqwest::Request::new(reqwest::Method::POST, Url::parse(address(self.provider))?);
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, kind);
        *request.body_mut() = Some(form.into());
        read(&self.http.call(request, self.limits).await?)
    }
}

fn address(provider: CaptchaProvider) -> &'static str {
    match provider {
        CaptchaProvider::Hcaptcha => "https://hcaptcha.com/siteverify",
        CaptchaProvider::Turnstile => "https://challenges.cloudflare.com/turnstile/v0/siteverify",
    }
}

/// As recorded, the status does not count: what the body says does.
fn read(answer: &Answer) -> Result<Verdict, CaptchaError> {
    let read = Document::parse_first(&answer.body).and_then(|body| body.read());
    let Verified { success, reasons, .. } =
        read.map_err(|reason| CaptchaError::Unreadable { status: answer.status, reason })?;
    Ok(Verdict { solved: success, reasons })
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Verified {
    success: bool,
    #[serde(rename = "error-codes")]
    reasons: Vec<String>,
    // Only its type counts.
    hostname: String,
}
