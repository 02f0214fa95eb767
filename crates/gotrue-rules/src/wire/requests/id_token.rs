//! The body of `POST /token?grant_type=id_token`.

use foundation::error::{Error, OAuthErrorCode, Result};

use crate::domain::external::id_token::PresentedIdToken;
use crate::wire::go_json::Object;

/// The body of `grant_type=id_token`; strings are empty if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdTokenGrant {
    pub id_token: String,
    /// `access_token`, issued by the provider with the ID token.
    pub access_token: String,
    /// `nonce`, before hashing.
    pub nonce: String,
    pub provider: String,
    pub client_id: String,
    pub issuer: String,
    /// `link_identity`: links the identity to the signed-in user instead of signing in.
    pub link_identity: bool,
}

impl IdTokenGrant {
    /// Parses the body.
    ///
    /// # Errors
    /// 400 if it is malformed, has no token, or names neither a provider nor an issuer with a client id.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        let read = Self {
            id_token: body.string("id_token")?,
            access_token: body.string("access_token")?,
            nonce: body.string("nonce")?,
            provider: body.string("provider")?,
            client_id: body.string("client_id")?,
            issuer: body.string("issuer")?,
            link_identity: body.bool("link_identity")?,
        };
        if read.id_token.is_empty() {
            return Err(Error::oauth(OAuthErrorCode::InvalidIdTokenRequest, "id_token required"));
        }
        if read.provider.is_empty() && (read.client_id.is_empty() || read.issuer.is_empty()) {
            return Err(Error::oauth(
                OAuthErrorCode::InvalidIdTokenRequest,
                "provider or client_id and issuer required",
            ));
        }
        Ok(read)
    }

    /// The members that describe the token.
    pub fn presented(&self) -> PresentedIdToken<'_> {
        PresentedIdToken {
            id_token: &self.id_token,
            provider: &self.provider,
            issuer: &self.issuer,
            client_id: &self.client_id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_token_and_provider_or_issuer_are_required() {
        let error_message = |body: &str| IdTokenGrant::decode(body.as_bytes()).unwrap_err().message().to_owned();
        assert_eq!(error_message("{}"), "id_token required");
        for body in [
            r#"{"id_token":"t"}"#,
            r#"{"id_token":"t","issuer":"i"}"#,
            r#"{"id_token":"t","client_id":"c"}"#,
            r#"{"id_token":"t","provider":null,"issuer":"i","client_id":""}"#,
        ] {
            assert_eq!(error_message(body), "provider or client_id and issuer required", "{body}");
        }
        for body in ["", "[]", r#"{"id_token":1}"#, r#"{"id_token":"t","provider":"p","link_identity":"yes"}"#] {
            assert_eq!(IdTokenGrant::decode(body.as_bytes()).unwrap_err().code().as_str(), "bad_json", "{body}");
        }
        let read =
            IdTokenGrant::decode(br#"{"id_token":"t","issuer":"i","client_id":"c","link_identity":true}"#).unwrap();
        assert!(read.link_identity);
        assert_eq!(read.presented().issuer, "i");
    }
}
