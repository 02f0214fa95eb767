//! The list of leaked passwords at haveibeenpwned.com.
//!
//! Only the first five hex digits of a password's SHA-1 are sent; the response lists the rest of every leaked hash with
//! that prefix. The caller decides about a listed password.

mod bloom;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use gotrue_rules::domain::policy::HibpPolicy;
use platform::http_client::{HttpClient, HttpError, ResponseLimits};
use reqwest::header::{HeaderName, USER_AGENT};

use self::bloom::{Filter, Sha1};

/// The URL of the list.
///
/// It is not configurable, because its host receives the hash prefix of every new password.
pub const SERVICE_URL: &str = "https://api.pwnedpasswords.com";

/// A response is about 40 KB long. The time limit of a sign-up's check is that of the reference.
const LIMITS: ResponseLimits = ResponseLimits { bytes: 1 << 20, time: Duration::from_secs(5) };

/// Requests padding lines, so that the length of a response does not reveal the prefix.
const ADD_PADDING: HeaderName = HeaderName::from_static("add-padding");

/// Why the list could not be checked. For the log only.
#[derive(Debug, thiserror::Error)]
pub enum PwnedError {
    /// The request failed.
    #[error("the list of leaked passwords: {0}")]
    Http(#[from] HttpError),
    /// The response has an error status.
    #[error("the list of leaked passwords answered with status {0}")]
    Status(u16),
    /// The response was truncated.
    #[error("the list of leaked passwords answered with more than {} bytes", LIMITS.bytes)]
    TooLong,
}

/// The list and a cache of its hashes.
#[derive(Debug)]
pub struct PwnedPasswords {
    http: Arc<HttpClient>,
    base: String,
    user_agent: String,
    /// Leaked hashes of earlier responses; a password found here needs no request.
    seen: Option<RwLock<Filter>>,
}

impl PwnedPasswords {
    /// Creates a client of the list at `base`: [`SERVICE_URL`] except in tests. No request is made yet.
    pub fn new(base: &str, policy: &HibpPolicy, http: Arc<HttpClient>) -> Self {
        Self {
            http,
            base: base.to_owned(),
            user_agent: policy.user_agent.clone(),
            seen: policy.bloom.filter(|_| policy.enabled).map(|size| RwLock::new(Filter::new(size))),
        }
    }

    /// Whether the password is listed.
    pub async fn is_listed(&self, password: &str) -> Result<bool, PwnedError> {
        let mut hash: Sha1 = [0; 20];
        hash.copy_from_slice(digest(&SHA1_FOR_LEGACY_USE_ONLY, password.as_bytes()).as_ref());
        if let Some(seen) = &self.seen
            && seen.read().unwrap_or_else(PoisonError::into_inner).contains(&hash)
        {
            return Ok(true);
        }
        let digits = hex::encode(hash).to_uppercase();
        let (prefix, _) = digits.split_at(5);
        let leaked = parse_hashes(prefix, &self.fetch(prefix).await?);
        if let Some(seen) = &self.seen {
            seen.write().unwrap_or_else(PoisonError::into_inner).add(&leaked);
        }
        Ok(leaked.contains(&hash))
    }

    async fn fetch(&self, prefix: &str) -> Result<Vec<u8>, PwnedError> {
        let request = self.http.get_trusted_client()?.get(format!("{}/range/{prefix}", self.base));
        let request = request.header(USER_AGENT, &self.user_agent).header(ADD_PADDING, "true").build();
        let answer = self.http.send_trusted("pwned-passwords", request.map_err(HttpError::from)?, LIMITS).await?;
        match answer.status {
            200 if answer.is_truncated => Err(PwnedError::TooLong),
            200 => Ok(answer.body),
            status => Err(PwnedError::Status(status)),
        }
    }
}

/// Parses a response: lines of 35 hex digits, a colon and a count; a count of zero is padding.
fn parse_hashes(prefix: &str, answer: &[u8]) -> Vec<Sha1> {
    let lines = answer.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    let hash = |line: &str| {
        let (suffix, count) = line.trim_end().split_once(':')?;
        let is_count = !count.is_empty() && count.bytes().all(|digit| digit.is_ascii_digit());
        (is_count && count != "0").then(|| parse_hash(&format!("{prefix}{suffix}")))?
    };
    lines.filter_map(hash).collect()
}

/// Parses a hash of forty hexadecimal digits, upper case.
fn parse_hash(digits: &str) -> Option<Sha1> {
    if digits.bytes().any(|digit| digit.is_ascii_lowercase()) {
        return None;
    }
    hex::decode(digits).ok()?.try_into().ok()
}
