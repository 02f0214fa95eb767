//! The bodies of the OAuth server. What follows the JSON in one is not looked at, but by who asks for a client's
//! credentials.

use crate::domain::error::{Error, Result};
use crate::domain::oauth_server::registration::{Asked, Changes};
use crate::wire::go_json::{self, Object};

/// Reads a registration; 400 `bad_json` if it does not fit.
pub fn registration(body: &[u8]) -> Result<Asked> {
    let read = || -> Result<Asked, go_json::Error> {
        let body = Object::parse_first(body)?;
        Ok(Asked {
            redirect_uris: body.opt_strings("redirect_uris")?.unwrap_or_default(),
            client_type: body.string("client_type")?,
            auth_method: body.string("token_endpoint_auth_method")?,
            grant_types: body.opt_strings("grant_types")?.unwrap_or_default(),
            name: body.string("client_name")?,
            uri: body.string("client_uri")?,
            logo_uri: body.string("logo_uri")?,
        })
    };
    read().map_err(unreadable)
}

/// Reads changes of a client; 400 `bad_json` if they do not fit.
pub fn changes(body: &[u8]) -> Result<Changes> {
    let read = || -> Result<Changes, go_json::Error> {
        let body = Object::parse_first(body)?;
        Ok(Changes {
            redirect_uris: body.opt_strings("redirect_uris")?,
            grant_types: body.opt_strings("grant_types")?,
            name: body.opt_string("client_name")?,
            uri: body.opt_string("client_uri")?,
            logo_uri: body.opt_string("logo_uri")?,
            auth_method: body.opt_string("token_endpoint_auth_method")?,
        })
    };
    read().map_err(unreadable)
}

fn unreadable(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::bad_request("bad_json", "Invalid JSON body").because(cause)
}

/// An answer to a client's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Yes.
    Approve,
    /// No.
    Deny,
}

impl Consent {
    /// Reads the body; 400 `bad_json` if it does not fit, 400 `validation_failed` for another word.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let read = Object::parse_first(body).and_then(|body| body.string("action"));
        let action = read.map_err(|cause| Error::bad_request("bad_json", "invalid JSON body").because(cause))?;
        match action.as_str() {
            "approve" => Ok(Self::Approve),
            "deny" => Ok(Self::Deny),
            _ => Err(Error::invalid("action must be 'approve' or 'deny'")),
        }
    }
}

/// Id and secret of a client in a JSON body; empty if absent. The body must be one value and no more.
pub fn credentials(body: &[u8]) -> Result<(String, String), go_json::Error> {
    let body = Object::parse(body)?;
    Ok((body.string("client_id")?, body.string("client_secret")?))
}

/// A request for tokens; texts are empty where nothing is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenRequest {
    /// `grant_type`.
    pub grant_type: String,
    /// `code`.
    pub code: String,
    /// `refresh_token`.
    pub refresh_token: String,
    /// `redirect_uri`.
    pub redirect_uri: String,
    /// `code_verifier`.
    pub code_verifier: String,
    /// `resource`; a form's is not looked at.
    pub resource: String,
}

impl TokenRequest {
    /// The members of a form, which a request has in several copies or none.
    pub const MEMBERS: [&str; 7] =
        ["grant_type", "code", "refresh_token", "redirect_uri", "code_verifier", "client_id", "client_secret"];

    /// Reads a JSON body.
    pub fn of_json(body: &[u8]) -> Result<Self, go_json::Error> {
        let body = Object::parse_first(body)?;
        // Read and not used: who is asking was found out before.
        let _ = (body.string("client_id")?, body.string("client_secret")?);
        Ok(Self {
            grant_type: body.string("grant_type")?,
            code: body.string("code")?,
            refresh_token: body.string("refresh_token")?,
            redirect_uri: body.string("redirect_uri")?,
            code_verifier: body.string("code_verifier")?,
            resource: body.string("resource")?,
        })
    }

    /// Reads a form.
    pub fn of_form<'a>(member: impl Fn(&str) -> Option<&'a str>) -> Self {
        let text = |name| member(name).unwrap_or_default().to_owned();
        Self {
            grant_type: text("grant_type"),
            code: text("code"),
            refresh_token: text("refresh_token"),
            redirect_uri: text("redirect_uri"),
            code_verifier: text("code_verifier"),
            resource: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_is_read() {
        let read = registration(br#"{"redirect_uris":["a",null],"grant_types":null,"client_name":"x","scope":1} more"#);
        let asked = Asked { redirect_uris: vec!["a".into(), String::new()], name: "x".into(), ..Asked::default() };
        assert_eq!(read.unwrap(), asked);
        for body in ["", "[]", r#"{"redirect_uris":"a"}"#, r#"{"client_name":1}"#] {
            let refused = registration(body.as_bytes()).unwrap_err();
            assert_eq!((refused.code(), refused.message()), ("bad_json", "Invalid JSON body"), "{body}");
        }
    }

    #[test]
    fn a_change_to_nothing_is_none() {
        assert_eq!(changes(br#"{"client_name":null,"client_type":"public"}"#).unwrap(), Changes::default());
        assert_eq!(changes(br#"{"client_name":""}"#).unwrap().name.as_deref(), Some(""));
        assert_eq!(changes(b"{").unwrap_err().code(), "bad_json");
    }

    #[test]
    fn a_consent_is_one_of_two_words() {
        assert_eq!(Consent::decode(br#"{"action":"approve"}"#).unwrap(), Consent::Approve);
        assert_eq!(Consent::decode(br#"{"action":"deny"}"#).unwrap(), Consent::Deny);
        for (body, code) in [
            ("{", "bad_json"),
            (r#"{"action":true}"#, "bad_json"),
            ("{}", "validation_failed"),
            (r#"{"action":"Approve"}"#, "validation_failed"),
        ] {
            assert_eq!(Consent::decode(body.as_bytes()).unwrap_err().code(), code, "{body}");
        }
    }

    #[test]
    fn a_request_for_tokens_is_read_from_either() {
        let json =
            TokenRequest::of_json(br#"{"grant_type":"g","code":"c","resource":"r","client_id":"i"} more"#).unwrap();
        assert_eq!((json.grant_type.as_str(), json.code.as_str(), json.resource.as_str()), ("g", "c", "r"));
        let form = TokenRequest::of_form(|name| (name != "code").then_some("x"));
        assert_eq!((form.grant_type.as_str(), form.code.as_str(), form.resource.as_str()), ("x", "", ""));
        assert!(credentials(br#"{"client_id":"i"} more"#).is_err());
        assert_eq!(credentials(br#"{"client_id":"i"}"#).unwrap(), ("i".to_owned(), String::new()));
    }
}
