//! What an issuer says of itself (OpenID Connect Discovery 1.0).

use gotrue_rules::domain::external::issuers;
use gotrue_rules::domain::external::jws::Algorithm;
use serde_json::{Map, Value};

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
    pub document: Map<String, Value>,
}

impl Discovery {
    /// Reads a document, which must be the issuer's own.
    pub(super) fn read(text: &[u8], source: &Source) -> Result<Self, OidcError> {
        let document: Map<String, Value> =
            serde_json::from_slice(text).map_err(|error| OidcError::NoDocument(error.to_string()))?;
        let read = Self {
            issuer: member(&document, "issuer")?,
            authorization_endpoint: member(&document, "authorization_endpoint")?,
            token_endpoint: member(&document, "token_endpoint")?,
            userinfo_endpoint: member(&document, "userinfo_endpoint")?,
            jwks_uri: member(&document, "jwks_uri")?,
            algorithms: algorithms(&document)?,
            document,
        };
        if !issuers::may_be_named(&source.issuer, &read.issuer) {
            return Err(OidcError::OtherIssuer { expected: source.issuer.clone(), got: read.issuer });
        }
        Ok(read)
    }
}

fn algorithms(document: &Map<String, Value>) -> Result<Vec<Algorithm>, OidcError> {
    let name = "id_token_signing_alg_values_supported";
    let mut accepted = Vec::new();
    match document.get(name) {
        None | Some(Value::Null) => {}
        Some(Value::Array(named)) => {
            for one in named {
                accepted.extend(Algorithm::from_name(one.as_str().ok_or_else(|| mistyped(name))?));
            }
        }
        Some(_) => return Err(mistyped(name)),
    }
    Ok(if accepted.is_empty() { vec![Algorithm::RS256] } else { accepted })
}

/// A text; empty if absent.
fn member(document: &Map<String, Value>, name: &str) -> Result<String, OidcError> {
    match document.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(value) => Ok(value.as_str().ok_or_else(|| mistyped(name))?.to_owned()),
    }
}

fn mistyped(name: &str) -> OidcError {
    OidcError::NoDocument(format!("{name} has a wrong type"))
}
