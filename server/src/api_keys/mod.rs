//! The keys that open the API: made at first start, kept in the data folder, and never those that others have published.

mod gateway;
mod store;

pub use gateway::{Credentials, Gateway};
pub use store::{Given, combine, kept, open_or_make};

use std::fmt;

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

/// The roles a key can stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Anyone: what a page in a browser carries.
    Anon,
    /// The operator: may do everything.
    Service,
}

/// The keys of one project.
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
    /// The operator's key, `sb_secret_…`.
    pub secret_key: String,
}

impl ApiKeys {
    /// The role a key stands for; none when it is not one of ours. Takes the same time for every wrong key of a length.
    pub fn role_of(&self, key: &str) -> Option<Role> {
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

    /// The token that stands for a role inside.
    pub fn token(&self, role: Role) -> &str {
        match role {
            Role::Anon => &self.anon_key,
            Role::Service => &self.service_role_key,
        }
    }
}

impl Role {
    /// The claim's value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anon => "anon",
            Self::Service => "service_role",
        }
    }
}

/// Whether `token` is signed with `secret` and carries `role`.
fn is_token_of(token: &str, secret: &str, role: Role) -> bool {
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

/// Keys are secrets: nothing of them in a log.
impl fmt::Debug for ApiKeys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ApiKeys(…)")
    }
}
