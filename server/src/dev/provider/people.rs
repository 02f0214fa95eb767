//! Whom one can be: three people that differ in what a provider vouches for, or anybody.

use serde_json::{Map, Value, json};

/// Somebody with an account at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// `sub`.
    pub subject: String,
    /// `name`.
    pub name: String,
    /// `email`; empty: none.
    pub email: String,
    /// `email_verified`.
    pub verified: bool,
}

/// Those that the page offers: id, name, address, whether it is vouched for.
pub const KNOWN: [(&str, &str, &str, bool); 3] = [
    ("ann", "Ann Example", "ann@example.com", true),
    ("ben", "Ben Unverified", "ben@example.com", false),
    ("cleo", "Cleo Without Address", "", false),
];

/// The longest name or address.
const LONGEST: usize = 200;

impl Person {
    /// One of those that the page offers.
    pub fn known(id: &str) -> Option<Self> {
        let (id, name, email, verified) = KNOWN.into_iter().find(|(known, ..)| *known == id)?;
        Some(Self { subject: format!("dev-{id}"), name: name.to_owned(), email: email.to_owned(), verified })
    }

    /// Anybody: the address is the account, or without one the name.
    pub fn typed(name: &str, email: &str, verified: bool) -> Option<Self> {
        let (name, email) = (name.trim(), email.trim());
        let fits = name.len() <= LONGEST && email.len() <= LONGEST && (email.is_empty() || email.contains('@'));
        let account = if email.is_empty() { name } else { email };
        (fits && !account.is_empty()).then(|| Self {
            subject: format!("dev-{}", account.to_lowercase()),
            name: if name.is_empty() { email.to_owned() } else { name.to_owned() },
            email: email.to_owned(),
            verified: verified && !email.is_empty(),
        })
    }

    /// The one that a client names: one of those that the page offers by id or address, or anybody with that address,
    /// which is vouched for.
    pub fn hinted(hint: &str) -> Option<Self> {
        let by_address = KNOWN.into_iter().find(|(_, _, email, _)| !email.is_empty() && *email == hint);
        let id = by_address.map_or(hint, |(id, ..)| id);
        Self::known(id).or_else(|| Self::typed("", hint, true).filter(|_| hint.contains('@')))
    }

    /// What the provider says of the person.
    pub fn claims(&self) -> Map<String, Value> {
        let mut claims = Map::new();
        claims.insert("sub".to_owned(), json!(self.subject));
        claims.insert("name".to_owned(), json!(self.name));
        if !self.email.is_empty() {
            claims.insert("email".to_owned(), json!(self.email));
            claims.insert("email_verified".to_owned(), json!(self.verified));
        }
        claims
    }
}
