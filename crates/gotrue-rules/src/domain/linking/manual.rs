//! Manual linking: which identities a user may link and unlink, and the user's address afterwards.

use foundation::error::{Error, ErrorCode, Result};
use serde_json::Value;
use uuid::Uuid;

use super::super::identity::app_metadata_with_providers;
use super::super::policy::{MfaPolicy, SecurityPolicy};
use super::super::session::Session;
use super::super::step_up::is_step_up_required;
use super::super::user::{Identity, User};

/// Whether the identity's provider verified its address.
pub fn is_email_verified(identity: &Identity) -> bool {
    identity.identity_data.get("email_verified").is_some_and(|verified| *verified == Value::Bool(true))
}

/// Requires manual linking to be enabled: 404.
pub fn require_manual_linking(policy: &SecurityPolicy) -> Result<()> {
    if policy.manual_linking_enabled {
        return Ok(());
    }
    Err(Error::new(ErrorCode::ManualLinkingDisabled, "Manual linking is disabled"))
}

/// Requires AAL2 to link or unlink identities if the policy does and the user has a verified factor.
pub fn require_aal2_for_linking(user: &User, session: Option<&Session>, policy: &MfaPolicy) -> Result<()> {
    if policy.linking_requires_aal2 && is_step_up_required(user, session) {
        let message = "AAL2 session is required to link and unlink identities when MFA is enabled";
        return Err(Error::new(ErrorCode::InsufficientAal, message));
    }
    Ok(())
}

/// Refuses to link an identity that is already linked.
pub fn require_unlinked_identity(owner: Option<Uuid>, user: Uuid) -> Result<()> {
    let message = match owner {
        None => return Ok(()),
        Some(owner) if owner == user => "Identity is already linked",
        Some(_) => "Identity is already linked to another user",
    };
    Err(Error::new(ErrorCode::IdentityAlreadyExists, message))
}

/// Finds the identity to unlink; at least one identity must remain.
pub fn find_unlinkable_identity(user: &User, identity: Uuid) -> Result<&Identity> {
    if user.identities.len() <= 1 {
        let message = "User must have at least 1 identity after unlinking";
        return Err(Error::new(ErrorCode::SingleIdentityNotDeletable, message));
    }
    let found = user.identities.iter().find(|candidate| candidate.id == identity);
    found.ok_or_else(|| Error::new(ErrorCode::IdentityNotFound, "Identity doesn't exist"))
}

/// The outcome of unlinking an identity.
#[derive(Debug)]
pub struct UnlinkingOutcome {
    /// The user before the change.
    pub before: User,
    /// The user after the change.
    pub user: User,
    /// The removed identity.
    pub identity: Identity,
    /// Whether the address changed, which voids all pending requests.
    pub voids_pending_requests: bool,
}

/// Unlinks an identity. `taken` are addresses of other users.
pub fn unlink_identity(
    mut user: User,
    identity: Uuid,
    taken: &[String],
    autoconfirm: bool,
) -> Result<UnlinkingOutcome> {
    let identity = find_unlinkable_identity(&user, identity)?.clone();
    let before = user.clone();
    user.identities.retain(|other| other.id != identity.id);
    user.app_metadata = app_metadata_with_providers(&user);
    let mut forgets = false;
    if identity.provider == "phone" {
        user.phone = None;
        user.phone_confirmed_at = None;
        return Ok(UnlinkingOutcome { before, user, identity, voids_pending_requests: forgets });
    }
    match select_email(user.email.as_deref(), &user.identities, taken, autoconfirm) {
        EmailSelection::Unchanged => {}
        EmailSelection::Changed { email, is_verified } => {
            set_email(&mut user, email, is_verified);
            forgets = true;
        }
        EmailSelection::Conflict => {
            let message = "Unable to unlink identity due to email conflict";
            return Err(Error::new(ErrorCode::EmailConflictIdentityNotDeletable, message));
        }
    }
    Ok(UnlinkingOutcome { before, user, identity, voids_pending_requests: forgets })
}

/// The user's address given the remaining identities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmailSelection {
    /// The address stays.
    Unchanged,
    /// The address becomes that of an identity, or none; pending requests under the old one are void.
    Changed {
        /// The address, lower case.
        email: Option<String>,
        /// Whether it counts as confirmed.
        is_verified: bool,
    },
    /// The addresses of all identities belong to other users.
    Conflict,
}

/// Selects the user's address among these identities.
/// The own address stays while an identity has it; otherwise verified comes before unverified before none, oldest
/// first. `taken` are addresses of other users.
pub fn select_email(
    email: Option<&str>,
    identities: &[Identity],
    taken: &[String],
    autoconfirm: bool,
) -> EmailSelection {
    if identities.iter().any(|identity| non_empty_email(identity) == email) {
        return EmailSelection::Unchanged;
    }
    let rank = |identity: &Identity| match non_empty_email(identity) {
        None => 2,
        Some(_) if !is_email_verified(identity) => 1,
        Some(_) => 0,
    };
    let mut best: Vec<&Identity> = identities.iter().collect();
    best.sort_by_key(|identity| (rank(identity), identity.created_at, identity.id));
    let free =
        |identity: &&Identity| non_empty_email(identity).is_none_or(|email| taken.iter().all(|taken| taken != email));
    let Some(identity) = best.into_iter().find(free) else { return EmailSelection::Conflict };
    let email = non_empty_email(identity).map(str::to_owned);
    let is_verified = email.is_some() && (is_email_verified(identity) || autoconfirm);
    EmailSelection::Changed { email, is_verified }
}

/// Sets the user's address and voids the pending requests under the old one.
pub fn set_email(user: &mut User, email: Option<String>, is_verified: bool) {
    user.email = email;
    clear_pending_requests(user);
    if !is_verified {
        user.email_confirmed_at = None;
        user.user_metadata.insert("email_verified".to_owned(), Value::Bool(false));
    }
}

fn clear_pending_requests(user: &mut User) {
    user.confirmation_token.clear();
    user.confirmation_sent_at = None;
    user.recovery_token.clear();
    user.recovery_sent_at = None;
    user.email_change.clear();
    user.email_change_token_current.clear();
    user.email_change_token_new.clear();
    user.email_change_sent_at = None;
    user.email_change_confirm_status = 0;
    user.phone_change.clear();
    user.phone_change_token.clear();
    user.phone_change_sent_at = None;
    user.reauthentication_token.clear();
    user.reauthentication_sent_at = None;
}

fn non_empty_email(identity: &Identity) -> Option<&str> {
    identity.email.as_deref().filter(|email| !email.is_empty())
}
