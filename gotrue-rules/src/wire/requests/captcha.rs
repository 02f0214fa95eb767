//! The member that a captcha's answer comes in, beside the members of any request.

use crate::domain::error::Result;
use crate::wire::go_json::Object;

/// The captcha's part of a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captcha {
    /// `gotrue_meta_security.captcha_token` without white space around it; `""` if absent.
    pub token: String,
}

impl Captcha {
    /// Reads the token out of any request's body; 400 `bad_json` if the body is no object or the token no text.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        let token = body.nested("gotrue_meta_security")?.string("captcha_token")?;
        Ok(Self { token: token.trim().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_found_and_trimmed() {
        let token = |body: &str| Captcha::decode(body.as_bytes()).map(|captcha| captcha.token);
        assert_eq!(token(r#"{"gotrue_meta_security":{"captcha_token":" x "}}"#).unwrap(), "x");
        assert_eq!(token(r#"{"email":"a"}"#).unwrap(), "");
        assert_eq!(token(r#"{"gotrue_meta_security":null}"#).unwrap(), "");
        assert_eq!(token(r#"{"gotrue_meta_security":"x"}"#).unwrap_err().code(), "bad_json");
    }
}
