//! What an issuer says of itself (OpenID Connect Discovery 1.0).

use gotrue_rules::domain::custom_provider::Discovered;
use gotrue_rules::domain::external::issuers;
use gotrue_rules::domain::external::jws::Algorithm;
use gotrue_rules::wire::go_json::{self, Document};
use serde::Deserialize;

use super::{OidcError, Source};

/// What an issuer says of itself. Addresses that it leaves out are empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Discovery {
    /// The issuer's name for itself.
    pub issuer: String,
    /// Where a browser is sent.
    pub authorization_endpoint: String,
    /// Where a code is exchanged.
    pub token_endpoint: String,
    /// Where people are asked about.
    pub userinfo_endpoint: String,
    /// Where its keys are.
    pub jwks_uri: String,
    /// How it signs: those of its algorithms that are accepted; the standard's own where it names none of them.
    pub algorithms: Vec<Algorithm>,
    /// The whole document.
    pub document: Document,
}

/// The members that a sign-in needs.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Said {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    userinfo_endpoint: String,
    jwks_uri: String,
    // Only its type counts.
    device_authorization_endpoint: String,
    id_token_signing_alg_values_supported: Vec<String>,
}

impl Discovery {
    /// Reads a document, which must be the issuer's own.
    pub(super) fn read(text: &[u8], source: &Source) -> Result<Self, OidcError> {
        let unreadable = |error: go_json::Error| OidcError::NoDocument(error.to_string());
        // The reference reads documents at an address of their own as a stream, and checks more of their members.
        let document = match source.document {
            Some(_) => Document::parse_first(text),
            None => Document::parse(text),
        };
        let document = document.map_err(unreadable)?;
        if source.document.is_some() {
            document.read::<Discovered>().map_err(unreadable)?;
        }
        let said: Said = document.read().map_err(unreadable)?;
        if !issuers::may_be_named(&source.issuer, &said.issuer) {
            return Err(OidcError::OtherIssuer { expected: source.issuer.clone(), got: said.issuer });
        }
        Ok(Self {
            issuer: said.issuer,
            authorization_endpoint: said.authorization_endpoint,
            token_endpoint: said.token_endpoint,
            userinfo_endpoint: said.userinfo_endpoint,
            jwks_uri: said.jwks_uri,
            algorithms: algorithms(&said.id_token_signing_alg_values_supported),
            document,
        })
    }
}

fn algorithms(named: &[String]) -> Vec<Algorithm> {
    let accepted: Vec<_> = named.iter().filter_map(|name| Algorithm::from_name(name)).collect();
    if accepted.is_empty() { vec![Algorithm::RS256] } else { accepted }
}
