//! Verifies captcha tokens with hCaptcha or Turnstile.
//!
//! The route table lists the protected routes; the guard builds the error response.

use std::net::IpAddr;
use std::sync::Arc;

use foundation::secret::Secret;
use gotrue_rules::domain::policy::{CaptchaPolicy, CaptchaProvider};
use gotrue_rules::wire::go_json::{self, Document};
use platform::http_client::{HttpClient, HttpError, HttpResponse, ResponseLimits};
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use url::form_urlencoded::Serializer;

/// The maximum number of bytes of a response; known ones are below a kilobyte.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// A client of the captcha provider.
#[derive(Debug)]
pub struct CaptchaVerifier {
    provider: CaptchaProvider,
    secret: Secret,
    limits: ResponseLimits,
    http: Arc<HttpClient>,
}

/// The provider's decision about a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptchaVerdict {
    /// Whether the captcha was solved.
    pub is_solved: bool,
    /// The provider's error codes for an unsolved captcha.
    pub error_codes: Vec<String>,
}

/// Why a token could not be verified. For the log only.
#[derive(Debug, thiserror::Error)]
pub enum CaptchaError {
    /// The request to the provider failed.
    #[error("request to the captcha provider: {0}")]
    Request(#[from] HttpError),
    /// The provider's URL is invalid.
    #[error("invalid URL of the captcha provider: {0}")]
    Url(#[from] url::ParseError),
    /// The provider's response is not valid JSON of the expected form.
    #[error("unreadable response of the captcha provider, status {status}: {reason}")]
    Unreadable {
        /// The status, which is otherwise ignored.
        status: u16,
        /// The parse error of the body.
        reason: go_json::GoJsonError,
    },
}

impl CaptchaVerifier {
    /// Creates a verifier for the policy without sending a request.
    pub fn new(policy: &CaptchaPolicy, http: Arc<HttpClient>) -> Self {
        let limits = ResponseLimits { bytes: MAX_RESPONSE_BYTES, time: policy.timeout };
        Self { provider: policy.provider, secret: policy.secret.clone(), limits, http }
    }

    /// Verifies a captcha token of a client at that address.
    pub async fn verify(&self, token: &str, visitor: Option<IpAddr>) -> Result<CaptchaVerdict, CaptchaError> {
        let visitor = visitor.map(|address| address.to_string()).unwrap_or_default();
        let form = Serializer::new(String::new())
            .append_pair("remoteip", &visitor)
            .append_pair("response", token)
            .append_pair("secret", self.secret.reveal())
            .finish();
        let mut request = reqwest::Request::new(reqwest::Method::POST, Url::parse(verify_url(self.provider))?);
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, kind);
        *request.body_mut() = Some(form.into());
        parse_response(&self.http.send_trusted(service_name(self.provider), request, self.limits).await?)
    }
}

/// The provider's name in traces.
fn service_name(provider: CaptchaProvider) -> &'static str {
    match provider {
        CaptchaProvider::Hcaptcha => "hcaptcha",
        CaptchaProvider::Turnstile => "turnstile",
    }
}

fn verify_url(provider: CaptchaProvider) -> &'static str {
    match provider {
        CaptchaProvider::Hcaptcha => "https://hcaptcha.com/siteverify",
        CaptchaProvider::Turnstile => "https://challenges.cloudflare.com/turnstile/v0/siteverify",
    }
}

/// Reads the decision from the body; like the reference it ignores the status.
fn parse_response(answer: &HttpResponse) -> Result<CaptchaVerdict, CaptchaError> {
    let read = Document::parse_first(&answer.body).and_then(|body| body.read());
    let VerifyResponse { success, reasons, .. } =
        read.map_err(|reason| CaptchaError::Unreadable { status: answer.status, reason })?;
    Ok(CaptchaVerdict { is_solved: success, error_codes: reasons })
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct VerifyResponse {
    success: bool,
    #[serde(rename = "error-codes")]
    reasons: Vec<String>,
    // Only its type is checked.
    hostname: String,
}
