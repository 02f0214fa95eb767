//! How a client proves at the token endpoint that it is itself (RFC 6749 §2.3): what it presented, and whether that is
//! its way and its secret.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE_NO_PAD};
use percent_encoding::percent_decode_str;
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

use super::client::{AuthMethod, Client};
use crate::domain::error::{Error, Result};

/// Padded, as Go reads it: bits that no byte is made of may be anything.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// What a request presented, and where.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The client's id as it was written.
    pub client_id: String,
    /// The secret; empty for none.
    pub secret: String,
    /// Where they stood.
    pub method: AuthMethod,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credentials {{ client_id: {:?}, secret: …, method: {:?} }}", self.client_id, self.method)
    }
}

impl Credentials {
    /// Those of a header `Authorization`, if it is of that kind; 400 `invalid_credentials` if they cannot be read.
    ///
    /// By RFC 6749 §2.3.1 both are form-encoded within it; some do that with every `-` of an id. Nothing of ours has a
    /// percent sign, so those who leave it out are understood too.
    pub fn of_header(header: &str) -> Option<Result<Self>> {
        let encoded = header.strip_prefix("Basic ")?;
        let read = || {
            let bytes = BASE64.decode(encoded).map_err(|_| unreadable("invalid basic auth encoding"))?;
            let text = String::from_utf8_lossy(&bytes);
            let (client_id, secret) = text.split_once(':').ok_or_else(|| unreadable("invalid basic auth format"))?;
            let plain = |encoded| percent_decode_str(encoded).decode_utf8_lossy().into_owned();
            Ok(Self { client_id: plain(client_id), secret: plain(secret), method: AuthMethod::Basic })
        };
        Some(read())
    }

    /// Those of a body; 400 `invalid_credentials` without an id.
    pub fn of_body(client_id: &str, secret: &str) -> Result<Self> {
        if client_id.is_empty() {
            return Err(unreadable("client_id is required"));
        }
        let method = if secret.is_empty() { AuthMethod::None } else { AuthMethod::Post };
        Ok(Self { client_id: client_id.to_owned(), secret: secret.to_owned(), method })
    }

    /// The id; 400 `invalid_credentials` if it is of another form.
    pub fn id(&self) -> Result<Uuid> {
        Uuid::parse_str(&self.client_id).map_err(|_| refused("Invalid client_id format"))
    }

    /// Whether these are the client's way and its secret; 400 `invalid_credentials`.
    pub fn admit(&self, client: &Client) -> Result<()> {
        if self.method != client.auth_method {
            return Err(refused(format!(
                "invalid authentication method: client is registered for '{}' but '{}' was used",
                client.auth_method.as_str(),
                self.method.as_str()
            )));
        }
        match (client.is_confidential(), self.secret.is_empty()) {
            (false, true) => Ok(()),
            (false, false) => Err(refused("public clients must not provide client_secret")),
            (true, true) => Err(refused("confidential clients must provide client_secret")),
            (true, false) if is_secret(&self.secret, &client.secret_hash) => Ok(()),
            (true, false) => Err(refused("invalid client credentials")),
        }
    }
}

/// The refusal of a client that is not known.
pub fn unknown() -> Error {
    refused("Invalid client credentials")
}

/// The refusal of a request that does not say who asks, or not so that it can be read.
pub fn unreadable(why: &str) -> Error {
    refused(format!("Invalid client credentials: {why}"))
}

fn refused(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::bad_request("invalid_credentials", message)
}

/// A secret out of random bytes, as the client keeps it.
pub fn secret_of(bytes: [u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A secret as it is stored.
pub fn hash_of(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, secret.as_bytes()))
}

/// Takes as long for any wrong secret. Nothing is stored for a client that has none, and nothing hashes to nothing.
fn is_secret(secret: &str, stored: &str) -> bool {
    hash_of(secret).as_bytes().ct_eq(stored.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;

    use super::super::client::tests::client;
    use super::*;

    fn of_header(header: &str) -> Option<Result<Credentials, String>> {
        Credentials::of_header(header).map(|read| read.map_err(|error| error.message().to_owned()))
    }

    #[test]
    fn a_header_is_read() {
        let read = of_header("Basic YWJjOmQ6ZQ==").unwrap().unwrap();
        assert_eq!((read.client_id.as_str(), read.secret.as_str(), read.method), ("abc", "d:e", AuthMethod::Basic));
        let read = of_header("Basic YSUyRGI6YyU1RmQ=").unwrap().unwrap();
        assert_eq!((read.client_id.as_str(), read.secret.as_str()), ("a-b", "c_d"));
        assert_eq!(of_header("Bearer YWJj"), None);
        assert_eq!(of_header("basic YWJj"), None);
        for (header, why) in [
            ("Basic %%%", "invalid basic auth encoding"),
            ("Basic YWJjOmQ6ZQ", "invalid basic auth encoding"),
            ("Basic YWJj", "invalid basic auth format"),
            ("Basic ", "invalid basic auth format"),
        ] {
            let said = of_header(header).unwrap().unwrap_err();
            assert_eq!(said, format!("Invalid client credentials: {why}"), "{header}");
        }
    }

    #[test]
    fn a_body_with_a_secret_is_another_way_than_one_without() {
        assert_eq!(Credentials::of_body("a", "").unwrap().method, AuthMethod::None);
        assert_eq!(Credentials::of_body("a", "b").unwrap().method, AuthMethod::Post);
        assert!(Credentials::of_body("", "b").unwrap_err().message().ends_with("client_id is required"));
    }

    #[test]
    fn only_the_registered_way_with_the_right_secret_is_admitted() {
        let secret = secret_of([7; 32]);
        for registered in AuthMethod::ALL {
            let mut client = client(registered);
            if client.is_confidential() {
                client.secret_hash = hash_of(&secret);
            }
            for used in AuthMethod::ALL {
                for given in ["", "wrong", &secret, &hash_of(&secret), &secret[..42]] {
                    let came = Credentials { client_id: "x".into(), secret: given.into(), method: used };
                    let is_right =
                        used == registered && given == if client.is_confidential() { secret.as_str() } else { "" };
                    assert_eq!(came.admit(&client).is_ok(), is_right, "{registered:?} {used:?} {given}");
                }
            }
        }
    }

    #[test]
    fn a_client_without_a_stored_secret_has_none_that_fits() {
        let client = client(AuthMethod::Basic);
        for given in ["", "x", &hash_of("")] {
            let came = Credentials { client_id: "x".into(), secret: given.into(), method: AuthMethod::Basic };
            assert!(came.admit(&client).is_err(), "{given:?}");
        }
    }

    #[test]
    fn credentials_do_not_print_their_secret() {
        let shown = format!("{:?}", Credentials::of_body("a", "hidden").unwrap());
        assert!(!shown.contains("hidden"), "{shown}");
    }

    fn read(id: &str, secret: &str) -> Credentials {
        let header = format!("Basic {}", BASE64.encode(format!("{id}:{secret}")));
        Credentials::of_header(&header).unwrap().unwrap()
    }

    proptest! {
        #[test]
        fn no_header_makes_it_panic(header in any::<String>()) {
            let _ = Credentials::of_header(&header);
            let _ = Credentials::of_header(&format!("Basic {header}"));
        }

        #[test]
        fn what_is_written_is_read(id in "[^:%]{0,40}", secret in "[^%]{0,60}") {
            let read = read(&id, &secret);
            prop_assert_eq!((read.client_id, read.secret), (id, secret));
        }

        #[test]
        fn what_is_written_as_a_form_is_read(id in any::<String>(), secret in any::<String>()) {
            let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
            let read = read(&encoded(&id), &encoded(&secret));
            prop_assert_eq!((read.client_id, read.secret), (id, secret));
        }
    }
}
