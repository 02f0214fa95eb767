//! The API keys of a project and their roles.

use std::fmt;

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

/// The roles that a key can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Any client: the role of browser applications.
    Anon,
    /// The operator: every operation is allowed.
    Service,
}

/// The API keys of one project.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKeys {
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

impl ApiKeys {
    /// Returns the role of a key; `None` if the key is unknown.
    /// Takes constant time for keys of equal length.
    pub fn find_role(&self, key: &str) -> Option<Role> {
        let known = [
            (&self.publishable_key, Role::Anon),
            (&self.anon_key, Role::Anon),
            (&self.secret_key, Role::Service),
            (&self.service_role_key, Role::Service),
        ];
        known.into_iter().fold(None, |found, (known, role)| {
            if bool::from(known.as_bytes().ct_eq(key.as_bytes())) { Some(role) } else { found }
        })
    }

    /// Returns the token with which a role is sent to the services.
    pub fn token(&self, role: Role) -> &str {
        match role {
            Role::Anon => &self.anon_key,
            Role::Service => &self.service_role_key,
        }
    }
}

impl Role {
    /// Returns the value of the `role` claim.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anon => "anon",
            Self::Service => "service_role",
        }
    }
}

/// Returns whether `token` is signed with `secret` and carries `role`.
pub fn is_token_with_role(token: &str, secret: &str, role: Role) -> bool {
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
