//! The API keys of a project and their roles.

use std::fmt;

use http_edge::request::ApiKeyRole;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::{Deserialize, Serialize};

/// The beginning of a secret key.
pub(crate) const SECRET_PREFIX: &str = "sb_secret_";

/// The API keys of one project.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ApiKeys {
    /// Signs and verifies tokens (HS256).
    pub jwt_secret: String,
    /// A token of the role `anon`, the public key of older clients.
    pub anon_key: String,
    /// A token of the role `service_role`.
    pub service_role_key: String,
    /// The public key, `sb_publishable_…`.
    pub publishable_key: String,
    /// The secret key, `sb_secret_…`.
    pub secret_key: String,
}

/// Returns whether `token` is signed with `secret` and carries `role`.
pub(super) fn is_token_with_role(token: &str, secret: &str, role: ApiKeyRole) -> bool {
    #[derive(Deserialize)]
    struct Claims {
        role: String,
    }
    let mut validation = Validation::new(Algorithm::HS256);
    validation.required_spec_claims.clear();
    validation.validate_aud = false;
    jsonwebtoken::decode::<Claims>(token, &DecodingKey::from_secret(secret.as_bytes()), &validation)
        .is_ok_and(|data| data.claims.role == role.name())
}

/// Hides the secrets.
impl fmt::Debug for ApiKeys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ApiKeys(…)")
    }
}
