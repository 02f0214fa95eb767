//! ID tokens of other services, once their signature and times have been checked.

use serde_json::{Map, Value};

/// An ID token whose signature and times hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IdToken {
    /// `iss`.
    pub issuer: String,
    /// `sub`; may be empty.
    pub subject: String,
    /// `aud`, one or many.
    pub audience: Vec<String>,
    /// `nonce`; empty: none.
    pub nonce: String,
    /// `at_hash`; empty: none.
    pub access_token_hash: String,
    /// All claims.
    pub claims: Map<String, Value>,
}
