//! A provider as data: where it is, what it is asked for, and how its answers become a [`Profile`]. Nothing here calls
//! anybody; the auth crate does what [`Provider::next`] asks for.

use serde_json::{Map, Value};

pub use super::answer::{BadAnswer, read};
use super::id_token::IdToken;
use super::profile::{Claims, Profile, ProviderEmail};
use crate::domain::policy::ExternalProvider;
use crate::wire::go_json::Document;

/// A service that people can sign in with.
pub trait Provider: Send + Sync {
    /// The name the API knows it by, lower case.
    fn name(&self) -> &str;

    /// Where it is and how it is asked, with the operator's settings.
    fn place(&self, settings: &ExternalProvider) -> Place;

    /// What to do next to learn who the person is: asked again after each step, with what is known by then.
    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer>;

    /// What the operator has not set besides id, secret and callback, in the words of the answer; `None`: nothing.
    fn lacks(&self, _settings: &ExternalProvider) -> Option<&'static str> {
        None
    }

    /// The person, with what the browser brought along in the form field `user`. Asked only if the field is not empty,
    /// and only if [`Provider::reads_user`].
    fn with_user(&self, _user: &str, profile: Profile) -> Result<Profile, BadAnswer> {
        Ok(profile)
    }

    /// The form field `user` of a callback is looked at.
    fn reads_user(&self) -> bool {
        false
    }
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

impl Place {
    /// OAuth 2.0 at two addresses as most have it; what differs is said with `..Place::oauth2(…)`.
    pub fn oauth2(authorize: String, token: String, scopes: &[&str]) -> Self {
        Self::at(Endpoints::OAuth2 { authorize, token }, scopes)
    }

    /// What most have, at these addresses.
    pub fn at(endpoints: Endpoints, scopes: &[&str]) -> Self {
        Self {
            endpoints,
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            named_scopes: NamedScopes::Appended,
            pkce: false,
            params: Vec::new(),
            passes_on: true,
            client_auth: ClientAuth::BasicThenForm,
        }
    }
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
    /// Split at white space and taken instead, with `openid` in front where a provider of OpenID Connect lacks it.
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
    pub answers: &'a [Document],
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

impl TokenAnswer {
    /// An ID token was given, be it an empty one, which no check will accept.
    pub fn has_id_token(&self) -> bool {
        !self.id_token.is_empty() || self.members.get("id_token").is_some_and(|token| !token.is_null())
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// GET this address with the access token; the answer, which must be JSON with a status of 2xx, is added to
    /// [`Known::answers`].
    Fetch(Fetch),
    /// Check the ID token: signature, times, audience (the first client id), and `at_hash` against the access token where
    /// there is one. It becomes [`Known::id_token`].
    CheckIdToken(IdTokenCheck),
    /// Nothing more: this is the person.
    Done(Box<Profile>),
}

/// Whose ID token is accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdTokenCheck {
    /// Whose keys sign it. Where [`Endpoints::Discovered`] names the same issuer, its document tells where they are.
    pub issuer: String,
    /// Its `iss` may be another than that.
    pub any_issuer: bool,
    /// It may be for other clients than the first: the provider looks itself which they are.
    pub any_audience: bool,
    /// The issuer was read in the token itself: its address is a stranger's, not the operator's.
    pub told_by_token: bool,
}

/// A request for what a provider knows of a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fetch {
    /// The address.
    pub url: String,
    /// Headers beside `Authorization`.
    pub headers: Vec<(String, String)>,
    /// Nothing but white space may follow the JSON of the answer; else what follows is ignored.
    pub is_whole: bool,
}

impl Step {
    /// This is the person.
    pub fn done(emails: Vec<ProviderEmail>, claims: Claims) -> Self {
        Self::Done(Box::new(Profile { emails, claims }))
    }

    /// Check the ID token, which must be this issuer's.
    pub fn check_id_token(issuer: impl Into<String>) -> Self {
        Self::CheckIdToken(IdTokenCheck { issuer: issuer.into(), ..IdTokenCheck::default() })
    }

    /// GET this address, without more headers.
    pub fn fetch(url: impl Into<String>) -> Self {
        Self::Fetch(Fetch { url: url.into(), ..Fetch::default() })
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
