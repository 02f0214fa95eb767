//! Audit log entries: actions, their log type, and the payload of a row of `audit_log_entries`.

use serde_json::{Map, Value, json};

use super::user::User;

/// An audited action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditAction {
    /// A session was created.
    Login,
    /// The user ended sessions.
    Logout,
    /// An invitation was accepted.
    InviteAccepted,
    /// A user was confirmed for the first time.
    UserSignedUp,
    /// A user was invited.
    UserInvited,
    /// A user was deleted.
    UserDeleted,
    /// A refresh token was issued.
    TokenRefreshed,
    /// A refresh token was revoked.
    TokenRevoked,
    /// User data changed.
    UserModified,
    /// The password changed.
    UserUpdatedPassword,
    /// A confirmation was requested.
    UserConfirmationRequested,
    /// A sign-up used an address or number of an existing user.
    UserRepeatedSignUp,
    /// A recovery or sign-in message was requested.
    UserRecoveryRequested,
    /// A reauthentication code was requested.
    UserReauthenticateRequested,
    /// An identity was linked.
    IdentityLinked,
    /// An identity was unlinked.
    IdentityUnlinked,
    /// A factor enrollment started.
    FactorInProgress,
    /// A factor challenge was created.
    ChallengeCreated,
    /// A factor challenge was verified.
    VerificationAttempted,
    /// The user unenrolled a factor.
    FactorUnenrolled,
    /// An administrator deleted a factor.
    FactorDeleted,
    /// An administrator updated a factor.
    FactorUpdated,
    /// Recovery codes were generated.
    RecoveryCodesGenerated,
    /// A recovery code was verified.
    RecoveryCodesVerified,
    /// Recovery codes were replaced.
    RecoveryCodesRegenerated,
    /// The user deleted the recovery codes.
    RecoveryCodesDeleted,
    /// A passkey was created.
    PasskeyCreated,
    /// A passkey was renamed.
    PasskeyUpdated,
    /// A passkey was deleted.
    PasskeyDeleted,
}

impl AuditAction {
    /// Returns the value of `action`.
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
            Self::RecoveryCodesGenerated => "recovery_codes_generated",
            Self::RecoveryCodesVerified => "recovery_codes_verified",
            Self::RecoveryCodesRegenerated => "recovery_codes_regenerated",
            Self::RecoveryCodesDeleted => "recovery_codes_deleted",
            Self::PasskeyCreated => "passkey_created",
            Self::PasskeyUpdated => "passkey_updated",
            Self::PasskeyDeleted => "passkey_deleted",
        }
    }

    /// Returns the value of `log_type`.
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
            | Self::FactorUpdated
            | Self::RecoveryCodesGenerated
            | Self::RecoveryCodesVerified
            | Self::RecoveryCodesRegenerated
            | Self::RecoveryCodesDeleted => "factor",
        }
    }
}

/// An audited action with its traits.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    pub action: AuditAction,
    /// Additional members; omitted when empty.
    pub traits: Map<String, Value>,
}

impl AuditEntry {
    /// Creates an entry without traits.
    pub fn new(action: AuditAction) -> Self {
        Self { action, traits: Map::new() }
    }

    /// Whether the row contains the client address.
    /// It does for factor actions except an administrator's updates, passkey actions, and linking.
    pub fn has_client_address(&self) -> bool {
        let of_factor = self.action.log_type() == "factor" && self.action != AuditAction::FactorUpdated;
        let of_identity = matches!(self.action, AuditAction::IdentityLinked | AuditAction::IdentityUnlinked);
        of_factor || of_identity || self.traits.contains_key("passkey_id")
    }

    /// Returns the entry with an additional trait.
    #[must_use]
    pub fn with_trait(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.traits.insert(name.to_owned(), value.into());
        self
    }
}

/// Builds the payload of a row whose actor is the user.
pub fn build_audit_payload(actor: &User, entry: AuditEntry) -> Value {
    let contact = actor.phone.as_deref().or(actor.email.as_deref()).unwrap_or_default();
    let mut payload = json!({ "action": entry.action.as_str(), "actor_id": actor.id });
    let Some(members) = payload.as_object_mut() else { return payload };
    if let Some(name) = actor.user_metadata.get("full_name") {
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
    fn actor_username_prefers_phone_over_email() {
        let mut actor = User { email: Some("ann@example.com".into()), ..User::default() };
        let entry = || AuditEntry::new(AuditAction::Login).with_trait("provider", "email");
        assert_eq!(build_audit_payload(&actor, entry())["actor_username"], "ann@example.com");
        actor.phone = Some("15550100".into());
        assert_eq!(build_audit_payload(&actor, entry())["actor_username"], "15550100");
    }

    #[test]
    fn payload_has_members_and_order_of_gotrue() {
        let mut actor = User { email: Some("ann@example.com".into()), ..User::default() };
        actor.user_metadata.insert("full_name".into(), "Ann".into());
        let text =
            build_audit_payload(&actor, AuditEntry::new(AuditAction::UserSignedUp).with_trait("provider", "email"))
                .to_string();
        assert_eq!(
            text,
            r#"{"action":"user_signedup","actor_id":"00000000-0000-0000-0000-000000000000","actor_name":"Ann","actor_username":"ann@example.com","actor_via_sso":false,"log_type":"team","traits":{"provider":"email"}}"#
        );
    }
}
