//! Errors of the token: `PGRST3xx`.

use super::Error;

/// Why a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenError {
    /// The header has the scheme and nothing behind it.
    Empty,
    /// The token has another number of parts than 3.
    Parts(usize),
    /// No key of the set may verify it (key id, key type).
    NoSuitableKey,
    /// No key verifies the signature.
    Signature,
    /// The algorithm is unknown, or not the key's.
    Algorithm,
    /// The token is not encoded as a JWS.
    Malformed,
    /// The header is not encoded as one.
    Header,
    /// The header names no algorithm.
    MissingAlgorithm,
    /// The header has extensions that have to be understood (RFC 7515 §4.1.11).
    Critical,
    /// `exp` is past.
    Expired,
    /// `nbf` is ahead.
    NotYetValid,
    /// `iat` is ahead.
    IssuedAtFuture,
    /// `aud` is another one.
    Audience,
    /// The claims are no JSON object.
    Claims,
    /// `exp` is no number.
    ExpirationType,
    /// `nbf` is no number.
    NotBeforeType,
    /// `iat` is no number.
    IssuedAtType,
    /// `aud` is neither a text nor texts.
    AudienceType,
}

impl TokenError {
    /// Code, message and details.
    fn texts(self) -> (&'static str, String, Option<&'static str>) {
        let decoding = |message: &str, details| ("PGRST301", message.to_owned(), details);
        let claims = |message: &str| ("PGRST303", message.to_owned(), None);
        match self {
            Self::Empty => decoding("Empty JWT is sent in Authorization header", None),
            Self::Parts(count) => ("PGRST301", format!("Expected 3 parts in JWT; got {count}"), None),
            Self::NoSuitableKey => {
                decoding("No suitable key or wrong key type", Some("No suitable key was found to decode the JWT"))
            }
            Self::Signature => {
                decoding("No suitable key or wrong key type", Some("None of the keys was able to decode the JWT"))
            }
            Self::Algorithm => decoding(
                "Wrong or unsupported encoding algorithm",
                Some("JWT is unsecured but expected 'alg' was not 'none'"),
            ),
            Self::Malformed | Self::Header | Self::MissingAlgorithm | Self::Critical => {
                decoding("JWT cryptographic operation failed", None)
            }
            Self::Expired => claims("JWT expired"),
            Self::NotYetValid => claims("JWT not yet valid"),
            Self::IssuedAtFuture => claims("JWT issued at future"),
            Self::Audience => claims("JWT not in audience"),
            Self::Claims => claims("Parsing claims failed"),
            Self::ExpirationType => claims("The JWT 'exp' claim must be a number"),
            Self::NotBeforeType => claims("The JWT 'nbf' claim must be a number"),
            Self::IssuedAtType => claims("The JWT 'iat' claim must be a number"),
            Self::AudienceType => claims("The JWT 'aud' claim must be a string or an array of strings"),
        }
    }
}

impl Error {
    /// A token that is refused.
    pub fn token(error: TokenError) -> Self {
        let (code, message, details) = error.texts();
        let challenge = format!("Bearer error=\"invalid_token\", error_description=\"{message}\"");
        let mut error = Self::new(401, code, message);
        error.details = details.map(Into::into);
        error.headers.push(("WWW-Authenticate".to_owned(), challenge));
        error
    }

    /// A token was sent, but no key is configured.
    pub fn no_token_secret() -> Self {
        Self::new(500, "PGRST300", "Server lacks JWT secret")
    }

    /// No token was sent, and no role is configured for requests without one.
    pub fn token_required() -> Self {
        let mut error = Self::new(401, "PGRST302", "Anonymous access is disabled");
        error.headers.push(("WWW-Authenticate".to_owned(), "Bearer".to_owned()));
        error
    }
}
