//! The users of the provider: three presets with different claims, or any entered one.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A user with an account at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProviderUser {
    /// `sub`.
    pub subject: String,
    /// `name`.
    pub name: String,
    /// `email`; empty if there is none.
    pub email: String,
    /// `email_verified`.
    pub is_email_verified: bool,
}

/// A preset user, as the page of the provider lists it.
#[derive(Debug, Deserialize)]
struct PresetUser {
    id: String,
    name: String,
    email: String,
    verified: bool,
}

/// The preset users, from the file of which the page is built.
static PRESET_USERS: LazyLock<Vec<PresetUser>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../../frontend/development/provider/users.json")).unwrap_or_default()
});

/// Maximum length of a name or address.
const MAX_INPUT_LENGTH: usize = 200;

impl ProviderUser {
    /// Returns a preset user.
    pub(super) fn find_preset(id: &str) -> Option<Self> {
        let preset = PRESET_USERS.iter().find(|preset| preset.id == id)?;
        Some(Self {
            subject: format!("dev-{id}"),
            name: preset.name.clone(),
            email: preset.email.clone(),
            is_email_verified: preset.verified,
        })
    }

    /// Creates a user from form input.
    /// The account is identified by the address, or by the name if there is none.
    pub(super) fn from_input(name: &str, email: &str, verified: bool) -> Option<Self> {
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
    pub(super) fn from_login_hint(hint: &str) -> Option<Self> {
        let by_address = PRESET_USERS.iter().find(|preset| !preset.email.is_empty() && preset.email == hint);
        let id = by_address.map_or(hint, |preset| preset.id.as_str());
        Self::find_preset(id).or_else(|| Self::from_input("", hint, true).filter(|_| hint.contains('@')))
    }

    /// Returns the claims about the user.
    pub(super) fn claims(&self) -> Map<String, Value> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preset_users_have_different_claims() {
        let verified =
            |id: &str| ProviderUser::find_preset(id).expect("a preset").claims().get("email_verified").cloned();
        assert_eq!(PRESET_USERS.len(), 3);
        assert_eq!([verified("ann"), verified("ben"), verified("cleo")], [Some(json!(true)), Some(json!(false)), None]);
    }
}
