//! The captcha token in a request body.

use foundation::error::Result;

use crate::wire::go_json::Object;

/// The captcha token of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptchaToken {
    /// `gotrue_meta_security.captcha_token`, trimmed; `""` if absent.
    pub token: String,
}

impl CaptchaToken {
    /// Decodes the token; 400 `bad_json` if the body is not an object or the token not a text.
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
    fn captcha_token_is_trimmed() {
        let token = |body: &str| CaptchaToken::decode(body.as_bytes()).map(|captcha| captcha.token);
        assert_eq!(token(r#"{"gotrue_meta_security":{"captcha_token":" x "}}"#).unwrap(), "x");
        assert_eq!(token(r#"{"email":"a"}"#).unwrap(), "");
        assert_eq!(token(r#"{"gotrue_meta_security":null}"#).unwrap(), "");
        assert_eq!(token(r#"{"gotrue_meta_security":"x"}"#).unwrap_err().code().as_str(), "bad_json");
    }
}
