//! Validation of client registrations (RFC 7591) and of client updates.

use foundation::error::{Error, Result};

use super::client::{AuthMethod, ClientType, GRANT_TYPES, OAuthClient};
use super::redirect_uri::{self, RedirectUriRules};
use crate::domain::redirect::go_url::Url;

/// Maximum number of redirect URIs of a client.
const MAX_REDIRECT_URIS: usize = 10;
/// Maximum length of a client name, in bytes.
const MAX_NAME_LENGTH: usize = 1024;
/// Maximum length of `client_uri` and `logo_uri`, in bytes.
const MAX_URI_LENGTH: usize = 2048;

/// A client registration request; texts and lists are empty where absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientRegistrationRequest {
    pub redirect_uris: Vec<String>,
    pub client_type: String,
    /// `token_endpoint_auth_method`.
    pub auth_method: String,
    pub grant_types: Vec<String>,
    /// `client_name`.
    pub name: String,
    /// `client_uri`.
    pub uri: String,
    pub logo_uri: String,
}

/// A validated client registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRegistration {
    pub redirect_uris: Vec<String>,
    pub client_type: ClientType,
    /// `token_endpoint_auth_method`.
    pub auth_method: AuthMethod,
    pub grant_types: Vec<String>,
    /// `client_name`; empty for none.
    pub name: String,
    /// `client_uri`; empty for none.
    pub uri: String,
    /// `logo_uri`; empty for none.
    pub logo_uri: String,
}

/// Validates a registration and fills in defaults.
/// An error is a 400 `validation_failed` with GoTrue's nested wording.
pub fn register(request: ClientRegistrationRequest, rules: RedirectUriRules) -> Result<ClientRegistration> {
    let (client_type, auth_method) =
        validate_request(&request, rules).map_err(|text| Error::invalid(format!("400: {text}")))?;
    let grant_types =
        if request.grant_types.is_empty() { GRANT_TYPES.map(str::to_owned).to_vec() } else { request.grant_types };
    Ok(ClientRegistration {
        redirect_uris: request.redirect_uris,
        client_type,
        auth_method,
        grant_types,
        name: request.name,
        uri: request.uri,
        logo_uri: request.logo_uri,
    })
}

fn validate_request(
    request: &ClientRegistrationRequest,
    rules: RedirectUriRules,
) -> Result<(ClientType, AuthMethod), String> {
    if request.redirect_uris.is_empty() {
        return Err("redirect_uris is required".to_owned());
    }
    validate_redirect_uris(&request.redirect_uris, rules)?;
    if !request.grant_types.is_empty() {
        validate_grant_types(&request.grant_types)?;
    }
    validate_name(&request.name)?;
    validate_uri("client_uri", &request.uri)?;
    validate_uri("logo_uri", &request.logo_uri)?;
    let client_type = match request.client_type.as_str() {
        "" => None,
        word => Some(ClientType::parse(word).ok_or("client_type must be 'public' or 'confidential'")?),
    };
    let auth_method =
        match request.auth_method.as_str() {
            "" => None,
            word => Some(AuthMethod::from_word(word).ok_or_else(|| {
                format!("token_endpoint_auth_method must be one of: {}", format_list(&AuthMethod::ALL))
            })?),
        };
    resolve_type_and_method(client_type, auth_method)
}

/// Determines type and method; if one is absent, it follows from the other.
fn resolve_type_and_method(
    client_type: Option<ClientType>,
    auth_method: Option<AuthMethod>,
) -> Result<(ClientType, AuthMethod), String> {
    match (client_type, auth_method) {
        (Some(kind), Some(method)) if method.client_type() != kind => Err(format!(
            "client_type '{}' is inconsistent with token_endpoint_auth_method '{}' (expected client_type '{}')",
            kind.as_str(),
            method.as_str(),
            method.client_type().as_str()
        )),
        (_, Some(method)) => Ok((method.client_type(), method)),
        (Some(ClientType::Public), None) => Ok((ClientType::Public, AuthMethod::None)),
        (Some(ClientType::Confidential) | None, None) => Ok((ClientType::Confidential, AuthMethod::Basic)),
    }
}

/// Changes of a client; absent members stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientChanges {
    pub redirect_uris: Option<Vec<String>>,
    pub grant_types: Option<Vec<String>>,
    /// `client_name`; empty removes it.
    pub name: Option<String>,
    /// `client_uri`; empty removes it.
    pub uri: Option<String>,
    /// `logo_uri`; empty removes it.
    pub logo_uri: Option<String>,
    /// `token_endpoint_auth_method`.
    pub auth_method: Option<String>,
}

impl ClientChanges {
    /// Validates the changes for the client; 400 `validation_failed`.
    pub fn validate(&self, client: &OAuthClient, rules: RedirectUriRules) -> Result<()> {
        if *self == Self::default() {
            return Err(Error::invalid("No fields provided for update"));
        }
        self.validate_members(rules).map_err(Error::invalid)?;
        let Some(word) = &self.auth_method else { return Ok(()) };
        let fitting = client.client_type.auth_methods();
        if fitting.iter().any(|method| method.as_str() == word) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "token_endpoint_auth_method '{word}' is not valid for client_type '{}'; valid methods: {}",
            client.client_type.as_str(),
            format_list(fitting)
        )))
    }

    fn validate_members(&self, rules: RedirectUriRules) -> Result<(), String> {
        if let Some(uris) = &self.redirect_uris {
            validate_redirect_uris(uris, rules)?;
        }
        if let Some(grant_types) = &self.grant_types {
            validate_grant_types(grant_types)?;
        }
        validate_name(self.name.as_deref().unwrap_or_default())?;
        validate_uri("client_uri", self.uri.as_deref().unwrap_or_default())?;
        validate_uri("logo_uri", self.logo_uri.as_deref().unwrap_or_default())?;
        match &self.auth_method {
            Some(word) if AuthMethod::from_word(word).is_none() => {
                Err(format!("invalid token_endpoint_auth_method: must be one of {}", format_list(&AuthMethod::ALL)))
            }
            _ => Ok(()),
        }
    }
}

fn validate_redirect_uris(uris: &[String], rules: RedirectUriRules) -> Result<(), String> {
    if uris.is_empty() {
        return Err("redirect_uris cannot be empty".to_owned());
    }
    if uris.len() > MAX_REDIRECT_URIS {
        return Err(format!("redirect_uris cannot exceed {MAX_REDIRECT_URIS} items"));
    }
    uris.iter().try_for_each(|uri| {
        redirect_uri::validate_redirect_uri(uri, rules).map_err(|why| format!("invalid redirect_uri '{uri}': {why}"))
    })
}

fn validate_grant_types(grant_types: &[String]) -> Result<(), String> {
    if grant_types.is_empty() {
        return Err("grant_types cannot be empty".to_owned());
    }
    if grant_types.iter().all(|grant_type| GRANT_TYPES.contains(&grant_type.as_str())) {
        return Ok(());
    }
    Err("grant_types must only contain 'authorization_code' and/or 'refresh_token'".to_owned())
}

fn validate_name(name: &str) -> Result<(), String> {
    if name.len() > MAX_NAME_LENGTH {
        return Err(format!("client_name cannot exceed {MAX_NAME_LENGTH} characters"));
    }
    if name.contains('\0') {
        return Err("client_name cannot hold the character U+0000".to_owned());
    }
    Ok(())
}

fn validate_uri(member: &str, uri: &str) -> Result<(), String> {
    if uri.is_empty() {
        return Ok(());
    }
    if uri.len() > MAX_URI_LENGTH {
        return Err(format!("{member} cannot exceed {MAX_URI_LENGTH} characters"));
    }
    if Url::is_request_uri(uri) { Ok(()) } else { Err(format!("{member} must be a valid URL")) }
}

/// Rejects `client_uri` and `logo_uri` that are neither empty nor `http(s)`; 400.
/// The consent page renders the first as a link and the second as an image.
pub fn require_web_uris(uri: &str, logo_uri: &str) -> Result<()> {
    let is_web =
        |value: &str| value.is_empty() || Url::parse(value).is_ok_and(|url| matches!(url.scheme(), "https" | "http"));
    for (member, value) in [("client_uri", uri), ("logo_uri", logo_uri)] {
        if !is_web(value) {
            return Err(Error::invalid(format!("{member} must begin with https:// or http://")));
        }
    }
    Ok(())
}

/// Formats a list as Go does.
fn format_list(methods: &[AuthMethod]) -> String {
    let words: Vec<&str> = methods.iter().map(|method| method.as_str()).collect();
    format!("[{}]", words.join(" "))
}

#[cfg(test)]
mod tests;
