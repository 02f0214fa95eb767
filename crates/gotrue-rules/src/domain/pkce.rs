//! PKCE (RFC 7636): challenges, verifiers and flow states.

use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;
use subtle::ConstantTimeEq as _;

/// Validates the form of a challenge and its method: both or none; 400 `validation_failed`.
/// The challenge has 43 to 128 unreserved characters. [`Challenge::new`] validates the method later.
pub fn validate_challenge_pair(challenge: &str, method: &str) -> Result<()> {
    if challenge.is_empty() != method.is_empty() {
        return Err(Error::invalid("PKCE flow requires code_challenge_method and code_challenge"));
    }
    if challenge.is_empty() {
        return Ok(());
    }
    if !(43..=128).contains(&challenge.len()) {
        return Err(Error::invalid("code challenge has to be between 43 and 128 characters"));
    }
    if !challenge.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte)) {
        return Err(Error::invalid(
            "code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes",
        ));
    }
    Ok(())
}

/// The transformation from verifier to challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChallengeMethod {
    /// base64url of SHA-256.
    S256,
    /// The verifier itself.
    Plain,
}

impl ChallengeMethod {
    /// Returns the word of the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::S256 => "s256",
            Self::Plain => "plain",
        }
    }

    /// Parses a method in any letter case.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::S256, Self::Plain].into_iter().find(|method| method.as_str().eq_ignore_ascii_case(word))
    }
}

/// Computes the challenge of a verifier with [`ChallengeMethod::S256`].
pub fn s256_challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

/// The code challenge of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// The value of the challenge.
    pub value: String,
    pub method: ChallengeMethod,
}

/// An unknown `code_challenge_method`.
///
/// Endpoints answer it differently; the conversion to [`Error`] is the generic 500 of the e-mail flows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unsupported code_challenge method {0:?}")]
pub struct UnknownMethod(pub String);

impl UnknownMethod {
    /// Converts to the 400 of the sign-ins by a redirect.
    pub fn into_invalid_request(self) -> Error {
        Error::invalid("Invalid code_challenge_method").with_cause(self)
    }
}

impl From<UnknownMethod> for Error {
    fn from(unknown: UnknownMethod) -> Self {
        Self::other(unknown)
    }
}

impl Challenge {
    /// Builds the challenge of a request; `None` without one, which is an implicit flow.
    pub fn new(challenge: &str, method: &str) -> Result<Option<Self>, UnknownMethod> {
        if challenge.is_empty() {
            return Ok(None);
        }
        let method = ChallengeMethod::parse(method).ok_or_else(|| UnknownMethod(method.to_owned()))?;
        Ok(Some(Self { value: challenge.to_owned(), method }))
    }

    /// Verifies a code verifier in constant time; 400 `bad_code_verifier`.
    pub fn verify(&self, verifier: &str) -> Result<()> {
        let made = match self.method {
            ChallengeMethod::S256 => s256_challenge(verifier),
            ChallengeMethod::Plain => verifier.to_owned(),
        };
        if bool::from(made.as_bytes().ct_eq(self.value.as_bytes())) {
            return Ok(());
        }
        Err(Error::new(ErrorCode::BadCodeVerifier, "code challenge does not match previously saved code verifier"))
    }
}

/// A row of `auth.flow_state` at the exchange of its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowState {
    /// `code_challenge` and its method; absent for an implicit flow.
    pub challenge: Option<Challenge>,
    /// `authentication_method`.
    pub method: String,
    pub created_at: Time,
    pub auth_code_issued_at: Option<Time>,
}

impl FlowState {
    /// Whether the code has expired: its lifetime starts at the request, for magic links at the click.
    pub fn is_expired(&self, life: Duration, now: Time) -> bool {
        let clicked = self.auth_code_issued_at.filter(|_| self.method == "magiclink");
        now > clicked.unwrap_or(self.created_at) + life
    }

    /// Verifies an exchange: age (422 `flow_state_expired`), then verifier (400 `bad_code_verifier`).
    /// A wrong verifier does not consume the code.
    pub fn verify_exchange(&self, verifier: &str, life: Duration, now: Time) -> Result<()> {
        if self.is_expired(life, now) {
            return Err(Error::new(ErrorCode::FlowStateExpired, "invalid flow state, flow state has expired"));
        }
        match &self.challenge {
            Some(challenge) => challenge.verify(verifier),
            None => Err(Error::new(ErrorCode::BadCodeVerifier, "PKCE verification not applicable for implicit flow")),
        }
    }
}

/// Error of a code that is unknown, used, or not yet bound to a user.
pub fn unknown_code() -> Error {
    Error::new(ErrorCode::FlowStateNotFound, "invalid flow state, no valid flow state found")
}

#[cfg(test)]
mod tests {
    use super::*;

    // Example of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn challenge_pairs_are_validated() {
        let long = "a".repeat(129);
        let odd = "a".repeat(42) + "+";
        let wide = "a".repeat(42) + "é";
        for (challenge, method, message) in [
            ("", "", ""),
            (CHALLENGE, "s256", ""),
            (CHALLENGE, "sha1", ""),
            (CHALLENGE, "", "PKCE flow requires code_challenge_method and code_challenge"),
            ("", "s256", "PKCE flow requires code_challenge_method and code_challenge"),
            ("short", "s256", "code challenge has to be between 43 and 128 characters"),
            (&long, "plain", "code challenge has to be between 43 and 128 characters"),
            (
                &odd,
                "s256",
                "code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes",
            ),
            (
                &wide,
                "s256",
                "code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes",
            ),
        ] {
            let actual = validate_challenge_pair(challenge, method)
                .map_or_else(|error| error.message().to_owned(), |()| String::new());
            assert_eq!(actual, message, "{challenge} {method}");
        }
    }

    #[test]
    fn challenge_methods_are_case_insensitive() {
        let made = Challenge::new(CHALLENGE, "S256").unwrap().unwrap();
        assert_eq!(made.method, ChallengeMethod::S256);
        assert_eq!(Challenge::new("x", "Plain").unwrap().unwrap().method, ChallengeMethod::Plain);
        assert_eq!(Challenge::new("", "nonsense"), Ok(None));
        let unknown = Challenge::new("x", "sha1").unwrap_err();
        assert_eq!(Error::from(unknown).status(), 500);
    }

    #[test]
    fn only_matching_verifier_is_accepted() {
        let s256 = Challenge { value: CHALLENGE.into(), method: ChallengeMethod::S256 };
        assert!(s256.verify(VERIFIER).is_ok());
        let plain = Challenge { value: VERIFIER.into(), method: ChallengeMethod::Plain };
        assert!(plain.verify(VERIFIER).is_ok());
        for wrong in ["", CHALLENGE, &VERIFIER[..42], &format!("{VERIFIER}a"), &VERIFIER.to_lowercase()] {
            let refused = s256.verify(wrong).unwrap_err();
            assert_eq!((refused.status(), refused.code().as_str()), (400, "bad_code_verifier"), "{wrong}");
            assert!(plain.verify(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn code_lifetime_starts_at_request_or_magic_link_click() {
        let now = Time::UNIX_EPOCH + Duration::from_secs(1000);
        let life = Duration::from_mins(5);
        let at = |seconds| now - Duration::from_secs(seconds);
        for (method, created, clicked, expired) in [
            ("oauth", 300, None, false),
            ("oauth", 301, None, true),
            ("oauth", 301, Some(10), true),
            ("magiclink", 301, None, true),
            ("magiclink", 900, Some(300), false),
            ("magiclink", 900, Some(301), true),
        ] {
            let flow = FlowState {
                challenge: Some(Challenge { value: VERIFIER.into(), method: ChallengeMethod::Plain }),
                method: method.into(),
                created_at: at(created),
                auth_code_issued_at: clicked.map(at),
            };
            assert_eq!(flow.is_expired(life, now), expired, "{method} {created}");
            let code = flow.verify_exchange(VERIFIER, life, now).map_or_else(|error| error.code().as_str(), |()| "");
            assert_eq!(code, if expired { "flow_state_expired" } else { "" });
            let implicit = FlowState { challenge: None, ..flow };
            assert!(implicit.verify_exchange(VERIFIER, life, now).is_err());
        }
    }
}
