//! Discovery documents of issuers (OpenID Connect Discovery 1.0).

use gotrue_rules::domain::custom_provider::StoredDiscovery;
use gotrue_rules::domain::external::issuers;
use gotrue_rules::domain::external::jws::Algorithm;
use gotrue_rules::wire::go_json::{self, Document};
use serde::Deserialize;

use super::error::OidcError;
use super::issuer::IssuerSource;

/// The metadata of an issuer. Missing URLs are empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Discovery {
    /// The issuer identifier.
    pub issuer: String,
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub userinfo_endpoint: String,
    /// The URL of its key set.
    pub jwks_uri: String,
    /// The supported signing algorithms; RS256 if the document names none.
    pub algorithms: Vec<Algorithm>,
    /// The whole document.
    pub document: Document,
}

/// The members that a sign-in reads.
#[derive(Deserialize, Default)]
#[serde(default)]
struct DiscoveryDocument {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    userinfo_endpoint: String,
    jwks_uri: String,
    // Only its type is checked.
    device_authorization_endpoint: String,
    id_token_signing_alg_values_supported: Vec<String>,
}

impl Discovery {
    /// Parses a document, which must be the issuer's own.
    pub(super) fn parse(text: &[u8], source: &IssuerSource) -> Result<Self, OidcError> {
        let unreadable = |error: go_json::GoJsonError| OidcError::InvalidDocument(error.to_string());
        // The reference decodes documents at a custom URL as a stream and checks the types of more members.
        let document = match source.document {
            Some(_) => Document::parse_first(text),
            None => Document::parse(text),
        };
        let document = document.map_err(unreadable)?;
        if source.document.is_some() {
            document.read::<StoredDiscovery>().map_err(unreadable)?;
        }
        let metadata: DiscoveryDocument = document.read().map_err(unreadable)?;
        if !issuers::is_accepted_document_issuer(&source.issuer, &metadata.issuer) {
            return Err(OidcError::IssuerMismatch { expected: source.issuer.clone(), got: metadata.issuer });
        }
        Ok(Self {
            issuer: metadata.issuer,
            authorization_endpoint: metadata.authorization_endpoint,
            token_endpoint: metadata.token_endpoint,
            userinfo_endpoint: metadata.userinfo_endpoint,
            jwks_uri: metadata.jwks_uri,
            algorithms: accepted_algorithms(&metadata.id_token_signing_alg_values_supported),
            document,
        })
    }
}

fn accepted_algorithms(named: &[String]) -> Vec<Algorithm> {
    let accepted: Vec<_> = named.iter().filter_map(|name| Algorithm::from_name(name)).collect();
    if accepted.is_empty() { vec![Algorithm::RS256] } else { accepted }
}
