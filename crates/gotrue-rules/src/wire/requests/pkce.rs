//! The members of PKCE.

use crate::wire::go_json::{GoJsonError, Object};

/// The PKCE members of a request; empty if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PkceParameters {
    /// `code_challenge`.
    pub challenge: String,
    /// `code_challenge_method`.
    pub method: String,
}

impl PkceParameters {
    pub(super) fn decode(body: &Object) -> Result<Self, GoJsonError> {
        Ok(Self { challenge: body.string("code_challenge")?, method: body.string("code_challenge_method")? })
    }
}
