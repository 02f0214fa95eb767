//! What an identity says of its owner, and how metadata is merged (`endpoints.md` §2.5).

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::contact::{Contact, Email};
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

/// The identity of its confirmed address that an account of other services gets with its first password; absent where it
/// has one, or is nobody's own. `before` is the account without the password, `after` with it.
pub fn of_first_password(before: &Account, after: &Account, id: Uuid, now: Time) -> Option<Identity> {
    let is_own = !after.is_sso_user && !after.is_anonymous && after.email_confirmed_at.is_some();
    let has_one = after.identities.iter().any(|identity| identity.provider == "email");
    if before.has_password() || has_one || !is_own {
        return None;
    }
    let contact = Contact::Email(Email::parse(after.email.as_deref()?).ok()?);
    let mut data = sign_up_data(after.id, &contact, &Map::new());
    data.insert("email_verified".to_owned(), json!(true));
    Some(of_contact(id, after.id, &contact, data, now))
}

/// Metadata after an update: members replace those of the same name, null takes one away; nothing below is merged.
#[must_use]
pub fn merged(mut metadata: Map<String, Value>, updates: &Map<String, Value>) -> Map<String, Value> {
    // One pass over all members: removing them one by one moves those behind each time.
    if updates.values().any(Value::is_null) {
        metadata.retain(|name, _| !updates.get(name).is_some_and(Value::is_null));
    }
    let set = updates.iter().filter(|(_, value)| !value.is_null());
    metadata.extend(set.map(|(name, value)| (name.clone(), value.clone())));
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
    let mut metadata = account.app_metadata.clone();
    metadata.extend(providers(account));
    metadata
}

/// These two members alone.
#[must_use]
pub fn providers(account: &Account) -> Map<String, Value> {
    let mut providers: Vec<&str> = Vec::new();
    for identity in &account.identities {
        if !providers.contains(&identity.provider.as_str()) {
            providers.push(&identity.provider);
        }
    }
    let mut metadata = Map::new();
    if let Some(first) = providers.first() {
        metadata.insert("provider".to_owned(), json!(first));
    }
    metadata.insert("providers".to_owned(), json!(providers));
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::contact::Phone;

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
    fn a_first_password_makes_an_identity_of_a_confirmed_address_of_one_s_own() {
        let identity = |provider: &str| Identity { provider: provider.into(), ..Identity::default() };
        let account = Account {
            id: Uuid::from_u128(1),
            email: Some("ann@example.com".to_owned()),
            email_confirmed_at: Some(Time::UNIX_EPOCH),
            identities: vec![identity("google")],
            ..Account::default()
        };
        let made = |before: &Account, after: &Account| of_first_password(before, after, Uuid::nil(), Time::UNIX_EPOCH);
        let it = made(&account, &account).unwrap();
        assert_eq!((it.provider.as_str(), it.provider_id), ("email", account.id.to_string()));
        assert_eq!(
            (&it.identity_data["email"], &it.identity_data["email_verified"]),
            (&json!("ann@example.com"), &json!(true))
        );

        let with_password = Account { encrypted_password: Some("$2a$".to_owned()), ..account.clone() };
        assert_eq!(made(&with_password, &account), None);
        for after in [
            Account { is_sso_user: true, ..account.clone() },
            Account { is_anonymous: true, ..account.clone() },
            Account { email_confirmed_at: None, ..account.clone() },
            Account { email: None, ..account.clone() },
            Account { identities: vec![identity("google"), identity("email")], ..account.clone() },
        ] {
            assert_eq!(made(&account, &after), None, "{after:?}");
        }
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
