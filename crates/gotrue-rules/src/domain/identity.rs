//! Identity data and merging of user and app metadata.

use foundation::email::Email;
use foundation::time::Time;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::contact::Contact;
use super::user::{Identity, User};

/// The identity data of a sign-up: the server's keys override the client's.
pub fn sign_up_identity_data(user: Uuid, contact: &Contact, data: &Map<String, Value>) -> Map<String, Value> {
    let mut all = data.clone();
    all.insert("sub".to_owned(), json!(user));
    all.insert("email_verified".to_owned(), json!(false));
    all.insert("phone_verified".to_owned(), json!(false));
    if let Contact::Email(email) = contact {
        all.insert("email".to_owned(), json!(email.as_str()));
    }
    all
}

/// Builds the `email` or `phone` identity of a user.
pub fn identity_for_contact(id: Uuid, user: Uuid, contact: &Contact, data: Map<String, Value>, now: Time) -> Identity {
    Identity {
        id,
        user_id: user,
        provider: contact.provider().to_owned(),
        provider_id: user.to_string(),
        email: data.get("email").and_then(Value::as_str).map(str::to_lowercase),
        identity_data: data,
        last_sign_in_at: Some(now),
        created_at: now,
        updated_at: now,
    }
}

/// Builds the `email` identity that a user of external providers gets with a first password.
/// `None` if the user has one, is anonymous, an SSO user, or has no confirmed address. `before` is the user without the
/// password, `after` with it.
pub fn identity_for_first_password(before: &User, after: &User, id: Uuid, now: Time) -> Option<Identity> {
    let is_own = !after.is_sso_user && !after.is_anonymous && after.email_confirmed_at.is_some();
    let has_one = after.identities.iter().any(|identity| identity.provider == "email");
    if before.has_password() || has_one || !is_own {
        return None;
    }
    let contact = Contact::Email(Email::parse(after.email.as_deref()?).ok()?);
    let mut data = sign_up_identity_data(after.id, &contact, &Map::new());
    data.insert("email_verified".to_owned(), json!(true));
    Some(identity_for_contact(id, after.id, &contact, data, now))
}

/// Merges an update into metadata: members are replaced, null removes a member.
/// Nested objects are not merged.
#[must_use]
pub fn merge_metadata(mut metadata: Map<String, Value>, updates: &Map<String, Value>) -> Map<String, Value> {
    // One pass over all members: removing them one by one would shift the rest each time.
    if updates.values().any(Value::is_null) {
        metadata.retain(|name, _| !updates.get(name).is_some_and(Value::is_null));
    }
    let set = updates.iter().filter(|(_, value)| !value.is_null());
    metadata.extend(set.map(|(name, value)| (name.clone(), value.clone())));
    metadata
}

/// Removes the members that are null.
#[must_use]
pub fn without_nulls(data: &Map<String, Value>) -> Map<String, Value> {
    merge_metadata(Map::new(), data)
}

/// `app_metadata` with `provider` and `providers` of the user's identities: distinct, oldest first.
#[must_use]
pub fn app_metadata_with_providers(user: &User) -> Map<String, Value> {
    let mut metadata = user.app_metadata.clone();
    metadata.extend(provider_metadata(user));
    metadata
}

/// The members `provider` and `providers` only.
#[must_use]
pub fn provider_metadata(user: &User) -> Map<String, Value> {
    let mut providers: Vec<&str> = Vec::new();
    for identity in &user.identities {
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
    fn f1_server_keys_override_client_keys() {
        let contact = Contact::Email(Email::parse("ann@example.com").unwrap());
        let data = object(
            json!({"sub": "me", "email": "mallory@example.com", "email_verified": true, "phone_verified": true, "name": "Ann"}),
        );
        let all = sign_up_identity_data(Uuid::nil(), &contact, &data);
        assert_eq!(all["sub"], json!(Uuid::nil()));
        assert_eq!(all["email"], "ann@example.com");
        assert_eq!(
            (&all["email_verified"], &all["phone_verified"], &all["name"]),
            (&json!(false), &json!(false), &json!("Ann"))
        );
    }

    #[test]
    fn identity_data_omits_phone() {
        let contact = Contact::Phone(Phone::parse("15550100").unwrap());
        let all = sign_up_identity_data(Uuid::nil(), &contact, &Map::new());
        assert!(!all.contains_key("email") && !all.contains_key("phone"));
    }

    #[test]
    fn merge_replaces_members_and_null_removes_them() {
        let before = object(json!({"a": {"x": 1}, "b": 2, "c": 3}));
        let after = merge_metadata(before, &object(json!({"a": {"y": 1}, "b": null, "d": [null], "e": null})));
        assert_eq!(Value::Object(after), json!({"a": {"y": 1}, "c": 3, "d": [null]}));
    }

    #[test]
    fn first_password_creates_email_identity_for_confirmed_email() {
        let identity = |provider: &str| Identity { provider: provider.into(), ..Identity::default() };
        let user = User {
            id: Uuid::from_u128(1),
            email: Some("ann@example.com".to_owned()),
            email_confirmed_at: Some(Time::UNIX_EPOCH),
            identities: vec![identity("google")],
            ..User::default()
        };
        let made =
            |before: &User, after: &User| identity_for_first_password(before, after, Uuid::nil(), Time::UNIX_EPOCH);
        let new_identity = made(&user, &user).unwrap();
        assert_eq!((new_identity.provider.as_str(), new_identity.provider_id), ("email", user.id.to_string()));
        assert_eq!(
            (&new_identity.identity_data["email"], &new_identity.identity_data["email_verified"]),
            (&json!("ann@example.com"), &json!(true))
        );

        let with_password = User { encrypted_password: Some("$2a$".to_owned()), ..user.clone() };
        assert_eq!(made(&with_password, &user), None);
        for after in [
            User { is_sso_user: true, ..user.clone() },
            User { is_anonymous: true, ..user.clone() },
            User { email_confirmed_at: None, ..user.clone() },
            User { email: None, ..user.clone() },
            User { identities: vec![identity("google"), identity("email")], ..user.clone() },
        ] {
            assert_eq!(made(&user, &after), None, "{after:?}");
        }
    }

    #[test]
    fn provider_metadata_is_distinct_and_oldest_first() {
        let identity = |provider: &str| Identity { provider: provider.into(), ..Identity::default() };
        let user = User {
            identities: vec![identity("google"), identity("email"), identity("google")],
            app_metadata: object(json!({"tier": "gold"})),
            ..User::default()
        };
        assert_eq!(
            Value::Object(app_metadata_with_providers(&user)),
            json!({"tier": "gold", "provider": "google", "providers": ["google", "email"]})
        );
    }
}
