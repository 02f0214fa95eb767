//! The users of the simulated providers: presets, entered ones, or those of a test.

use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::catalog::{EmailRule, ProviderEntry};
use crate::template::Variables;

/// Domain of the relay addresses of Apple.
pub(crate) const RELAY_DOMAIN: &str = "@privaterelay.appleid.com";
/// Maximum length of a name or address.
const MAX_INPUT_LENGTH: usize = 200;
/// Ids of users without a numeric one are below this, so that every JSON parser reads them exactly.
const MAX_NUMERIC_ID: u64 = 1 << 53;
/// Claims that are variables of the templates and therefore no additional members.
const PROFILE_CLAIMS: [&str; 5] = ["name", "given_name", "family_name", "picture", "preferred_username"];
/// The time at which addresses were confirmed.
const CONFIRMED_AT: &str = "2020-01-01T00:00:00Z";

/// A user with an account at a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderUser {
    /// `sub`.
    pub subject: String,
    pub name: String,
    /// `email`; empty if there is none.
    pub email: String,
    pub is_email_verified: bool,
    /// Claims that replace or complete those of the provider.
    pub claims: Map<String, Value>,
}

/// A preset user, as the page of the provider lists it.
#[derive(Debug, Deserialize)]
pub struct PresetUser {
    id: String,
    pub name: String,
    /// Empty if the provider tells no address.
    pub email: String,
    /// Whether the provider says that the address is the user's.
    pub verified: bool,
}

/// The preset users, from the file of which the page is built.
static PRESET_USERS: LazyLock<Vec<PresetUser>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../frontend/development/provider/users.json")).unwrap_or_default()
});

/// Returns the users that the page of every provider offers.
pub fn preset_users() -> &'static [PresetUser] {
    &PRESET_USERS
}

impl ProviderUser {
    /// Returns a preset user.
    pub(crate) fn find_preset(id: &str) -> Option<Self> {
        let preset = PRESET_USERS.iter().find(|preset| preset.id == id)?;
        Some(Self {
            subject: format!("dev-{id}"),
            name: preset.name.clone(),
            email: preset.email.clone(),
            is_email_verified: preset.verified,
            claims: Map::new(),
        })
    }

    /// Returns the first preset user, who has a verified address.
    pub(crate) fn default_user() -> Self {
        let known = PRESET_USERS.first().and_then(|preset| Self::find_preset(&preset.id));
        known.unwrap_or_else(|| Self::named("dev-user"))
    }

    /// Returns a user without an address.
    pub(crate) fn named(subject: &str) -> Self {
        Self {
            subject: subject.to_owned(),
            name: subject.to_owned(),
            email: String::new(),
            is_email_verified: false,
            claims: Map::new(),
        }
    }

    /// Creates a user from form input.
    /// The account is identified by the address, or by the name if there is none.
    pub(crate) fn from_input(name: &str, email: &str, verified: bool) -> Option<Self> {
        let (name, email) = (name.trim(), email.trim());
        let fits = name.len() <= MAX_INPUT_LENGTH && is_address_or_empty(email);
        let account = if email.is_empty() { name } else { email };
        (fits && !account.is_empty()).then(|| Self {
            subject: format!("dev-{}", account.to_lowercase()),
            name: if name.is_empty() { email.to_owned() } else { name.to_owned() },
            email: email.to_owned(),
            is_email_verified: verified && !email.is_empty(),
            claims: Map::new(),
        })
    }

    /// Returns the user of a `login_hint`: a preset by id or address, or a user with that verified address.
    pub(crate) fn from_login_hint(hint: &str) -> Option<Self> {
        let by_address = PRESET_USERS.iter().find(|preset| !preset.email.is_empty() && preset.email == hint);
        let id = by_address.map_or(hint, |preset| preset.id.as_str());
        Self::find_preset(id).or_else(|| Self::from_input("", hint, true).filter(|_| hint.contains('@')))
    }

    /// Returns the first and the last name.
    pub(crate) fn split_name(&self) -> (&str, &str) {
        self.name.split_once(' ').unwrap_or((&self.name, ""))
    }

    /// Returns the variables of the response templates.
    pub(crate) fn variables(&self, entry: &ProviderEntry, now: DateTime<Utc>) -> Variables {
        let (given_name, family_name) = self.split_name();
        let login = self.subject.strip_prefix("dev-").unwrap_or(&self.subject);
        let login = login.split('@').next().unwrap_or_default();
        let number = self.numeric_id();
        let profile = |name: &str, usual: Value| self.claims.get(name).cloned().unwrap_or(usual);
        let mut variables = Variables::new();
        let mut insert = |name: &str, value: Value| drop(variables.insert(name.to_owned(), value));
        insert("id", json!(self.subject));
        insert("number", json!(number));
        insert("number_text", json!(number.to_string()));
        insert("name", profile("name", json!(self.name)));
        insert("given_name", profile("given_name", json!(given_name)));
        insert("family_name", profile("family_name", json!(family_name)));
        insert("login", profile("preferred_username", json!(login)));
        let picture = profile("picture", Value::Null);
        insert("picture_or_empty", json!(picture.as_str().unwrap_or_default()));
        insert("picture", picture);
        insert("now", json!(now.timestamp()));
        let is_verified = self.is_email_verified;
        let is_returned = !self.email.is_empty() && (is_verified || entry.emails != EmailRule::VerifiedOnly);
        insert("email_or_empty", json!(if is_returned { self.email.as_str() } else { "" }));
        if is_returned {
            insert("email", json!(self.email));
            insert("verified", json!(is_verified));
            insert("verified_number", json!(i32::from(is_verified)));
            insert("confirmed_at", if is_verified { json!(CONFIRMED_AT) } else { Value::Null });
            insert("relay", if self.email.ends_with(RELAY_DOMAIN) { json!(true) } else { Value::Null });
        }
        insert("verified_text", json!((is_returned && is_verified).to_string()));
        let more = self.claims.iter().filter(|(name, _)| !PROFILE_CLAIMS.contains(&name.as_str()));
        insert("claims", Value::Object(more.map(|(name, value)| (name.clone(), value.clone())).collect()));
        variables
    }

    /// Returns the id at a provider with numeric ids: the subject if it is a number, else derived from it.
    fn numeric_id(&self) -> u64 {
        let given = self.subject.parse().ok().filter(|id| *id < MAX_NUMERIC_ID);
        given.unwrap_or_else(|| {
            let hashed = digest(&SHA256, self.subject.as_bytes());
            let (first, _) = hashed.as_ref().split_at(8);
            first.iter().fold(0, |id, byte| (id << 8) | u64::from(*byte)) % MAX_NUMERIC_ID
        })
    }
}

/// Returns whether a text may be an address of a user.
pub(crate) fn is_address_or_empty(email: &str) -> bool {
    email.len() <= MAX_INPUT_LENGTH && (email.is_empty() || email.contains('@'))
}

/// Returns whether a text is an id at a provider with numeric ids.
pub(crate) fn is_numeric_id(subject: &str) -> bool {
    subject.parse::<u64>().is_ok_and(|id| id < MAX_NUMERIC_ID && id.to_string() == subject)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::find_provider;

    #[test]
    fn preset_users_have_different_claims() {
        let oidc = find_provider("oidc").expect("an entry");
        let verified = |id: &str| {
            let user = ProviderUser::find_preset(id).expect("a preset");
            user.variables(oidc, DateTime::UNIX_EPOCH).get("verified").cloned()
        };
        assert_eq!(PRESET_USERS.len(), 3);
        assert_eq!([verified("ann"), verified("ben"), verified("cleo")], [Some(json!(true)), Some(json!(false)), None]);
        assert_eq!(ProviderUser::default_user().email, "ann@example.com");
    }

    #[test]
    fn numeric_id_is_the_subject_or_derived_from_it() {
        let id = |subject: &str| ProviderUser::named(subject).numeric_id();
        assert_eq!(id("5150"), 5150);
        assert_ne!(id("dev-ann"), id("dev-ben"));
        assert!(id("dev-ann") < MAX_NUMERIC_ID);
        assert!(is_numeric_id("5150") && !is_numeric_id("05150") && !is_numeric_id("ann"));
    }
}
