//! The list of leaked passwords at haveibeenpwned.com. Only the first five digits of a password's SHA-1 leave the house;
//! the answer names the rest of every leaked hash that begins so. Decides nothing about a password that is listed.

mod bloom;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use gotrue_rules::domain::policy::HibpPolicy;
use reqwest::header::{HeaderName, USER_AGENT};

use self::bloom::Filter;
use super::http_client::{HttpClient, HttpError, Limits};

/// Where the list is. No setting changes it: whoever could would be told the beginning of every new password's hash.
pub const SERVICE: &str = "https://api.pwnedpasswords.com";

/// An answer is about 40 KB long; a sign-up waits for it no longer than the reference does.
const LIMITS: Limits = Limits { bytes: 1 << 20, time: Duration::from_secs(5) };

/// Asks for lines that mean nothing among the others, so that the length of an answer does not tell which it is.
const ADD_PADDING: HeaderName = HeaderName::from_static("add-padding");

/// The SHA-1 of a password.
type Sha1 = [u8; 20];

/// Why it is not known whether a password is listed. For the log only.
#[derive(Debug, thiserror::Error)]
pub enum PwnedError {
    /// The service could not be asked.
    #[error("the list of leaked passwords: {0}")]
    Http(#[from] HttpError),
    /// It answered, but not with a list.
    #[error("the list of leaked passwords answered with status {0}")]
    Status(u16),
    /// Its answer was cut off.
    #[error("the list of leaked passwords answered with more than {} bytes", LIMITS.bytes)]
    TooLong,
}

/// The list, and what is remembered of it.
#[derive(Debug)]
pub struct PwnedPasswords {
    http: Arc<HttpClient>,
    base: String,
    user_agent: String,
    /// Leaked hashes of answers so far; a password found here is not asked for again.
    seen: Option<RwLock<Filter>>,
}

impl PwnedPasswords {
    /// The list at `base`, which is [`SERVICE`] but for tests. Nothing is asked yet.
    pub fn at(base: &str, policy: &HibpPolicy, http: Arc<HttpClient>) -> Self {
        Self {
            http,
            base: base.to_owned(),
            user_agent: policy.user_agent.clone(),
            seen: policy.bloom.filter(|_| policy.enabled).map(|size| RwLock::new(Filter::new(size))),
        }
    }

    /// Whether the password is listed.
    pub async fn lists(&self, password: &str) -> Result<bool, PwnedError> {
        let mut hash: Sha1 = [0; 20];
        hash.copy_from_slice(digest(&SHA1_FOR_LEGACY_USE_ONLY, password.as_bytes()).as_ref());
        if let Some(seen) = &self.seen
            && seen.read().unwrap_or_else(PoisonError::into_inner).holds(&hash)
        {
            return Ok(true);
        }
        let digits = hex(&hash);
        let (prefix, _) = digits.split_at(5);
        let leaked = leaked(prefix, &self.ask(prefix).await?);
        if let Some(seen) = &self.seen {
            seen.write().unwrap_or_else(PoisonError::into_inner).add(&leaked);
        }
        Ok(leaked.contains(&hash))
    }

    async fn ask(&self, prefix: &str) -> Result<Vec<u8>, PwnedError> {
        let request = self.http.operators()?.get(format!("{}/range/{prefix}", self.base));
        let request = request.header(USER_AGENT, &self.user_agent).header(ADD_PADDING, "true").build();
        let answer = self.http.call(request.map_err(HttpError::from)?, LIMITS).await?;
        match answer.status {
            200 if answer.truncated => Err(PwnedError::TooLong),
            200 => Ok(answer.body),
            status => Err(PwnedError::Status(status)),
        }
    }
}

/// The hashes of an answer: lines of 35 digits, a colon and how often it was leaked; those of no leak are padding.
fn leaked(prefix: &str, answer: &[u8]) -> Vec<Sha1> {
    let lines = answer.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    let hash = |line: &str| {
        let (suffix, count) = line.trim_end().split_once(':')?;
        let is_count = !count.is_empty() && count.bytes().all(|digit| digit.is_ascii_digit());
        (is_count && count != "0").then(|| unhex(&format!("{prefix}{suffix}")))?
    };
    lines.filter_map(hash).collect()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// The bytes of forty digits, letters among them great ones.
fn unhex(digits: &str) -> Option<Sha1> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    };
    let digits: &[u8; 40] = digits.as_bytes().try_into().ok()?;
    let mut bytes: Sha1 = [0; 20];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}
