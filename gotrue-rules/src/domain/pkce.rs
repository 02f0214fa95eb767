//! PKCE (RFC 7636): the pair that starts a flow and the verifier that ends it.

use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq as _;

use super::error::{Error, Result};
use super::user::Time;

/// Checks the form of a pair as most endpoints do: both or none (400 `validation_failed`), the challenge 43 to 128
/// characters of a certain set. Whether the method is known is told by [`Challenge::new`], later.
pub fn check_pair(challenge: &str, method: &str) -> Result<()> {
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

/// How a challenge is made of its verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// base64url of SHA-256.
    S256,
    /// The verifier itself.
    Plain,
}

impl Method {
    /// The word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::S256 => "s256",
            Self::Plain => "plain",
        }
    }

    /// The method of that name in any letter case.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::S256, Self::Plain].into_iter().find(|method| method.as_str().eq_ignore_ascii_case(word))
    }
}

/// The challenge that a verifier makes by [`Method::S256`].
pub fn s256(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

/// What a flow is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// The challenge as the client sent it.
    pub text: String,
    /// How it was made.
    pub method: Method,
}

/// A `code_challenge_method` that does not exist. The endpoints differ in what they make of it: as an [`Error`] of
/// its own it is the generic 500, as the e-mail flows answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unsupported code_challenge method {0:?}")]
pub struct UnknownMethod(pub String);

impl From<UnknownMethod> for Error {
    fn from(unknown: UnknownMethod) -> Self {
        Self::other(unknown)
    }
}

impl Challenge {
    /// The challenge of a request; `None` without one, whatever the method says: an implicit flow.
    pub fn new(challenge: &str, method: &str) -> Result<Option<Self>, UnknownMethod> {
        if challenge.is_empty() {
            return Ok(None);
        }
        let method = Method::from_word(method).ok_or_else(|| UnknownMethod(method.to_owned()))?;
        Ok(Some(Self { text: challenge.to_owned(), method }))
    }

    /// Whether the verifier made the challenge, else 400 `bad_code_verifier`. Takes as long for any wrong verifier.
    pub fn verify(&self, verifier: &str) -> Result<()> {
        let made = match self.method {
            Method::S256 => s256(verifier),
            Method::Plain => verifier.to_owned(),
        };
        if bool::from(made.as_bytes().ct_eq(self.text.as_bytes())) {
            return Ok(());
        }
        Err(Error::bad_request("bad_code_verifier", "code challenge does not match previously saved code verifier"))
    }
}

/// What becomes of a flow when its code comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// `code_challenge` and its method; absent for an implicit flow.
    pub challenge: Option<Challenge>,
    /// `authentication_method`.
    pub method: String,
    /// `created_at`.
    pub created_at: Time,
    /// `auth_code_issued_at`.
    pub auth_code_issued_at: Option<Time>,
}

impl Flow {
    /// Whether the code came too late: its life counts from the request, for magic links from the click.
    pub fn is_expired(&self, life: Duration, now: Time) -> bool {
        let clicked = self.auth_code_issued_at.filter(|_| self.method == "magiclink");
        now > clicked.unwrap_or(self.created_at) + life
    }

    /// What an exchange checks once the code is known: age (422 `flow_state_expired`), then verifier (400
    /// `bad_code_verifier`; the code stays good).
    pub fn redeem(&self, verifier: &str, life: Duration, now: Time) -> Result<()> {
        if self.is_expired(life, now) {
            return Err(Error::unprocessable("flow_state_expired", "invalid flow state, flow state has expired"));
        }
        match &self.challenge {
            Some(challenge) => challenge.verify(verifier),
            None => Err(Error::bad_request("bad_code_verifier", "PKCE verification not applicable for implicit flow")),
        }
    }
}

/// The refusal of a code that is unknown, used, or belongs to no account yet.
pub fn unknown_code() -> Error {
    Error::not_found("flow_state_not_found", "invalid flow state, no valid flow state found")
}

#[cfg(test)]
mod tests {
    use super::*;

    // The pair of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn pairs_are_both_or_none_and_of_a_certain_form() {
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
            let said =
                check_pair(challenge, method).map_or_else(|error| error.message().to_owned(), |()| String::new());
            assert_eq!(said, message, "{challenge} {method}");
        }
    }

    #[test]
    fn methods_are_known_in_any_letter_case() {
        let made = Challenge::new(CHALLENGE, "S256").unwrap().unwrap();
        assert_eq!(made.method, Method::S256);
        assert_eq!(Challenge::new("x", "Plain").unwrap().unwrap().method, Method::Plain);
        assert_eq!(Challenge::new("", "nonsense"), Ok(None));
        let unknown = Challenge::new("x", "sha1").unwrap_err();
        assert_eq!(Error::from(unknown).status(), 500);
    }

    #[test]
    fn only_the_verifier_that_made_it_fits() {
        let s256 = Challenge { text: CHALLENGE.into(), method: Method::S256 };
        assert!(s256.verify(VERIFIER).is_ok());
        let plain = Challenge { text: VERIFIER.into(), method: Method::Plain };
        assert!(plain.verify(VERIFIER).is_ok());
        for wrong in ["", CHALLENGE, &VERIFIER[..42], &format!("{VERIFIER}a"), &VERIFIER.to_lowercase()] {
            let refused = s256.verify(wrong).unwrap_err();
            assert_eq!((refused.status(), refused.code()), (400, "bad_code_verifier"), "{wrong}");
            assert!(plain.verify(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_code_lives_from_the_request_and_for_magic_links_from_the_click() {
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
            let flow = Flow {
                challenge: Some(Challenge { text: VERIFIER.into(), method: Method::Plain }),
                method: method.into(),
                created_at: at(created),
                auth_code_issued_at: clicked.map(at),
            };
            assert_eq!(flow.is_expired(life, now), expired, "{method} {created}");
            let code = flow.redeem(VERIFIER, life, now).map_or_else(|error| error.code(), |()| "");
            assert_eq!(code, if expired { "flow_state_expired" } else { "" });
            let implicit = Flow { challenge: None, ..flow };
            assert!(implicit.redeem(VERIFIER, life, now).is_err());
        }
    }
}
