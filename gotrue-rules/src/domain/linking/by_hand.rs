//! What an owner does with identities by hand (`endpoints.md` §11.4, `DELETE /user/identities`): which may be linked and
//! unlinked, and the address that an account has by its identities.

use serde_json::Value;
use uuid::Uuid;

use super::super::error::{Error, Result};
use super::super::identity::with_providers;
use super::super::session::{Aal, Session};
use super::super::user::{Account, Identity};

/// Whether the identity's provider vouched for its address.
pub fn is_email_verified(identity: &Identity) -> bool {
    identity.identity_data.get("email_verified").is_some_and(|verified| *verified == Value::Bool(true))
}

/// Whether the caller may change what the account is entered by: who has a second factor must have used it.
pub fn may_manage(account: &Account, session: Option<&Session>) -> Result<()> {
    if account.has_verified_factor() && session.is_none_or(|session| session.aal < Aal::Aal2) {
        let message = "AAL2 session is required to link and unlink identities when MFA is enabled";
        return Err(Error::forbidden("insufficient_aal", message));
    }
    Ok(())
}

/// Refuses to link an identity that belongs to somebody already.
pub fn require_free(owner: Option<Uuid>, account: Uuid) -> Result<()> {
    let message = match owner {
        None => return Ok(()),
        Some(owner) if owner == account => "Identity is already linked",
        Some(_) => "Identity is already linked to another user",
    };
    Err(Error::unprocessable("identity_already_exists", message))
}

/// The identity of the account that may be unlinked: one must remain.
pub fn unlinkable(account: &Account, identity: Uuid) -> Result<&Identity> {
    if account.identities.len() <= 1 {
        let message = "User must have at least 1 identity after unlinking";
        return Err(Error::unprocessable("single_identity_not_deletable", message));
    }
    let found = account.identities.iter().find(|it| it.id == identity);
    found.ok_or_else(|| Error::unprocessable("identity_not_found", "Identity doesn't exist"))
}

/// What remains of an account without one of its identities.
#[derive(Debug)]
pub struct Parting {
    /// The account as it is then.
    pub account: Account,
    /// The identity that is unlinked.
    pub identity: Identity,
    /// The address is another one now: whatever was asked for is void.
    pub forgets: bool,
}

/// What remains of an account without that identity. `taken` are addresses that others have.
pub fn part(mut account: Account, identity: Uuid, taken: &[String], autoconfirm: bool) -> Result<Parting> {
    let identity = unlinkable(&account, identity)?.clone();
    account.identities.retain(|it| it.id != identity.id);
    account.app_metadata = with_providers(&account);
    let mut forgets = false;
    if identity.provider == "phone" {
        account.phone = None;
        account.phone_confirmed_at = None;
        return Ok(Parting { account, identity, forgets });
    }
    match address(account.email.as_deref(), &account.identities, taken, autoconfirm) {
        Address::Same => {}
        Address::Becomes { email, is_verified } => {
            adopt(&mut account, email, is_verified);
            forgets = true;
        }
        Address::Conflict => {
            let message = "Unable to unlink identity due to email conflict";
            return Err(Error::unprocessable("email_conflict_identity_not_deletable", message));
        }
    }
    Ok(Parting { account, identity, forgets })
}

/// The address of an account by its identities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// It stays.
    Same,
    /// It becomes that of an identity, or none. What was asked for under the old one is void.
    Becomes {
        /// The address, lower case.
        email: Option<String>,
        /// Whether it is as good as confirmed.
        is_verified: bool,
    },
    /// The addresses of all identities belong to others.
    Conflict,
}

/// The address that an account has by these identities: its own while one of them has it, else that of the best: vouched
/// for before claimed before none, the oldest first. `taken` are addresses that others have.
pub fn address(email: Option<&str>, identities: &[Identity], taken: &[String], autoconfirm: bool) -> Address {
    if identities.iter().any(|identity| address_of(identity) == email) {
        return Address::Same;
    }
    let rank = |identity: &Identity| match address_of(identity) {
        None => 2,
        Some(_) if !is_email_verified(identity) => 1,
        Some(_) => 0,
    };
    let mut best: Vec<&Identity> = identities.iter().collect();
    best.sort_by_key(|identity| (rank(identity), identity.created_at, identity.id));
    let free = |it: &&Identity| address_of(it).is_none_or(|email| taken.iter().all(|taken| taken != email));
    let Some(identity) = best.into_iter().find(free) else { return Address::Conflict };
    let email = address_of(identity).map(str::to_owned);
    let is_verified = email.is_some() && (is_email_verified(identity) || autoconfirm);
    Address::Becomes { email, is_verified }
}

/// Gives the account an address by its identities; what was asked for under the old one is void.
pub fn adopt(account: &mut Account, email: Option<String>, is_verified: bool) {
    account.email = email;
    forget_pending(account);
    if !is_verified {
        account.email_confirmed_at = None;
        account.user_metadata.insert("email_verified".to_owned(), Value::Bool(false));
    }
}

fn forget_pending(account: &mut Account) {
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

fn address_of(identity: &Identity) -> Option<&str> {
    identity.email.as_deref().filter(|email| !email.is_empty())
}
