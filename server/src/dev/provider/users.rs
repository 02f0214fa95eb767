//! The users of the provider: three presets with different claims, or any entered one.

use serde_json::{Map, Value, json};

/// A user with an account at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderUser {
    /// `sub`.
    pub subject: String,
    /// `name`.
    pub name: String,
    /// `email`; empty if there is none.
    pub email: String,
    /// `email_verified`.
    pub is_email_verified: bool,
}

/// The preset users: id, name, address, whether it is verified.
pub const PRESET_USERS: [(&str, &str, &str, bool); 3] = [
    ("ann", "Ann Example", "ann@example.com", true),
    ("ben", "Ben Unverified", "ben@example.com", false),
    ("cleo", "Cleo Without Address", "", false),
];

/// Maximum length of a name or address.
const MAX_INPUT_LENGTH: usize = 200;

impl ProviderUser {
    /// Returns a preset user.
    pub fn find_preset(id: &str) -> Option<Self> {
        let (id, name, email, verified) = PRESET_USERS.into_iter().find(|(known, ..)| *known == id)?;
        Some(Self {
            subject: format!("dev-{id}"),
            name: name.to_owned(),
            email: email.to_owned(),
            is_email_verified: verified,
        })
    }

    /// Creates a user from form input.
    /// The account is identified by the address, or by the name if there is none.
    pub fn from_input(name: &str, email: &str, verified: bool) -> Option<Self> {
        let (name, email) = (name.trim(), email.trim());
        let fits = name.len() <= MAX_INPUT_LENGTH
            && email.len() <= MAX_INPUT_LENGTH
            && (email.is_empty() || email.contains('@'));
        let account = if email.is_empty() { name } else { email };
        (fits && !account.is_empty()).then(|| Self {
            subject: format!("dev-{}", account.to_lowercase()),
            name: if name.is_empty() { email.to_owned() } else { name.to_owned() },
            email: email.to_owned(),
            is_email_verified: verified && !email.is_empty(),
        })
    }

    /// Returns the user of a `login_hint`: a preset by id or address, or a user with that verified address.
    pub fn from_login_hint(hint: &str) -> Option<Self> {
        let by_address = PRESET_USERS.into_iter().find(|(_, _, email, _)| !email.is_empty() && *email == hint);
        let id = by_address.map_or(hint, |(id, ..)| id);
        Self::find_preset(id).or_else(|| Self::from_input("", hint, true).filter(|_| hint.contains('@')))
    }

    /// Returns the claims about the user.
    pub fn claims(&self) -> Map<String, Value> {
        let mut claims = Map::new();
        claims.insert("sub".to_owned(), json!(self.subject));
        claims.insert("name".to_owned(), json!(self.name));
        if !self.email.is_empty() {
            claims.insert("email".to_owned(), json!(self.email));
            claims.insert("email_verified".to_owned(), json!(self.is_email_verified));
        }
        claims
    }
}
