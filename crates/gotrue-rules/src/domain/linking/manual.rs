//! Manual linking: which identities a user may link and unlink, and the user's address afterwards.

use serde_json::Value;
use uuid::Uuid;

use super::super::error::{Error, ErrorCode, Result};
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
pub fn require_aal2_for_linking(account: &User, session: Option<&Session>, policy: &MfaPolicy) -> Result<()> {
    if policy.linking_requires_aal2 && is_step_up_required(account, session) {
        let message = "AAL2 session is required to link and unlink identities when MFA is enabled";
        return Err(Error::new(ErrorCode::InsufficientAal, message));
    }
    Ok(())
}

/// Refuses to link an identity that is already linked.
pub fn require_unlinked_identity(owner: Option<Uuid>, account: Uuid) -> Result<()> {
    let message = match owner {
        None => return Ok(()),
        Some(owner) if owner == account => "Identity is already linked",
        Some(_) => "Identity is already linked to another user",
    };
    Err(Error::new(ErrorCode::IdentityAlreadyExists, message))
}

/// Finds the identity to unlink; at least one identity must remain.
pub fn find_unlinkable_identity(account: &User, identity: Uuid) -> Result<&Identity> {
    if account.identities.len() <= 1 {
        let message = "User must have at least 1 identity after unlinking";
        return Err(Error::new(ErrorCode::SingleIdentityNotDeletable, message));
    }
    let found = account.identities.iter().find(|it| it.id == identity);
    found.ok_or_else(|| Error::new(ErrorCode::IdentityNotFound, "Identity doesn't exist"))
}

/// The outcome of unlinking an identity.
#[derive(Debug)]
pub struct UnlinkingOutcome {
    /// The user before the change.
    pub before: User,
    /// The user after the change.
    pub account: User,
    /// The removed identity.
    pub identity: Identity,
    /// Whether the address changed, which voids all pending requests.
    pub voids_pending_requests: bool,
}

/// Unlinks an identity. `taken` are addresses of other users.
pub fn unlink_identity(
    mut account: User,
    identity: Uuid,
    taken: &[String],
    autoconfirm: bool,
) -> Result<UnlinkingOutcome> {
    let identity = find_unlinkable_identity(&account, identity)?.clone();
    let before = account.clone();
    account.identities.retain(|it| it.id != identity.id);
    account.app_metadata = app_metadata_with_providers(&account);
    let mut forgets = false;
    if identity.provider == "phone" {
        account.phone = None;
        account.phone_confirmed_at = None;
        return Ok(UnlinkingOutcome { before, account, identity, voids_pending_requests: forgets });
    }
    match select_email(account.email.as_deref(), &account.identities, taken, autoconfirm) {
        EmailSelection::Unchanged => {}
        EmailSelection::Changed { email, is_verified } => {
            set_email(&mut account, email, is_verified);
            forgets = true;
        }
        EmailSelection::Conflict => {
            let message = "Unable to unlink identity due to email conflict";
            return Err(Error::new(ErrorCode::EmailConflictIdentityNotDeletable, message));
        }
    }
    Ok(UnlinkingOutcome { before, account, identity, voids_pending_requests: forgets })
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
    let free = |it: &&Identity| non_empty_email(it).is_none_or(|email| taken.iter().all(|taken| taken != email));
    let Some(identity) = best.into_iter().find(free) else { return EmailSelection::Conflict };
    let email = non_empty_email(identity).map(str::to_owned);
    let is_verified = email.is_some() && (is_email_verified(identity) || autoconfirm);
    EmailSelection::Changed { email, is_verified }
}

/// Sets the user's address and voids the pending requests under the old one.
pub fn set_email(account: &mut User, email: Option<String>, is_verified: bool) {
    account.email = email;
    clear_pending_requests(account);
    if !is_verified {
        account.email_confirmed_at = None;
        account.user_metadata.insert("email_verified".to_owned(), Value::Bool(false));
    }
}

fn clear_pending_requests(account: &mut User) {
    account.confirmation_token.clear();
    account.confirmation_sent_at = None;
    account.recovery_token.clear();
    account.recovery_sent_at = None;
    account.email_change.clear();
    account.email_change_token_current.clear();
    account.email_change_token_new.clear();
    account.email_change_sent_at = None;
    account.email_change_confirm_status = 0;
    account.phone_change.clear();
    account.phone_change_token.clear();
    account.phone_change_sent_at = None;
    account.reauthentication_token.clear();
    account.reauthentication_sent_at = None;
}

fn non_empty_email(identity: &Identity) -> Option<&str> {
    identity.email.as_deref().filter(|email| !email.is_empty())
}
