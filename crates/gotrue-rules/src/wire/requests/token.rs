//! Bodies of `POST /token`, one per grant.

use foundation::error::Result;

use crate::wire::go_json::Object;

/// The body of `grant_type=password`; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PasswordGrant {
    pub email: String,
    pub phone: String,
    pub password: String,
}

impl PasswordGrant {
    /// Decodes the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self { email: body.string("email")?, phone: body.string("phone")?, password: body.string("password")? })
    }
}

/// The body of `grant_type=refresh_token`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefreshTokenGrant {
    /// `refresh_token`; `""` if absent.
    pub refresh_token: String,
}

impl RefreshTokenGrant {
    /// Decodes the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        Ok(Self { refresh_token: Object::parse(body)?.string("refresh_token")? })
    }
}

/// The body of `grant_type=pkce`; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PkceGrant {
    pub auth_code: String,
    pub code_verifier: String,
}

impl PkceGrant {
    /// Decodes the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self { auth_code: body.string("auth_code")?, code_verifier: body.string("code_verifier")? })
    }
}

/// The body of `grant_type=web3`; texts are `""` if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Web3Grant {
    pub chain: String,
    /// `message`: the signed text.
    pub message: String,
    pub signature: String,
}

impl Web3Grant {
    /// Decodes the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self {
            chain: body.string("chain")?,
            message: body.string("message")?,
            signature: body.string("signature")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_bodies_are_decoded() {
        let read = PasswordGrant::decode(br#"{"PASSWORD":"x","email":null,"phone":"1"}"#).unwrap();
        assert_eq!(read, PasswordGrant { email: String::new(), phone: "1".into(), password: "x".into() });
        assert_eq!(RefreshTokenGrant::decode(br#"{"refresh_token":"t"}"#).unwrap().refresh_token, "t");
        let read = PkceGrant::decode(br#"{"auth_code":"c","code_verifier":"v"}"#).unwrap();
        assert_eq!(read, PkceGrant { auth_code: "c".into(), code_verifier: "v".into() });
    }

    #[test]
    fn empty_bodies_are_bad_json() {
        assert_eq!(PasswordGrant::decode(b"").unwrap_err().code().as_str(), "bad_json");
        assert_eq!(RefreshTokenGrant::decode(b"").unwrap_err().code().as_str(), "bad_json");
        assert_eq!(PkceGrant::decode(b"[]").unwrap_err().code().as_str(), "bad_json");
    }
}
