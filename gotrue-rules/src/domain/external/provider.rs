//! A provider as data: where it is, what it is asked for, and how its answers become a [`Profile`]. Nothing here calls
//! anybody; the auth crate does what [`Provider::next`] asks for.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::id_token::IdToken;
use super::profile::Profile;
use crate::domain::policy::ExternalProvider;

/// A service that people can sign in with.
pub trait Provider: Send + Sync {
    /// The name the API knows it by, lower case.
    fn name(&self) -> &str;

    /// Where it is and how it is asked, with the operator's settings.
    fn place(&self, settings: &ExternalProvider) -> Place;

    /// What to do next to learn who the person is: asked again after each step, with what is known by then.
    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer>;
}

/// Where a provider is and how it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its addresses.
    pub endpoints: Endpoints,
    /// Scopes asked for without being named, in this order.
    pub scopes: Vec<String>,
    /// What becomes of scopes that a client names.
    pub named_scopes: NamedScopes,
    /// It is sent a challenge of ours (RFC 7636).
    pub pkce: bool,
    /// Parameters of its own in the address a browser is sent to; they win over a client's.
    pub params: Vec<(String, String)>,
    /// Parameters of the client are passed on to it.
    pub passes_on: bool,
    /// How we show our secret there.
    pub client_auth: ClientAuth,
}

/// A provider's addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoints {
    /// OAuth 2.0 at addresses known beforehand.
    OAuth2 {
        /// Where a browser is sent.
        authorize: String,
        /// Where a code is exchanged.
        token: String,
        /// Whose ID tokens are accepted, where the provider gives any; empty: nobody's.
        issuer: String,
    },
    /// OpenID Connect: the issuer's discovery document tells them.
    Discovered {
        /// The issuer.
        issuer: String,
        /// Where the document is, if not at its usual place below the issuer.
        document: Option<String>,
        /// Addresses that are used instead of the document's: where a browser is sent, where a code is exchanged.
        instead: Option<(String, String)>,
    },
    /// OAuth 1.0a (RFC 5849).
    OAuth1 {
        /// Where a request token is had.
        request_token: String,
        /// Where a browser is sent.
        authorize: String,
        /// Where the request token is exchanged.
        access_token: String,
    },
}

/// What becomes of scopes that a client names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedScopes {
    /// Split at commas and appended, empty ones included.
    Appended,
    /// Split at white space and taken instead.
    Instead,
    /// Nothing.
    Ignored,
}

/// How our id and secret are shown when a code is exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuth {
    /// HTTP Basic, and after any failure once more within the form.
    BasicThenForm,
    /// Within the form only.
    Form,
    /// HTTP Basic, with `client_id` and `secret` in the form besides.
    BasicAndForm,
}

/// What is known of a person so far.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The operator's settings of the provider.
    pub settings: &'a ExternalProvider,
    /// What the code was exchanged for.
    pub token: &'a TokenAnswer,
    /// The ID token in it, once [`Step::CheckIdToken`] has been done.
    pub id_token: Option<&'a IdToken>,
    /// Where the discovery document says that people are asked about; empty: nowhere.
    pub userinfo_url: &'a str,
    /// The answers to what was fetched, oldest first.
    pub answers: &'a [Value],
}

/// What a code was exchanged for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenAnswer {
    /// `access_token`.
    pub access_token: String,
    /// `token_type` as it was given; empty: none.
    pub token_type: String,
    /// `refresh_token`; empty: none.
    pub refresh_token: String,
    /// `id_token`; empty: none.
    pub id_token: String,
    /// All members of the answer.
    pub members: Map<String, Value>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// GET this address with the access token; the answer, which must be JSON with a status of 2xx, is added to
    /// [`Known::answers`].
    Fetch(Fetch),
    /// Check the ID token; it becomes [`Known::id_token`].
    CheckIdToken,
    /// Nothing more: this is the person.
    Done(Box<Profile>),
}

/// A request for what a provider knows of a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fetch {
    /// The address.
    pub url: String,
    /// Headers beside `Authorization`.
    pub headers: Vec<(String, String)>,
}

impl Step {
    /// GET this address, without more headers.
    pub fn fetch(url: impl Into<String>) -> Self {
        Self::Fetch(Fetch { url: url.into(), headers: Vec::new() })
    }
}

/// A provider's answer that tells nothing of a person. For the log only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the provider's answer cannot be used: {0}")]
pub struct BadAnswer(pub String);

/// An answer in the shape that a provider documents. A member that is null counts as absent.
pub fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, BadAnswer> {
    T::deserialize(present(answer)).map_err(|error| BadAnswer(error.to_string()))
}

fn present(answer: &Value) -> Value {
    match answer {
        Value::Object(members) => {
            let there = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(there.map(|(name, value)| (name.clone(), present(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(present).collect()),
        other => other.clone(),
    }
}

/// A host with `https://` where the operator set no base, else that base without a final slash.
pub fn base(set: &str, usual_host: &str) -> String {
    if set.is_empty() {
        return format!("https://{usual_host}");
    }
    set.strip_suffix('/').unwrap_or(set).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_of_the_operator_s_loses_one_slash() {
        assert_eq!(base("", "example.com"), "https://example.com");
        assert_eq!(base("http://host:1/x/", "example.com"), "http://host:1/x");
        assert_eq!(base("http://host//", "example.com"), "http://host/");
    }
}
