//! What the audit log says: actions with the log they belong to, and the payload of a row (`schema.md`,
//! `audit_log_entries`).

use serde_json::{Map, Value, json};

use super::user::Account;

/// Something that happened to an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A session was opened.
    Login,
    /// Sessions were ended by the account.
    Logout,
    /// An invitation was taken up.
    InviteAccepted,
    /// An account was confirmed for the first time.
    UserSignedUp,
    /// Somebody was invited.
    UserInvited,
    /// An account was deleted.
    UserDeleted,
    /// A refresh token was given out.
    TokenRefreshed,
    /// A refresh token was revoked.
    TokenRevoked,
    /// Account data changed.
    UserModified,
    /// The password changed.
    UserUpdatedPassword,
    /// A confirmation was asked for.
    UserConfirmationRequested,
    /// Somebody signed up with an address or number that is taken.
    UserRepeatedSignUp,
    /// A recovery or sign-in message was asked for.
    UserRecoveryRequested,
    /// A code to prove oneself again was asked for.
    UserReauthenticateRequested,
    /// An identity was linked.
    IdentityLinked,
    /// An identity was unlinked.
    IdentityUnlinked,
    /// A factor is being set up.
    FactorInProgress,
    /// A challenge of a factor was made.
    ChallengeCreated,
    /// A challenge was answered rightly.
    VerificationAttempted,
    /// A factor was taken away by its owner.
    FactorUnenrolled,
    /// A factor was taken away by the administrator.
    FactorDeleted,
    /// A factor was changed by the administrator.
    FactorUpdated,
    /// A passkey was made.
    PasskeyCreated,
    /// A passkey was renamed.
    PasskeyUpdated,
    /// A passkey was deleted.
    PasskeyDeleted,
}

impl Action {
    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::Logout => "logout",
            Self::InviteAccepted => "invite_accepted",
            Self::UserSignedUp => "user_signedup",
            Self::UserInvited => "user_invited",
            Self::UserDeleted => "user_deleted",
            Self::TokenRefreshed => "token_refreshed",
            Self::TokenRevoked => "token_revoked",
            Self::UserModified => "user_modified",
            Self::UserUpdatedPassword => "user_updated_password",
            Self::UserConfirmationRequested => "user_confirmation_requested",
            Self::UserRepeatedSignUp => "user_repeated_signup",
            Self::UserRecoveryRequested => "user_recovery_requested",
            Self::UserReauthenticateRequested => "user_reauthenticate_requested",
            Self::IdentityLinked => "identity_linked",
            Self::IdentityUnlinked => "identity_unlinked",
            Self::FactorInProgress => "factor_in_progress",
            Self::ChallengeCreated => "challenge_created",
            Self::VerificationAttempted => "verification_attempted",
            Self::FactorUnenrolled => "factor_unenrolled",
            Self::FactorDeleted => "factor_deleted",
            Self::FactorUpdated => "factor_updated",
            Self::PasskeyCreated => "passkey_created",
            Self::PasskeyUpdated => "passkey_updated",
            Self::PasskeyDeleted => "passkey_deleted",
        }
    }

    /// The log it belongs to.
    pub fn log_type(self) -> &'static str {
        match self {
            Self::Login | Self::Logout | Self::InviteAccepted => "account",
            Self::UserSignedUp | Self::UserInvited | Self::UserDeleted => "team",
            Self::TokenRefreshed | Self::TokenRevoked => "token",
            Self::UserModified
            | Self::UserUpdatedPassword
            | Self::UserConfirmationRequested
            | Self::UserRepeatedSignUp
            | Self::UserRecoveryRequested
            | Self::UserReauthenticateRequested
            | Self::IdentityLinked
            | Self::IdentityUnlinked
            | Self::PasskeyCreated
            | Self::PasskeyUpdated
            | Self::PasskeyDeleted => "user",
            Self::FactorInProgress
            | Self::ChallengeCreated
            | Self::VerificationAttempted
            | Self::FactorUnenrolled
            | Self::FactorDeleted
            | Self::FactorUpdated => "factor",
        }
    }
}

/// An action with its traits.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What happened.
    pub action: Action,
    /// More about it; left out when empty.
    pub traits: Map<String, Value>,
}

impl Entry {
    /// An action without traits.
    pub fn of(action: Action) -> Self {
        Self { action, traits: Map::new() }
    }

    /// Whether its row names the address that the request came from (`schema.md`): all that is done with factors, but for
    /// the administrator's changes, all that is done with passkeys, and linking.
    pub fn names_address(&self) -> bool {
        let of_factor = self.action.log_type() == "factor" && self.action != Action::FactorUpdated;
        let of_identity = matches!(self.action, Action::IdentityLinked | Action::IdentityUnlinked);
        of_factor || of_identity || self.traits.contains_key("passkey_id")
    }

    /// The same entry with one more trait.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.traits.insert(name.to_owned(), value.into());
        self
    }
}

/// The payload of a row whose actor is the account.
pub fn payload(actor: &Account, entry: Entry) -> Value {
    let contact = actor.phone.as_deref().or(actor.email.as_deref()).unwrap_or_default();
    let mut payload = json!({ "action": entry.action.as_str(), "actor_id": actor.id });
    let Some(members) = payload.as_object_mut() else { return payload };
    if let Some(name) = actor.user_metadata.get("full_name").filter(|name| !name.is_null()) {
        members.insert("actor_name".to_owned(), name.clone());
    }
    members.insert("actor_username".to_owned(), contact.into());
    members.insert("actor_via_sso".to_owned(), actor.is_sso_user.into());
    members.insert("log_type".to_owned(), entry.action.log_type().into());
    if !entry.traits.is_empty() {
        members.insert("traits".to_owned(), Value::Object(entry.traits));
    }
    payload
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_actor_is_named_by_number_before_address() {
        let mut actor = Account { email: Some("ann@example.com".into()), ..Account::default() };
        let entry = || Entry::of(Action::Login).with("provider", "email");
        assert_eq!(payload(&actor, entry())["actor_username"], "ann@example.com");
        actor.phone = Some("15550100".into());
        assert_eq!(payload(&actor, entry())["actor_username"], "15550100");
    }

    #[test]
    fn a_payload_has_the_reference_s_members_in_its_order() {
        let mut actor = Account { email: Some("ann@example.com".into()), ..Account::default() };
        actor.user_metadata.insert("full_name".into(), "Ann".into());
        let text = payload(&actor, Entry::of(Action::UserSignedUp).with("provider", "email")).to_string();
        assert_eq!(
            text,
            r#"{"action":"user_signedup","actor_id":"00000000-0000-0000-0000-000000000000","actor_name":"Ann","actor_username":"ann@example.com","actor_via_sso":false,"log_type":"team","traits":{"provider":"email"}}"#
        );
    }
}
