//! Client authentication at the token endpoint (RFC 6749 §2.3).

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE_NO_PAD};
use foundation::error::{Error, ErrorCode, Result};
use percent_encoding::percent_decode_str;
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

use super::client::{AuthMethod, OAuthClient};
use crate::wire::uuid::parse_uuid;

/// Padded base64 that ignores trailing bits, as Go decodes it.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// Client credentials of a request.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientCredentials {
    /// The client id as received.
    pub client_id: String,
    /// The secret; empty for none.
    pub secret: String,
    /// The authentication method of the request.
    pub method: AuthMethod,
}

impl std::fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credentials {{ client_id: {:?}, secret: …, method: {:?} }}", self.client_id, self.method)
    }
}

impl ClientCredentials {
    /// Parses HTTP Basic credentials; `None` for another scheme, 400 `invalid_credentials` if malformed.
    ///
    /// RFC 6749 §2.3.1 requires form encoding of both values; some clients encode every `-` of an id. Ids and secrets
    /// contain no percent sign, so unencoded values are accepted too.
    pub fn from_header(header: &str) -> Option<Result<Self>> {
        let encoded = header.strip_prefix("Basic ")?;
        let read = || {
            let bytes = BASE64.decode(encoded).map_err(|_| malformed_credentials("invalid basic auth encoding"))?;
            let text = String::from_utf8_lossy(&bytes);
            let (client_id, secret) =
                text.split_once(':').ok_or_else(|| malformed_credentials("invalid basic auth format"))?;
            let plain = |encoded| percent_decode_str(encoded).decode_utf8_lossy().into_owned();
            Ok(Self { client_id: plain(client_id), secret: plain(secret), method: AuthMethod::Basic })
        };
        Some(read())
    }

    /// Parses credentials of a body; 400 `invalid_credentials` without an id.
    pub fn from_body(client_id: &str, secret: &str) -> Result<Self> {
        if client_id.is_empty() {
            return Err(malformed_credentials("client_id is required"));
        }
        let method = if secret.is_empty() { AuthMethod::None } else { AuthMethod::Post };
        Ok(Self { client_id: client_id.to_owned(), secret: secret.to_owned(), method })
    }

    /// Parses the client id; 400 `invalid_credentials` if it is malformed.
    pub fn parse_client_id(&self) -> Result<Uuid> {
        parse_uuid(&self.client_id).ok_or_else(|| invalid_credentials("Invalid client_id format"))
    }

    /// Verifies method and secret of the client; 400 `invalid_credentials`.
    pub fn verify(&self, client: &OAuthClient) -> Result<()> {
        if self.method != client.auth_method {
            return Err(invalid_credentials(format!(
                "invalid authentication method: client is registered for '{}' but '{}' was used",
                client.auth_method.as_str(),
                self.method.as_str()
            )));
        }
        match (client.is_confidential(), self.secret.is_empty()) {
            (false, true) => Ok(()),
            (false, false) => Err(invalid_credentials("public clients must not provide client_secret")),
            (true, true) => Err(invalid_credentials("confidential clients must provide client_secret")),
            (true, false) if verify_secret(&self.secret, &client.secret_hash) => Ok(()),
            (true, false) => Err(invalid_credentials("invalid client credentials")),
        }
    }
}

/// Error of an unknown client.
pub fn unknown_client() -> Error {
    invalid_credentials("Invalid client credentials")
}

/// Error of missing or malformed credentials.
pub fn malformed_credentials(why: &str) -> Error {
    invalid_credentials(format!("Invalid client credentials: {why}"))
}

fn invalid_credentials(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorCode::InvalidCredentials, message)
}

/// Encodes random bytes as a client secret.
pub fn encode_secret(bytes: [u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the stored hash of a secret.
pub fn hash_secret(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, secret.as_bytes()))
}

/// Compares in constant time. A client without a stored secret matches no secret.
fn verify_secret(secret: &str, stored: &str) -> bool {
    hash_secret(secret).as_bytes().ct_eq(stored.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;

    use super::super::client::tests::client;
    use super::*;

    fn parse_header(header: &str) -> Option<Result<ClientCredentials, String>> {
        ClientCredentials::from_header(header).map(|read| read.map_err(|error| error.message().to_owned()))
    }

    #[test]
    fn basic_header_is_parsed() {
        let read = parse_header("Basic YWJjOmQ6ZQ==").unwrap().unwrap();
        assert_eq!((read.client_id.as_str(), read.secret.as_str(), read.method), ("abc", "d:e", AuthMethod::Basic));
        let read = parse_header("Basic YSUyRGI6YyU1RmQ=").unwrap().unwrap();
        assert_eq!((read.client_id.as_str(), read.secret.as_str()), ("a-b", "c_d"));
        assert_eq!(parse_header("Bearer YWJj"), None);
        assert_eq!(parse_header("basic YWJj"), None);
        for (header, why) in [
            ("Basic %%%", "invalid basic auth encoding"),
            ("Basic YWJjOmQ6ZQ", "invalid basic auth encoding"),
            ("Basic YWJj", "invalid basic auth format"),
            ("Basic ", "invalid basic auth format"),
        ] {
            let message = parse_header(header).unwrap().unwrap_err();
            assert_eq!(message, format!("Invalid client credentials: {why}"), "{header}");
        }
    }

    #[test]
    fn body_method_depends_on_secret() {
        assert_eq!(ClientCredentials::from_body("a", "").unwrap().method, AuthMethod::None);
        assert_eq!(ClientCredentials::from_body("a", "b").unwrap().method, AuthMethod::Post);
        assert!(ClientCredentials::from_body("", "b").unwrap_err().message().ends_with("client_id is required"));
    }

    #[test]
    fn only_registered_method_with_correct_secret_is_accepted() {
        let secret = encode_secret([7; 32]);
        for registered in AuthMethod::ALL {
            let mut client = client(registered);
            if client.is_confidential() {
                client.secret_hash = hash_secret(&secret);
            }
            for used in AuthMethod::ALL {
                for given in ["", "wrong", &secret, &hash_secret(&secret), &secret[..42]] {
                    let credentials = ClientCredentials { client_id: "x".into(), secret: given.into(), method: used };
                    let is_right =
                        used == registered && given == if client.is_confidential() { secret.as_str() } else { "" };
                    assert_eq!(credentials.verify(&client).is_ok(), is_right, "{registered:?} {used:?} {given}");
                }
            }
        }
    }

    #[test]
    fn client_without_stored_secret_matches_no_secret() {
        let client = client(AuthMethod::Basic);
        for given in ["", "x", &hash_secret("")] {
            let credentials =
                ClientCredentials { client_id: "x".into(), secret: given.into(), method: AuthMethod::Basic };
            assert!(credentials.verify(&client).is_err(), "{given:?}");
        }
    }

    #[test]
    fn debug_output_hides_secret() {
        let shown = format!("{:?}", ClientCredentials::from_body("a", "hidden").unwrap());
        assert!(!shown.contains("hidden"), "{shown}");
    }

    fn basic_credentials(id: &str, secret: &str) -> ClientCredentials {
        let header = format!("Basic {}", BASE64.encode(format!("{id}:{secret}")));
        ClientCredentials::from_header(&header).unwrap().unwrap()
    }

    proptest! {
        #[test]
        fn any_header_parses_without_panic(header in any::<String>()) {
            let _ = ClientCredentials::from_header(&header);
            let _ = ClientCredentials::from_header(&format!("Basic {header}"));
        }

        #[test]
        fn plain_credentials_round_trip(id in "[^:%]{0,40}", secret in "[^%]{0,60}") {
            let read = basic_credentials(&id, &secret);
            prop_assert_eq!((read.client_id, read.secret), (id, secret));
        }

        #[test]
        fn form_encoded_credentials_round_trip(id in any::<String>(), secret in any::<String>()) {
            let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
            let read = basic_credentials(&encoded(&id), &encoded(&secret));
            prop_assert_eq!((read.client_id, read.secret), (id, secret));
        }
    }
}
