//! Applies the effect of a verified one-time token to a user.
//!
//! `verification.rs` and `user_update.rs` decide whether the effect is allowed.

use foundation::time::Time;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::audit::{AuditAction, AuditEntry};
use super::identity::merge_metadata;
use super::one_time_token::OneTimeTokenKind;
use super::user::{Identity, User};
use super::verification::VerificationEffect;

/// Values that a confirmation needs besides the user.
#[derive(Debug, Clone, Copy)]
pub struct ConfirmationContext {
    /// The id of an identity, if one must be created.
    pub identity: Uuid,
    /// The time of the request.
    pub now: Time,
}

/// Returns the user after the effect.
/// The password of an invited user and the rows of one-time tokens are not part of it.
#[must_use]
pub fn apply_effect(effect: VerificationEffect, mut user: User, with: ConfirmationContext) -> User {
    match effect {
        VerificationEffect::ConfirmEmail { .. } => {
            confirm_email(&mut user, with.now);
            let address = user.email.clone();
            let has_it = |identity: &&mut Identity| identity.email.is_some() && identity.email == address;
            for identity in user.identities.iter_mut().filter(has_it) {
                identity.identity_data.insert("email_verified".to_owned(), json!(true));
            }
        }
        VerificationEffect::Recover => user.recovery_token.clear(),
        VerificationEffect::RecoverAndConfirm { .. } => {
            user.recovery_token.clear();
            confirm_email(&mut user, with.now);
        }
        VerificationEffect::ConfirmPhone => {
            user.confirmation_token.clear();
            user.phone_confirmed_at = Some(with.now);
            user.is_anonymous = false;
        }
        VerificationEffect::FirstEmailConfirmation(slot) => {
            user.email_change_confirm_status = 1;
            match slot {
                OneTimeTokenKind::EmailChangeCurrent => user.email_change_token_current.clear(),
                _ => user.email_change_token_new.clear(),
            }
        }
        VerificationEffect::ChangeEmail => change_email(&mut user, with),
        VerificationEffect::ChangePhone => change_phone(&mut user, with),
    }
    user
}

/// Returns the audit entry of the effect; the first of two email change confirmations has none.
pub fn audit_entry(effect: VerificationEffect) -> Option<AuditEntry> {
    match effect {
        VerificationEffect::ConfirmEmail { .. } | VerificationEffect::RecoverAndConfirm { .. } => {
            Some(AuditEntry::new(AuditAction::UserSignedUp).with_trait("provider", "email"))
        }
        VerificationEffect::ConfirmPhone => {
            Some(AuditEntry::new(AuditAction::UserSignedUp).with_trait("provider", "phone"))
        }
        VerificationEffect::Recover => Some(AuditEntry::new(AuditAction::Login)),
        VerificationEffect::ChangeEmail | VerificationEffect::ChangePhone => {
            Some(AuditEntry::new(AuditAction::UserModified))
        }
        VerificationEffect::FirstEmailConfirmation(_) => None,
    }
}

fn confirm_email(user: &mut User, now: Time) {
    user.confirmation_token.clear();
    user.email_confirmed_at = Some(now);
    user.user_metadata.insert("email_verified".to_owned(), json!(true));
}

/// Replaces the address by the pending one. `user_metadata.email` keeps the old one, as in GoTrue.
///
/// `updated_at` of an existing identity is stored, but not shown: GoTrue reads the identities before its last write.
fn change_email(user: &mut User, with: ConfirmationContext) {
    let address = std::mem::take(&mut user.email_change);
    let data = object(json!({ "email": address, "email_verified": true }));
    upsert_identity(user, "email", &data, with);
    if let Some(identity) = find_identity(user, "email") {
        identity.email = Some(address.to_lowercase());
    }
    user.email = Some(address).filter(|address| !address.is_empty());
    user.email_change_token_current.clear();
    user.email_change_token_new.clear();
    user.email_change_confirm_status = 0;
    user.is_anonymous = false;
    if !user.is_email_confirmed() {
        confirm_email(user, with.now);
    }
}

/// Replaces the number by the pending one.
fn change_phone(user: &mut User, with: ConfirmationContext) {
    let number = std::mem::take(&mut user.phone_change);
    let data = object(json!({ "phone": number, "phone_verified": true }));
    upsert_identity(user, "phone", &data, with);
    if let Some(identity) = find_identity(user, "phone") {
        identity.updated_at = with.now;
    }
    user.phone = Some(number).filter(|number| !number.is_empty());
    user.phone_change_token.clear();
    user.phone_confirmed_at = Some(with.now);
    user.is_anonymous = false;
}

/// Updates the user's identity of the provider, or creates it.
fn upsert_identity(user: &mut User, provider: &str, data: &Map<String, Value>, with: ConfirmationContext) {
    if let Some(identity) = find_identity(user, provider) {
        identity.identity_data = merge_metadata(std::mem::take(&mut identity.identity_data), data);
        return;
    }
    let base = object(json!({ "sub": user.id, "email_verified": false, "phone_verified": false }));
    user.identities.push(Identity {
        id: with.identity,
        user_id: user.id,
        provider: provider.to_owned(),
        provider_id: user.id.to_string(),
        identity_data: merge_metadata(base, data),
        email: None,
        last_sign_in_at: Some(with.now),
        created_at: with.now,
        updated_at: with.now,
    });
}

fn find_identity<'a>(user: &'a mut User, provider: &str) -> Option<&'a mut Identity> {
    let id = user.id.to_string();
    user.identities.iter_mut().find(|identity| identity.provider == provider && identity.provider_id == id)
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

    fn context() -> ConfirmationContext {
        ConfirmationContext { identity: Uuid::from_u128(9), now: Time::UNIX_EPOCH }
    }

    fn identity(provider: &str, owner: u128, data: Value) -> Identity {
        let email = data.get("email").and_then(Value::as_str).map(str::to_owned);
        let provider_id = Uuid::from_u128(owner).to_string();
        Identity { provider: provider.into(), provider_id, email, identity_data: object(data), ..Identity::default() }
    }

    fn user() -> User {
        User {
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
            ..User::default()
        }
    }

    #[test]
    fn confirming_email_marks_identities_with_that_email_verified() {
        let after = apply_effect(VerificationEffect::ConfirmEmail { should_set_password: false }, user(), context());
        let verified: Vec<_> = after
            .identities
            .iter()
            .map(|identity| identity.identity_data.get("email_verified") == Some(&json!(true)))
            .collect();
        assert_eq!(verified, [true, true, false]);
        assert_eq!((after.confirmation_token.as_str(), after.email_confirmed_at), ("", Some(context().now)));
        assert_eq!(after.user_metadata["email_verified"], json!(true));
        assert!(after.is_anonymous);
    }

    #[test]
    fn recovery_clears_token_and_confirms_email_if_needed() {
        let confirmed = User { email_confirmed_at: Some(Time::MAX_UTC), ..user() };
        let after = apply_effect(VerificationEffect::Recover, confirmed.clone(), context());
        assert_eq!(after, User { recovery_token: String::new(), ..confirmed });
        let after =
            apply_effect(VerificationEffect::RecoverAndConfirm { should_set_password: false }, user(), context());
        assert_eq!((after.recovery_token.as_str(), after.email_confirmed_at), ("", Some(context().now)));
        assert_eq!(after.identities, user().identities);
    }

    #[test]
    fn half_email_change_clears_only_its_own_token() {
        let after = apply_effect(
            VerificationEffect::FirstEmailConfirmation(OneTimeTokenKind::EmailChangeCurrent),
            user(),
            context(),
        );
        assert_eq!((after.email_change_token_current.as_str(), after.email_change_token_new.as_str()), ("", "b"));
        let after = apply_effect(
            VerificationEffect::FirstEmailConfirmation(OneTimeTokenKind::EmailChangeNew),
            user(),
            context(),
        );
        assert_eq!((after.email_change_token_current.as_str(), after.email_change_token_new.as_str()), ("a", ""));
        assert_eq!((after.email_change_confirm_status, after.email.as_deref()), (1, Some("ann@example.com")));
    }

    #[test]
    fn email_change_updates_user_and_identity_but_not_metadata() {
        let after = apply_effect(VerificationEffect::ChangeEmail, user(), context());
        assert_eq!((after.email.as_deref(), after.email_change.as_str()), (Some("new@example.com"), ""));
        let own = json!({"email": "new@example.com", "email_verified": true, "name": "Ann"});
        assert_eq!(Value::Object(after.identities[0].identity_data.clone()), own);
        assert_eq!(after.identities[0].email.as_deref(), Some("new@example.com"));
        assert_eq!(after.identities[1], user().identities[1]);
        assert_eq!(after.user_metadata["email"], "ann@example.com");
        assert_eq!((after.email_change_confirm_status, after.is_anonymous), (0, false));
        assert!(after.email_change_token_current.is_empty() && after.email_change_token_new.is_empty());
        assert_eq!(after.email_confirmed_at, Some(context().now));
    }

    #[test]
    fn missing_identity_is_created_on_contact_change() {
        let anonymous = User { identities: Vec::new(), ..user() };
        let after = apply_effect(VerificationEffect::ChangeEmail, anonymous.clone(), context());
        let [made] = after.identities.as_slice() else { panic!("no identity") };
        assert_eq!((made.id, made.provider_id.as_str()), (context().identity, after.id.to_string().as_str()));
        assert_eq!(
            Value::Object(made.identity_data.clone()),
            json!({"sub": after.id, "email": "new@example.com", "email_verified": true, "phone_verified": false})
        );
        let after = apply_effect(VerificationEffect::ChangePhone, anonymous, context());
        assert_eq!(
            Value::Object(after.identities[0].identity_data.clone()),
            json!({"sub": after.id, "phone": "15550100", "email_verified": false, "phone_verified": true})
        );
        assert_eq!((after.phone.as_deref(), after.phone_change.as_str()), (Some("15550100"), ""));
        assert_eq!((after.phone_confirmed_at, after.is_anonymous), (Some(context().now), false));
    }

    #[test]
    fn confirmed_phone_makes_user_permanent() {
        let after = apply_effect(VerificationEffect::ConfirmPhone, user(), context());
        assert_eq!((after.phone_confirmed_at, after.is_anonymous), (Some(context().now), false));
        assert!(after.confirmation_token.is_empty() && after.email_confirmed_at.is_none());
    }

    #[test]
    fn every_effect_except_half_email_change_is_audited() {
        for (effect, action, provider) in [
            (
                VerificationEffect::ConfirmEmail { should_set_password: true },
                Some(AuditAction::UserSignedUp),
                Some("email"),
            ),
            (
                VerificationEffect::RecoverAndConfirm { should_set_password: false },
                Some(AuditAction::UserSignedUp),
                Some("email"),
            ),
            (VerificationEffect::ConfirmPhone, Some(AuditAction::UserSignedUp), Some("phone")),
            (VerificationEffect::Recover, Some(AuditAction::Login), None),
            (VerificationEffect::ChangeEmail, Some(AuditAction::UserModified), None),
            (VerificationEffect::ChangePhone, Some(AuditAction::UserModified), None),
            (VerificationEffect::FirstEmailConfirmation(OneTimeTokenKind::EmailChangeNew), None, None),
        ] {
            let entry = audit_entry(effect);
            assert_eq!(entry.as_ref().map(|entry| entry.action), action);
            let recorded =
                entry.and_then(|entry| entry.traits.get("provider").and_then(Value::as_str).map(str::to_owned));
            assert_eq!(recorded.as_deref(), provider, "{effect:?}");
        }
    }
}
