//! The table of the simulated providers: paths and response templates of each.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::keys::KeyAlgorithm;
use crate::template::contains_variable;

/// The entry of the plain OpenID provider at the root of the simulator.
pub(crate) const GENERIC: &str = "oidc";
/// The entry of the SAML identity provider.
pub(crate) const SAML: &str = "saml";

/// A provider: its paths, which are suffixes of request paths, and its response templates.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderEntry {
    /// The name in the API.
    pub name: String,
    /// The issuer of its ID tokens; empty if it issues none.
    #[serde(default)]
    pub issuer: String,
    /// The authorization endpoint.
    pub authorize: String,
    /// The token endpoint; empty for SAML.
    #[serde(default)]
    pub token: String,
    /// The metadata of a SAML identity provider.
    #[serde(default)]
    pub metadata: Option<String>,
    /// The temporary credential request endpoint of OAuth 1.0a.
    #[serde(default)]
    pub request_token: Option<String>,
    /// Which e-mail addresses it returns.
    #[serde(default)]
    pub emails: EmailRule,
    /// How its token endpoint reads client credentials.
    #[serde(default)]
    pub credentials: CredentialRule,
    /// Whether ids of users are numbers.
    #[serde(default)]
    pub numeric_ids: bool,
    /// Whether it refuses authorization requests without a code challenge.
    #[serde(default)]
    pub needs_pkce: bool,
    /// Whether profile requests need `appsecret_proof`.
    #[serde(default)]
    pub needs_secret_proof: bool,
    /// The header that profile requests need.
    #[serde(default)]
    pub needs_header: Option<String>,
    /// Whether the first sign-in of a user posts the name in the field `user`.
    #[serde(default)]
    pub posts_user: bool,
    /// The claims of its ID tokens besides the registered ones.
    #[serde(default)]
    pub id_token: Option<Value>,
    /// The successful response of the token endpoint.
    #[serde(default = "default_token_response")]
    pub token_response: Value,
    /// Whether that response is a form.
    #[serde(default)]
    pub token_response_is_form: bool,
    /// The response of the token endpoint to an invalid code.
    #[serde(default)]
    pub token_error: Option<TokenErrorTemplate>,
    /// The profile endpoints.
    #[serde(default)]
    pub resources: Vec<ResourceTemplate>,
}

/// The response of a profile endpoint.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResourceTemplate {
    /// The end of its path.
    pub path: String,
    pub body: Value,
}

/// The response to an invalid code or refresh token.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenErrorTemplate {
    pub status: u16,
    /// The body; `$error` is the error code.
    pub body: Value,
}

/// Which e-mail addresses a provider returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EmailRule {
    /// All, with whether each is verified.
    #[default]
    Flagged,
    /// Verified ones only.
    VerifiedOnly,
    /// All, without telling whether they are verified, so that none counts as verified.
    NeverVerified,
}

/// How a token endpoint reads client credentials (RFC 6749 §2.3.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CredentialRule {
    /// HTTP Basic, or members of the form.
    #[default]
    Any,
    /// Members of the form only.
    Form,
}

/// The table; a test checks that it can be parsed.
static ENTRIES: LazyLock<Vec<ProviderEntry>> =
    LazyLock::new(|| serde_json::from_str(include_str!("providers.json")).unwrap_or_default());

impl ProviderEntry {
    /// Returns the algorithm of its ID tokens: that of the documents of the named providers.
    pub(crate) fn key_algorithm(&self) -> KeyAlgorithm {
        if self.name == GENERIC { KeyAlgorithm::Es256 } else { KeyAlgorithm::Rs256 }
    }

    /// Returns whether sign-ins yield ID tokens.
    pub(crate) fn has_id_token(&self) -> bool {
        self.id_token.is_some()
    }

    /// Returns whether the profile of a sign-in is signed.
    pub(crate) fn has_signed_profile(&self) -> bool {
        self.has_id_token() || self.is_saml()
    }

    /// Returns whether it is a SAML identity provider.
    pub(crate) fn is_saml(&self) -> bool {
        self.metadata.is_some()
    }

    /// Returns whether the token endpoint issues refresh tokens.
    pub(crate) fn has_refresh_token(&self) -> bool {
        !self.is_oauth1() && !self.is_saml() && contains_variable(&self.token_response, "refresh_token")
    }

    /// Returns whether the provider uses OAuth 1.0a.
    pub(crate) fn is_oauth1(&self) -> bool {
        self.request_token.is_some()
    }
}

/// Finds a provider by its name.
pub(crate) fn find_provider(name: &str) -> Option<&'static ProviderEntry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

/// Returns the names of all simulated providers: the built-in ones, `oidc` and `saml`.
pub fn provider_names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|entry| entry.name.as_str())
}

fn default_token_response() -> Value {
    json!({"access_token": "$access_token", "token_type": "bearer", "expires_in": "$lifetime",
           "refresh_token": "$refresh_token", "scope": "$scope", "id_token": "$id_token"})
}

#[cfg(test)]
mod tests {
    use gotrue_rules::domain::policy::PROVIDERS;

    use super::*;

    #[test]
    fn every_built_in_provider_is_simulated() {
        let entries: Vec<ProviderEntry> = serde_json::from_str(include_str!("providers.json")).expect("the table");
        let names = entries.iter().map(|entry| entry.name.as_str());
        let names: Vec<_> = names.filter(|name| ![GENERIC, SAML].contains(name)).collect();
        assert_eq!(names, PROVIDERS);
        for entry in &entries {
            assert!(entry.issuer.is_empty() != entry.has_id_token(), "{}", entry.name);
        }
    }
}
