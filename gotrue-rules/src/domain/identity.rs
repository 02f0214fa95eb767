//! What an identity says of its owner, and how metadata is merged (`endpoints.md` §2.5).

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::contact::Contact;
use super::user::{Account, Identity, Time};

/// The data of an identity made by signing up: the server's keys win over the client's.
pub fn sign_up_data(account: Uuid, contact: &Contact, data: &Map<String, Value>) -> Map<String, Value> {
    let mut all = data.clone();
    all.insert("sub".to_owned(), json!(account));
    all.insert("email_verified".to_owned(), json!(false));
    all.insert("phone_verified".to_owned(), json!(false));
    if let Contact::Email(email) = contact {
        all.insert("email".to_owned(), json!(email.as_str()));
    }
    all
}

/// An identity of the account's own address or number.
pub fn of_contact(id: Uuid, account: Uuid, contact: &Contact, data: Map<String, Value>, now: Time) -> Identity {
    Identity {
        id,
        user_id: account,
        provider: contact.provider().to_owned(),
        provider_id: account.to_string(),
        email: data.get("email").and_then(Value::as_str).map(str::to_lowercase),
        identity_data: data,
        last_sign_in_at: Some(now),
        created_at: now,
        updated_at: now,
    }
}

/// Metadata after an update: members replace those of the same name, null takes one away; nothing below is merged.
#[must_use]
pub fn merged(mut metadata: Map<String, Value>, updates: &Map<String, Value>) -> Map<String, Value> {
    for (name, value) in updates {
        if value.is_null() {
            metadata.shift_remove(name);
        } else {
            metadata.insert(name.clone(), value.clone());
        }
    }
    metadata
}

/// Metadata without the members that are null.
#[must_use]
pub fn without_nulls(data: &Map<String, Value>) -> Map<String, Value> {
    merged(Map::new(), data)
}

/// `app_metadata` with `provider` and `providers` as the account's identities give them: distinct, oldest first.
#[must_use]
pub fn with_providers(account: &Account) -> Map<String, Value> {
    let mut providers: Vec<&str> = Vec::new();
    for identity in &account.identities {
        if !providers.contains(&identity.provider.as_str()) {
            providers.push(&identity.provider);
        }
    }
    let mut metadata = account.app_metadata.clone();
    if let Some(first) = providers.first() {
        metadata.insert("provider".to_owned(), json!(first));
    }
    metadata.insert("providers".to_owned(), json!(providers));
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::contact::{Email, Phone};

    fn object(value: Value) -> Map<String, Value> {
        if let Value::Object(object) = value { object } else { Map::new() }
    }

    #[test]
    fn f1_the_server_s_keys_win_over_the_client_s() {
        let contact = Contact::Email(Email::parse("ann@example.com").unwrap());
        let data = object(
            json!({"sub": "me", "email": "mallory@example.com", "email_verified": true, "phone_verified": true, "name": "Ann"}),
        );
        let all = sign_up_data(Uuid::nil(), &contact, &data);
        assert_eq!(all["sub"], json!(Uuid::nil()));
        assert_eq!(all["email"], "ann@example.com");
        assert_eq!(
            (&all["email_verified"], &all["phone_verified"], &all["name"]),
            (&json!(false), &json!(false), &json!("Ann"))
        );
    }

    #[test]
    fn a_number_is_not_written_into_the_data() {
        let contact = Contact::Phone(Phone::parse("15550100").unwrap());
        let all = sign_up_data(Uuid::nil(), &contact, &Map::new());
        assert!(!all.contains_key("email") && !all.contains_key("phone"));
    }

    #[test]
    fn an_update_replaces_members_and_null_takes_one_away() {
        let before = object(json!({"a": {"x": 1}, "b": 2, "c": 3}));
        let after = merged(before, &object(json!({"a": {"y": 1}, "b": null, "d": [null], "e": null})));
        assert_eq!(Value::Object(after), json!({"a": {"y": 1}, "c": 3, "d": [null]}));
    }

    #[test]
    fn providers_are_distinct_and_oldest_first() {
        let identity = |provider: &str| Identity { provider: provider.into(), ..Identity::default() };
        let account = Account {
            identities: vec![identity("google"), identity("email"), identity("google")],
            app_metadata: object(json!({"tier": "gold"})),
            ..Account::default()
        };
        assert_eq!(
            Value::Object(with_providers(&account)),
            json!({"tier": "gold", "provider": "google", "providers": ["google", "email"]})
        );
    }
}
