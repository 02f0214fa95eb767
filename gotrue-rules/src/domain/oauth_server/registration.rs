//! What a client may be: as it is registered, by itself or by an administrator (RFC 7591), and as it is changed.

use super::client::{AuthMethod, Client, ClientType, GRANT_TYPES};
use super::redirect_uri;
use crate::domain::error::{Error, Result};
use crate::domain::redirect::go_url::Url;

/// Most redirect URIs of a client.
const MOST_REDIRECTS: usize = 10;
/// Most bytes of a name.
const LONGEST_NAME: usize = 1024;
/// Most bytes of the address of a client's page or picture.
const LONGEST_URI: usize = 2048;

/// What is asked to be registered; texts are empty and lists without items where nothing is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// `redirect_uris`.
    pub redirect_uris: Vec<String>,
    /// `client_type`.
    pub client_type: String,
    /// `token_endpoint_auth_method`.
    pub auth_method: String,
    /// `grant_types`.
    pub grant_types: Vec<String>,
    /// `client_name`.
    pub name: String,
    /// `client_uri`.
    pub uri: String,
    /// `logo_uri`.
    pub logo_uri: String,
}

/// What is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// `redirect_uris`.
    pub redirect_uris: Vec<String>,
    /// `client_type`.
    pub client_type: ClientType,
    /// `token_endpoint_auth_method`.
    pub auth_method: AuthMethod,
    /// `grant_types`.
    pub grant_types: Vec<String>,
    /// `client_name`; empty for none.
    pub name: String,
    /// `client_uri`; empty for none.
    pub uri: String,
    /// `logo_uri`; empty for none.
    pub logo_uri: String,
}

/// Checks a registration and fills in what it leaves open; 400 `validation_failed`, worded as an error in an error.
pub fn register(asked: Asked, commas_refused: bool) -> Result<Accepted> {
    let (client_type, auth_method) =
        check_asked(&asked, commas_refused).map_err(|text| Error::invalid(format!("400: {text}")))?;
    let grant_types =
        if asked.grant_types.is_empty() { GRANT_TYPES.map(str::to_owned).to_vec() } else { asked.grant_types };
    Ok(Accepted {
        redirect_uris: asked.redirect_uris,
        client_type,
        auth_method,
        grant_types,
        name: asked.name,
        uri: asked.uri,
        logo_uri: asked.logo_uri,
    })
}

fn check_asked(asked: &Asked, commas_refused: bool) -> Result<(ClientType, AuthMethod), String> {
    if asked.redirect_uris.is_empty() {
        return Err("redirect_uris is required".to_owned());
    }
    check_redirects(&asked.redirect_uris, commas_refused)?;
    if !asked.grant_types.is_empty() {
        check_grant_types(&asked.grant_types)?;
    }
    check_name(&asked.name)?;
    check_uri("client_uri", &asked.uri)?;
    check_uri("logo_uri", &asked.logo_uri)?;
    let client_type = match asked.client_type.as_str() {
        "" => None,
        word => Some(ClientType::from_word(word).ok_or("client_type must be 'public' or 'confidential'")?),
    };
    let auth_method = match asked.auth_method.as_str() {
        "" => None,
        word => Some(
            AuthMethod::from_word(word)
                .ok_or_else(|| format!("token_endpoint_auth_method must be one of: {}", shown(&AuthMethod::ALL)))?,
        ),
    };
    settle(client_type, auth_method)
}

/// Type and method, where one is left open the one that fits the other.
fn settle(
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

/// What an administrator changes; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// `redirect_uris`.
    pub redirect_uris: Option<Vec<String>>,
    /// `grant_types`.
    pub grant_types: Option<Vec<String>>,
    /// `client_name`; empty takes it away.
    pub name: Option<String>,
    /// `client_uri`; empty takes it away.
    pub uri: Option<String>,
    /// `logo_uri`; empty takes it away.
    pub logo_uri: Option<String>,
    /// `token_endpoint_auth_method`.
    pub auth_method: Option<String>,
}

impl Changes {
    /// Whether these may be made to the client; 400 `validation_failed`.
    pub fn check(&self, client: &Client, commas_refused: bool) -> Result<()> {
        if *self == Self::default() {
            return Err(Error::invalid("No fields provided for update"));
        }
        self.check_each(commas_refused).map_err(Error::invalid)?;
        let Some(word) = &self.auth_method else { return Ok(()) };
        let fitting = client.client_type.auth_methods();
        if fitting.iter().any(|method| method.as_str() == word) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "token_endpoint_auth_method '{word}' is not valid for client_type '{}'; valid methods: {}",
            client.client_type.as_str(),
            shown(fitting)
        )))
    }

    fn check_each(&self, commas_refused: bool) -> Result<(), String> {
        if let Some(uris) = &self.redirect_uris {
            check_redirects(uris, commas_refused)?;
        }
        if let Some(grant_types) = &self.grant_types {
            check_grant_types(grant_types)?;
        }
        check_name(self.name.as_deref().unwrap_or_default())?;
        check_uri("client_uri", self.uri.as_deref().unwrap_or_default())?;
        check_uri("logo_uri", self.logo_uri.as_deref().unwrap_or_default())?;
        match &self.auth_method {
            Some(word) if AuthMethod::from_word(word).is_none() => {
                Err(format!("invalid token_endpoint_auth_method: must be one of {}", shown(&AuthMethod::ALL)))
            }
            _ => Ok(()),
        }
    }
}

fn check_redirects(uris: &[String], commas_refused: bool) -> Result<(), String> {
    if uris.is_empty() {
        return Err("redirect_uris cannot be empty".to_owned());
    }
    if uris.len() > MOST_REDIRECTS {
        return Err(format!("redirect_uris cannot exceed {MOST_REDIRECTS} items"));
    }
    uris.iter().try_for_each(|uri| {
        redirect_uri::check(uri, commas_refused).map_err(|why| format!("invalid redirect_uri '{uri}': {why}"))
    })
}

fn check_grant_types(grant_types: &[String]) -> Result<(), String> {
    if grant_types.is_empty() {
        return Err("grant_types cannot be empty".to_owned());
    }
    if grant_types.iter().all(|it| GRANT_TYPES.contains(&it.as_str())) {
        return Ok(());
    }
    Err("grant_types must only contain 'authorization_code' and/or 'refresh_token'".to_owned())
}

fn check_name(name: &str) -> Result<(), String> {
    if name.len() > LONGEST_NAME {
        return Err(format!("client_name cannot exceed {LONGEST_NAME} characters"));
    }
    if name.contains('\0') {
        return Err("client_name cannot hold the character U+0000".to_owned());
    }
    Ok(())
}

fn check_uri(member: &str, uri: &str) -> Result<(), String> {
    if uri.is_empty() {
        return Ok(());
    }
    if uri.len() > LONGEST_URI {
        return Err(format!("{member} cannot exceed {LONGEST_URI} characters"));
    }
    if Url::is_request_uri(uri) { Ok(()) } else { Err(format!("{member} must be a valid URL")) }
}

/// Refuses addresses that are none of the web: a page that asks for consent makes a link of one and a picture of the other.
/// Empty ones are none; 400.
pub fn require_web(uri: &str, logo_uri: &str) -> Result<()> {
    let is_web = |it: &str| it.is_empty() || Url::parse(it).is_ok_and(|url| matches!(url.scheme(), "https" | "http"));
    for (member, it) in [("client_uri", uri), ("logo_uri", logo_uri)] {
        if !is_web(it) {
            return Err(Error::invalid(format!("{member} must begin with https:// or http://")));
        }
    }
    Ok(())
}

/// A list as the reference prints one.
fn shown(methods: &[AuthMethod]) -> String {
    let words: Vec<&str> = methods.iter().map(|method| method.as_str()).collect();
    format!("[{}]", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::client::tests::client;
    use super::*;

    fn asked() -> Asked {
        Asked { redirect_uris: vec!["https://app.example.com/cb".into()], ..Asked::default() }
    }

    #[test]
    fn type_and_method_follow_from_each_other() {
        for (client_type, auth_method, settled) in [
            ("", "", Some(("confidential", "client_secret_basic"))),
            ("public", "", Some(("public", "none"))),
            ("confidential", "", Some(("confidential", "client_secret_basic"))),
            ("", "none", Some(("public", "none"))),
            ("", "client_secret_post", Some(("confidential", "client_secret_post"))),
            ("confidential", "client_secret_post", Some(("confidential", "client_secret_post"))),
            ("public", "client_secret_basic", None),
            ("confidential", "none", None),
            ("secret", "", None),
            ("", "private_key_jwt", None),
        ] {
            let asked = Asked { client_type: client_type.into(), auth_method: auth_method.into(), ..asked() };
            let got = register(asked, false).ok();
            let got = got.as_ref().map(|it| (it.client_type.as_str(), it.auth_method.as_str()));
            assert_eq!(got, settled, "{client_type} {auth_method}");
        }
    }

    #[test]
    fn the_first_complaint_is_told() {
        let many = vec!["https://app.example.com/cb".to_owned(); 11];
        for (asked, message) in [
            (Asked::default(), "400: redirect_uris is required"),
            (Asked { redirect_uris: many, ..asked() }, "400: redirect_uris cannot exceed 10 items"),
            (
                Asked { redirect_uris: vec!["/cb".into()], grant_types: vec!["password".into()], ..asked() },
                "400: invalid redirect_uri '/cb': must have scheme and host",
            ),
            (
                Asked { grant_types: vec!["password".into()], name: "x".repeat(1025), ..asked() },
                "400: grant_types must only contain 'authorization_code' and/or 'refresh_token'",
            ),
            (
                Asked { name: "x".repeat(1025), uri: "nowhere".into(), ..asked() },
                "400: client_name cannot exceed 1024 characters",
            ),
            (Asked { name: "a\0b".into(), ..asked() }, "400: client_name cannot hold the character U+0000"),
            (Asked { uri: "nowhere".into(), logo_uri: "://".into(), ..asked() }, "400: client_uri must be a valid URL"),
            (
                Asked { uri: format!("https://e.example/{}", "x".repeat(2040)), ..asked() },
                "400: client_uri cannot exceed 2048 characters",
            ),
            (Asked { logo_uri: "://".into(), client_type: "x".into(), ..asked() }, "400: logo_uri must be a valid URL"),
            (
                Asked { client_type: "x".into(), auth_method: "x".into(), ..asked() },
                "400: client_type must be 'public' or 'confidential'",
            ),
            (
                Asked { client_type: "public".into(), auth_method: "client_secret_basic".into(), ..asked() },
                "400: client_type 'public' is inconsistent with token_endpoint_auth_method 'client_secret_basic' \
                 (expected client_type 'confidential')",
            ),
        ] {
            let refused = register(asked, false).unwrap_err();
            assert_eq!((refused.code(), refused.message()), ("validation_failed", message));
        }
    }

    #[test]
    fn addresses_have_a_scheme_or_begin_at_the_root() {
        for (uri, is_good) in [
            ("https://app.example.com", true),
            ("/about", true),
            ("mailto:ann@example.com", true),
            ("//app.example.com/logo.png", true),
            ("nowhere", false),
            ("://", false),
            ("/%zz", false),
            ("?a", false),
        ] {
            assert_eq!(register(Asked { uri: uri.into(), ..asked() }, false).is_ok(), is_good, "{uri}");
        }
    }

    #[test]
    fn a4_what_a_page_shows_of_a_client_is_of_the_web() {
        for (uri, is_good) in [
            ("", true),
            ("https://app.example.com/", true),
            ("HTTP://app.example.com", true),
            ("javascript://app.example.com/%0aalert(1)", false),
            ("JavaScript:alert(1)", false),
            ("data:text/html,x", false),
            ("/about", false),
            ("//app.example.com", false),
        ] {
            assert_eq!((require_web(uri, "").is_ok(), require_web("", uri).is_ok()), (is_good, is_good), "{uri}");
        }
    }

    #[test]
    fn grants_are_both_where_none_is_named() {
        assert_eq!(register(asked(), false).unwrap().grant_types, GRANT_TYPES);
        let one = Asked { grant_types: vec!["refresh_token".into()], ..asked() };
        assert_eq!(register(one, false).unwrap().grant_types, ["refresh_token"]);
    }

    #[test]
    fn changes_fit_the_client() {
        let (public, confidential) = (client(AuthMethod::None), client(AuthMethod::Basic));
        let method = |word: &str| Changes { auth_method: Some(word.into()), ..Changes::default() };
        for (changes, client, message) in [
            (Changes::default(), &public, "No fields provided for update"),
            (
                Changes { redirect_uris: Some(Vec::new()), ..Changes::default() },
                &public,
                "redirect_uris cannot be empty",
            ),
            (Changes { grant_types: Some(Vec::new()), ..Changes::default() }, &public, "grant_types cannot be empty"),
            (Changes { name: Some(String::new()), ..Changes::default() }, &public, ""),
            (method("none"), &public, ""),
            (method("client_secret_post"), &confidential, ""),
            (
                method("none"),
                &confidential,
                "token_endpoint_auth_method 'none' is not valid for client_type 'confidential'; valid methods: \
                 [client_secret_basic client_secret_post]",
            ),
            (
                method("client_secret_post"),
                &public,
                "token_endpoint_auth_method 'client_secret_post' is not valid for client_type 'public'; valid \
                 methods: [none]",
            ),
            (
                method("x"),
                &public,
                "invalid token_endpoint_auth_method: must be one of [none client_secret_basic client_secret_post]",
            ),
        ] {
            let said = changes.check(client, false).map_or_else(|error| error.message().to_owned(), |()| String::new());
            assert_eq!(said, message);
        }
    }
}
