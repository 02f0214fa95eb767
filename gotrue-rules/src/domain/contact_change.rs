//! How an account looks once something of it is confirmed: the after-image that a confirmation writes. Whether it may
//! happen is decided in `verification.rs` and `user_update.rs`.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::audit::{Action, Entry};
use super::identity::merged;
use super::one_time_token::Slot;
use super::user::{Account, Identity, Time};
use super::verification::Effect;

/// What a confirmation brings along.
#[derive(Debug, Clone, Copy)]
pub struct Confirmation {
    /// The id of an identity that may have to be made.
    pub identity: Uuid,
    /// The request's moment.
    pub now: Time,
}

/// The account after this effect. The password of an invited account and the rows of one-time tokens, which all
/// effects but a half change empty, are not part of it.
#[must_use]
pub fn applied(effect: Effect, mut account: Account, with: Confirmation) -> Account {
    match effect {
        Effect::ConfirmEmail { .. } => {
            confirm_email(&mut account, with.now);
            let address = account.email.clone();
            let has_it = |identity: &&mut Identity| identity.email.is_some() && identity.email == address;
            for identity in account.identities.iter_mut().filter(has_it) {
                identity.identity_data.insert("email_verified".to_owned(), json!(true));
            }
        }
        Effect::Recover => account.recovery_token.clear(),
        Effect::RecoverAndConfirm => {
            account.recovery_token.clear();
            confirm_email(&mut account, with.now);
        }
        Effect::ConfirmPhone => {
            account.confirmation_token.clear();
            account.phone_confirmed_at = Some(with.now);
            account.is_anonymous = false;
        }
        Effect::HalfEmailChange(slot) => {
            account.email_change_confirm_status = 1;
            match slot {
                Slot::EmailChangeCurrent => account.email_change_token_current.clear(),
                _ => account.email_change_token_new.clear(),
            }
        }
        Effect::ChangeEmail => change_email(&mut account, with),
        Effect::ChangePhone => change_phone(&mut account, with),
    }
    account
}

/// What the audit log is told; nothing of a half change.
pub fn audit(effect: Effect) -> Option<Entry> {
    match effect {
        Effect::ConfirmEmail { .. } | Effect::RecoverAndConfirm => {
            Some(Entry::of(Action::UserSignedUp).with("provider", "email"))
        }
        Effect::ConfirmPhone => Some(Entry::of(Action::UserSignedUp).with("provider", "phone")),
        Effect::Recover => Some(Entry::of(Action::Login)),
        Effect::ChangeEmail | Effect::ChangePhone => Some(Entry::of(Action::UserModified)),
        Effect::HalfEmailChange(_) => None,
    }
}

fn confirm_email(account: &mut Account, now: Time) {
    account.confirmation_token.clear();
    account.email_confirmed_at = Some(now);
    account.user_metadata.insert("email_verified".to_owned(), json!(true));
}

/// The pending address takes the place of the old one. `user_metadata.email` keeps the old one, as recorded.
fn change_email(account: &mut Account, with: Confirmation) {
    let address = std::mem::take(&mut account.email_change);
    let data = object(json!({ "email": address, "email_verified": true }));
    put_identity(account, "email", &data, with);
    if let Some(identity) = own_identity(account, "email") {
        identity.email = Some(address.to_lowercase());
    }
    account.email = Some(address).filter(|address| !address.is_empty());
    account.email_change_token_current.clear();
    account.email_change_token_new.clear();
    account.email_change_confirm_status = 0;
    account.is_anonymous = false;
    if !account.is_email_confirmed() {
        confirm_email(account, with.now);
    }
}

/// The pending number takes the place of the old one.
fn change_phone(account: &mut Account, with: Confirmation) {
    let number = std::mem::take(&mut account.phone_change);
    let data = object(json!({ "phone": number, "phone_verified": true }));
    put_identity(account, "phone", &data, with);
    account.phone = Some(number).filter(|number| !number.is_empty());
    account.phone_change_token.clear();
    account.phone_confirmed_at = Some(with.now);
    account.is_anonymous = false;
}

/// Writes into the account's own identity of that kind, or makes one.
fn put_identity(account: &mut Account, provider: &str, data: &Map<String, Value>, with: Confirmation) {
    if let Some(identity) = own_identity(account, provider) {
        identity.identity_data = merged(std::mem::take(&mut identity.identity_data), data);
        return;
    }
    let base = object(json!({ "sub": account.id, "email_verified": false, "phone_verified": false }));
    account.identities.push(Identity {
        id: with.identity,
        user_id: account.id,
        provider: provider.to_owned(),
        provider_id: account.id.to_string(),
        identity_data: merged(base, data),
        email: None,
        last_sign_in_at: Some(with.now),
        created_at: with.now,
        updated_at: with.now,
    });
}

fn own_identity<'a>(account: &'a mut Account, provider: &str) -> Option<&'a mut Identity> {
    let id = account.id.to_string();
    account.identities.iter_mut().find(|identity| identity.provider == provider && identity.provider_id == id)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with() -> Confirmation {
        Confirmation { identity: Uuid::from_u128(9), now: Time::UNIX_EPOCH }
    }

    fn identity(provider: &str, owner: u128, data: Value) -> Identity {
        let email = data.get("email").and_then(Value::as_str).map(str::to_owned);
        let provider_id = Uuid::from_u128(owner).to_string();
        Identity { provider: provider.into(), provider_id, email, identity_data: object(data), ..Identity::default() }
    }

    fn ann() -> Account {
        Account {
            id: Uuid::from_u128(1),
            email: Some("ann@example.com".into()),
            email_change: "new@example.com".into(),
            email_change_token_current: "a".into(),
            email_change_token_new: "b".into(),
            email_change_confirm_status: 1,
            phone_change: "15550100".into(),
            phone_change_token: "c".into(),
            confirmation_token: "d".into(),
            recovery_token: "e".into(),
            is_anonymous: true,
            user_metadata: object(json!({"email": "ann@example.com"})),
            identities: vec![
                identity("email", 1, json!({"email": "ann@example.com", "email_verified": false, "name": "Ann"})),
                identity("google", 7, json!({"email": "ann@example.com"})),
                identity("github", 8, json!({"email": "other@example.com"})),
            ],
            ..Account::default()
        }
    }

    #[test]
    fn confirming_an_address_is_told_to_the_identities_that_have_it() {
        let after = applied(Effect::ConfirmEmail { with_password: false }, ann(), with());
        let told: Vec<_> =
            after.identities.iter().map(|it| it.identity_data.get("email_verified") == Some(&json!(true))).collect();
        assert_eq!(told, [true, true, false]);
        assert_eq!((after.confirmation_token.as_str(), after.email_confirmed_at), ("", Some(with().now)));
        assert_eq!(after.user_metadata["email_verified"], json!(true));
        assert!(after.is_anonymous);
    }

    #[test]
    fn recovering_uses_the_secret_up_and_confirms_where_needed() {
        let confirmed = Account { email_confirmed_at: Some(Time::MAX_UTC), ..ann() };
        let after = applied(Effect::Recover, confirmed.clone(), with());
        assert_eq!(after, Account { recovery_token: String::new(), ..confirmed });
        let after = applied(Effect::RecoverAndConfirm, ann(), with());
        assert_eq!((after.recovery_token.as_str(), after.email_confirmed_at), ("", Some(with().now)));
        assert_eq!(after.identities, ann().identities);
    }

    #[test]
    fn half_a_change_empties_one_slot_only() {
        let after = applied(Effect::HalfEmailChange(Slot::EmailChangeCurrent), ann(), with());
        assert_eq!((after.email_change_token_current.as_str(), after.email_change_token_new.as_str()), ("", "b"));
        let after = applied(Effect::HalfEmailChange(Slot::EmailChangeNew), ann(), with());
        assert_eq!((after.email_change_token_current.as_str(), after.email_change_token_new.as_str()), ("a", ""));
        assert_eq!((after.email_change_confirm_status, after.email.as_deref()), (1, Some("ann@example.com")));
    }

    #[test]
    fn a_new_address_goes_into_account_and_identity_but_not_into_the_metadata() {
        let after = applied(Effect::ChangeEmail, ann(), with());
        assert_eq!((after.email.as_deref(), after.email_change.as_str()), (Some("new@example.com"), ""));
        let own = json!({"email": "new@example.com", "email_verified": true, "name": "Ann"});
        assert_eq!(Value::Object(after.identities[0].identity_data.clone()), own);
        assert_eq!(after.identities[0].email.as_deref(), Some("new@example.com"));
        assert_eq!(after.identities[1], ann().identities[1]);
        assert_eq!(after.user_metadata["email"], "ann@example.com");
        assert_eq!((after.email_change_confirm_status, after.is_anonymous), (0, false));
        assert!(after.email_change_token_current.is_empty() && after.email_change_token_new.is_empty());
        assert_eq!(after.email_confirmed_at, Some(with().now));
    }

    #[test]
    fn an_account_without_an_identity_of_the_kind_gets_one() {
        let anonymous = Account { identities: Vec::new(), ..ann() };
        let after = applied(Effect::ChangeEmail, anonymous.clone(), with());
        let [made] = after.identities.as_slice() else { panic!("no identity") };
        assert_eq!((made.id, made.provider_id.as_str()), (with().identity, after.id.to_string().as_str()));
        assert_eq!(
            Value::Object(made.identity_data.clone()),
            json!({"sub": after.id, "email": "new@example.com", "email_verified": true, "phone_verified": false})
        );
        let after = applied(Effect::ChangePhone, anonymous, with());
        assert_eq!(
            Value::Object(after.identities[0].identity_data.clone()),
            json!({"sub": after.id, "phone": "15550100", "email_verified": false, "phone_verified": true})
        );
        assert_eq!((after.phone.as_deref(), after.phone_change.as_str()), (Some("15550100"), ""));
        assert_eq!((after.phone_confirmed_at, after.is_anonymous), (Some(with().now), false));
    }

    #[test]
    fn a_confirmed_number_makes_an_account_permanent() {
        let after = applied(Effect::ConfirmPhone, ann(), with());
        assert_eq!((after.phone_confirmed_at, after.is_anonymous), (Some(with().now), false));
        assert!(after.confirmation_token.is_empty() && after.email_confirmed_at.is_none());
    }

    #[test]
    fn every_effect_but_half_a_change_is_logged() {
        for (effect, action, provider) in [
            (Effect::ConfirmEmail { with_password: true }, Some(Action::UserSignedUp), Some("email")),
            (Effect::RecoverAndConfirm, Some(Action::UserSignedUp), Some("email")),
            (Effect::ConfirmPhone, Some(Action::UserSignedUp), Some("phone")),
            (Effect::Recover, Some(Action::Login), None),
            (Effect::ChangeEmail, Some(Action::UserModified), None),
            (Effect::ChangePhone, Some(Action::UserModified), None),
            (Effect::HalfEmailChange(Slot::EmailChangeNew), None, None),
        ] {
            let entry = audit(effect);
            assert_eq!(entry.as_ref().map(|entry| entry.action), action);
            let told = entry.and_then(|entry| entry.traits.get("provider").and_then(Value::as_str).map(str::to_owned));
            assert_eq!(told.as_deref(), provider, "{effect:?}");
        }
    }
}
