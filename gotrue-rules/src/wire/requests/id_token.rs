//! The body of `POST /token?grant_type=id_token`.

use crate::domain::error::{Error, Result};
use crate::domain::external::id_token::Presented;
use crate::wire::go_json::Object;

/// The body of `grant_type=id_token`; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdTokenGrant {
    /// `id_token`.
    pub id_token: String,
    /// `access_token`: what the provider gave with it.
    pub access_token: String,
    /// `nonce`: what the provider was asked with, before it was hashed.
    pub nonce: String,
    /// `provider`.
    pub provider: String,
    /// `client_id`.
    pub client_id: String,
    /// `issuer`.
    pub issuer: String,
    /// `link_identity`: for the signed-in account, instead of a session of whoever it is.
    pub link_identity: bool,
}

impl IdTokenGrant {
    /// Reads the body; 400 `bad_json` if it does not fit, and if it lacks the token or says not whose it is.
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
            return Err(Error::oauth("invalid request", "id_token required"));
        }
        if read.provider.is_empty() && (read.client_id.is_empty() || read.issuer.is_empty()) {
            return Err(Error::oauth("invalid request", "provider or client_id and issuer required"));
        }
        Ok(read)
    }

    /// What the client says of the token.
    pub fn presented(&self) -> Presented<'_> {
        Presented {
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
    fn a_token_and_whose_it_is_must_be_given() {
        let said = |body: &str| IdTokenGrant::decode(body.as_bytes()).unwrap_err().message().to_owned();
        assert_eq!(said("{}"), "id_token required");
        for body in [
            r#"{"id_token":"t"}"#,
            r#"{"id_token":"t","issuer":"i"}"#,
            r#"{"id_token":"t","client_id":"c"}"#,
            r#"{"id_token":"t","provider":null,"issuer":"i","client_id":""}"#,
        ] {
            assert_eq!(said(body), "provider or client_id and issuer required", "{body}");
        }
        for body in ["", "[]", r#"{"id_token":1}"#, r#"{"id_token":"t","provider":"p","link_identity":"yes"}"#] {
            assert_eq!(IdTokenGrant::decode(body.as_bytes()).unwrap_err().code(), "bad_json", "{body}");
        }
        let read =
            IdTokenGrant::decode(br#"{"id_token":"t","issuer":"i","client_id":"c","link_identity":true}"#).unwrap();
        assert!(read.link_identity);
        assert_eq!(read.presented().issuer, "i");
    }
}
