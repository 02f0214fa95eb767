//! Request bodies of the OAuth server.
//! Data after the JSON value is ignored, except in client credentials.

use foundation::error::{Error, ErrorCode, Result};

use crate::domain::oauth_server::registration::{ClientChanges, ClientRegistrationRequest};
use crate::wire::go_json::{self, Object};

/// Parses a client registration; 400 `bad_json` if it is malformed.
pub fn parse_registration(body: &[u8]) -> Result<ClientRegistrationRequest> {
    let read = || -> Result<ClientRegistrationRequest, go_json::GoJsonError> {
        let body = Object::parse_first(body)?;
        Ok(ClientRegistrationRequest {
            redirect_uris: body.opt_strings("redirect_uris")?.unwrap_or_default(),
            client_type: body.string("client_type")?,
            auth_method: body.string("token_endpoint_auth_method")?,
            grant_types: body.opt_strings("grant_types")?.unwrap_or_default(),
            name: body.string("client_name")?,
            uri: body.string("client_uri")?,
            logo_uri: body.string("logo_uri")?,
        })
    };
    read().map_err(invalid_client_body)
}

/// Parses client changes; 400 `bad_json` if they are malformed.
pub fn parse_client_changes(body: &[u8]) -> Result<ClientChanges> {
    let read = || -> Result<ClientChanges, go_json::GoJsonError> {
        let body = Object::parse_first(body)?;
        Ok(ClientChanges {
            redirect_uris: body.opt_strings("redirect_uris")?,
            grant_types: body.opt_strings("grant_types")?,
            name: body.opt_string("client_name")?,
            uri: body.opt_string("client_uri")?,
            logo_uri: body.opt_string("logo_uri")?,
            auth_method: body.opt_string("token_endpoint_auth_method")?,
        })
    };
    read().map_err(invalid_client_body)
}

/// 400: the body of a client registration or of a client update cannot be read.
pub fn invalid_client_body(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorCode::BadJson, "Invalid JSON body").with_cause(cause)
}

/// 400: the body with the user's decision cannot be read.
pub fn invalid_consent_body(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorCode::BadJson, "invalid JSON body").with_cause(cause)
}

/// The user's decision about an authorization request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsentAction {
    /// The user approves.
    Approve,
    /// The user denies.
    Deny,
}

impl ConsentAction {
    /// Parses the body; 400 `bad_json` if it is malformed, 400 `validation_failed` for another word.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let read = Object::parse_first(body).and_then(|body| body.string("action"));
        let action = read.map_err(invalid_consent_body)?;
        match action.as_str() {
            "approve" => Ok(Self::Approve),
            "deny" => Ok(Self::Deny),
            _ => Err(Error::invalid("action must be 'approve' or 'deny'")),
        }
    }
}

/// Parses client id and secret of a JSON body; empty if absent. The body must be exactly one value.
pub fn parse_credentials(body: &[u8]) -> Result<(String, String), go_json::GoJsonError> {
    let body = Object::parse(body)?;
    Ok((body.string("client_id")?, body.string("client_secret")?))
}

/// A token request; empty where absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenRequest {
    pub grant_type: String,
    pub code: String,
    pub refresh_token: String,
    pub redirect_uri: String,
    pub code_verifier: String,
    /// `resource`; ignored in a form.
    pub resource: String,
}

impl TokenRequest {
    /// The members of a form that must occur at most once.
    pub const MEMBERS: [&str; 7] =
        ["grant_type", "code", "refresh_token", "redirect_uri", "code_verifier", "client_id", "client_secret"];

    /// Parses a JSON body.
    pub fn from_json(body: &[u8]) -> Result<Self, go_json::GoJsonError> {
        let body = Object::parse_first(body)?;
        // Validates the types; the client was authenticated before.
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

    /// Parses a form.
    pub fn from_form<'a>(member: impl Fn(&str) -> Option<&'a str>) -> Self {
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
    fn registration_is_parsed() {
        let read =
            parse_registration(br#"{"redirect_uris":["a",null],"grant_types":null,"client_name":"x","scope":1} more"#);
        let expected = ClientRegistrationRequest {
            redirect_uris: vec!["a".into(), String::new()],
            name: "x".into(),
            ..ClientRegistrationRequest::default()
        };
        assert_eq!(read.unwrap(), expected);
        for body in ["", "[]", r#"{"redirect_uris":"a"}"#, r#"{"client_name":1}"#] {
            let refused = parse_registration(body.as_bytes()).unwrap_err();
            assert_eq!((refused.code().as_str(), refused.message()), ("bad_json", "Invalid JSON body"), "{body}");
        }
    }

    #[test]
    fn null_member_is_no_change() {
        assert_eq!(
            parse_client_changes(br#"{"client_name":null,"client_type":"public"}"#).unwrap(),
            ClientChanges::default()
        );
        assert_eq!(parse_client_changes(br#"{"client_name":""}"#).unwrap().name.as_deref(), Some(""));
        assert_eq!(parse_client_changes(b"{").unwrap_err().code().as_str(), "bad_json");
    }

    #[test]
    fn consent_is_approve_or_deny() {
        assert_eq!(ConsentAction::decode(br#"{"action":"approve"}"#).unwrap(), ConsentAction::Approve);
        assert_eq!(ConsentAction::decode(br#"{"action":"deny"}"#).unwrap(), ConsentAction::Deny);
        for (body, code) in [
            ("{", "bad_json"),
            (r#"{"action":true}"#, "bad_json"),
            ("{}", "validation_failed"),
            (r#"{"action":"Approve"}"#, "validation_failed"),
        ] {
            assert_eq!(ConsentAction::decode(body.as_bytes()).unwrap_err().code().as_str(), code, "{body}");
        }
    }

    #[test]
    fn token_request_is_parsed_from_json_and_form() {
        let json =
            TokenRequest::from_json(br#"{"grant_type":"g","code":"c","resource":"r","client_id":"i"} more"#).unwrap();
        assert_eq!((json.grant_type.as_str(), json.code.as_str(), json.resource.as_str()), ("g", "c", "r"));
        let form = TokenRequest::from_form(|name| (name != "code").then_some("x"));
        assert_eq!((form.grant_type.as_str(), form.code.as_str(), form.resource.as_str()), ("x", "", ""));
        assert!(parse_credentials(br#"{"client_id":"i"} more"#).is_err());
        assert_eq!(parse_credentials(br#"{"client_id":"i"}"#).unwrap(), ("i".to_owned(), String::new()));
    }
}
