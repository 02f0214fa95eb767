//! Which account somebody belongs to whom a provider vouches for (`endpoints.md` §11.5). What becomes of it is in
//! [`joining`], for what its owner does by hand in [`by_hand`].

pub mod by_hand;
pub mod joining;

use std::collections::BTreeMap;

use uuid::Uuid;

use super::external::profile::{Profile, ProviderEmail};
use super::policy::Policy;
use super::user::{Account, Identity};

/// Somebody whom a provider vouches for.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// The provider as the flow carries it: `github`, `GitHub`, `custom:x`, `sso:<uuid>`, `web3`, an issuer's URL.
    pub provider: &'a str,
    /// What it says of the person; [`Profile::settled`].
    pub profile: &'a Profile,
    /// The provider need not tell an address.
    pub email_optional: bool,
}

/// Whose account it is.
#[derive(Debug, PartialEq)]
pub enum Decision {
    /// The person has been here: the account of that identity.
    Exists(Box<Account>),
    /// The person has been here, and the address that the provider vouches for by now is somebody else's: the account of
    /// that identity, which gets no address by it. Only where joining is strict.
    Beside(Box<Account>),
    /// The identity waits at an account that nobody was ever in, since the provider did not vouch for its address; by now it
    /// does: the identity moves to the one account that has the address. Only where joining is strict.
    Move {
        /// The account that has the address.
        to: Box<Account>,
        /// The account that the identity leaves.
        from: Uuid,
        /// The identity.
        identity: Uuid,
    },
    /// Nobody has the address: a new account, with it if there is one.
    Create {
        /// The address of the new account, lower case.
        email: Option<String>,
    },
    /// Somebody else has the address, which the provider does not vouch for: a new account without an address.
    CreateWithoutEmail,
    /// One account has an address that the provider vouches for: the identity is linked to it.
    Link(Box<Account>),
    /// Several accounts have such addresses.
    Several,
}

impl Decision {
    /// As the journal names it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exists(_) => "linking.exists",
            Self::Beside(_) => "linking.beside",
            Self::Move { .. } => "linking.move",
            Self::Create { .. } => "linking.create",
            Self::CreateWithoutEmail => "linking.create_without_email",
            Self::Link(_) => "linking.link",
            Self::Several => "linking.several",
        }
    }
}

/// The linking domain that most providers share.
pub const DEFAULT_DOMAIN: &str = "default";

/// Accounts are joined within a domain only: each single sign-on is one of its own, the operator may make others.
pub fn domain<'a>(provider: &'a str, domains: &'a BTreeMap<String, String>) -> &'a str {
    if provider.starts_with("sso:") {
        return provider;
    }
    domains.get(provider).map_or(DEFAULT_DOMAIN, String::as_str)
}

impl Arrival<'_> {
    /// The linking domain of the provider.
    pub fn domain<'a>(&'a self, policy: &'a Policy) -> &'a str {
        domain(self.provider, &policy.experimental.provider_linking_domains)
    }

    /// The address that a new account gets: the primary one; none if none is marked so. Of several, the last. It may be
    /// empty: some providers vouch for a user whose address they do not tell.
    pub fn candidate(&self) -> Option<&ProviderEmail> {
        self.profile.emails.iter().rfind(|email| email.primary)
    }

    /// The candidate's address in lower case, if it is told.
    pub fn candidate_address(&self) -> Option<String> {
        self.candidate().filter(|email| !email.address.is_empty()).map(|email| email.address.to_lowercase())
    }

    /// The addresses by which accounts are joined, lower case.
    pub fn joining_emails(&self, policy: &Policy) -> Vec<String> {
        let counts = |email: &&ProviderEmail| email.verified || autoconfirm_joins(policy);
        let emails = self.profile.emails.iter().filter(|email| !email.address.is_empty());
        emails.filter(counts).map(|email| email.address.to_lowercase()).collect()
    }

    /// All addresses that a decision looks at, lower case.
    pub fn emails(&self, policy: &Policy) -> Vec<String> {
        let mut emails = self.joining_emails(policy);
        emails.extend(self.candidate_address());
        emails.sort();
        emails.dedup();
        emails
    }

    /// Whether the candidate needs no confirmation of ours.
    pub fn is_vouched_for(&self, policy: &Policy) -> bool {
        policy.mail.autoconfirm || self.candidate().is_some_and(|email| email.verified)
    }
}

/// Where nobody confirms an address, an unverified one of a provider joins accounts too, unless joining is strict.
fn autoconfirm_joins(policy: &Policy) -> bool {
    policy.mail.autoconfirm && !policy.security.strict_linking
}

/// Decides, knowing the accounts that have the identity or any of [`Arrival::emails`] in whichever way.
pub fn decide(arrival: &Arrival<'_>, known: Vec<Account>, audience: &str, policy: &Policy) -> Decision {
    let is_the = |identity: &Identity| {
        identity.provider == arrival.provider && identity.provider_id == arrival.profile.claims.subject
    };
    if let Some(at) = known.iter().position(|account| account.identities.iter().any(is_the)) {
        let mut known = known;
        let account = known.remove(at);
        return if policy.security.strict_linking && account.email.is_none() {
            again(arrival, account, known, policy)
        } else {
            Decision::Exists(Box::new(account))
        };
    }
    match owners(arrival, &known, policy)[..] {
        [] => create(arrival, &known, audience, policy),
        [at] => known.into_iter().nth(at).map_or(Decision::Several, |it| Decision::Link(Box::new(it))),
        _ => Decision::Several,
    }
}

/// Somebody comes back to an account without an address, which one of the others may have that the provider vouches for
/// by now. An account that somebody was in, or can be called by, stays theirs.
fn again(arrival: &Arrival<'_>, account: Account, mut others: Vec<Account>, policy: &Policy) -> Decision {
    let was_never_used = account.last_sign_in_at.is_none() && account.phone.is_none() && !account.is_anonymous;
    match (&owners(arrival, &others, policy)[..], &account.identities[..]) {
        ([], _) => Decision::Exists(Box::new(account)),
        ([at], [identity]) if was_never_used => {
            Decision::Move { to: Box::new(others.swap_remove(*at)), from: account.id, identity: identity.id }
        }
        _ => Decision::Beside(Box::new(account)),
    }
}

/// The accounts that have an address that the provider vouches for.
fn owners(arrival: &Arrival<'_>, known: &[Account], policy: &Policy) -> Vec<usize> {
    let emails = arrival.joining_emails(policy);
    if emails.is_empty() { Vec::new() } else { joinable(arrival, known, &emails, policy) }
}

/// The accounts that an identity in the same domain has the address for; if there are none, those that have it
/// themselves. Where joining is strict, who has it themselves comes before several who have it by an identity.
fn joinable(arrival: &Arrival<'_>, known: &[Account], emails: &[String], policy: &Policy) -> Vec<usize> {
    let domain = arrival.domain(policy);
    let by_identity = |account: &Account| {
        let near = |it: &&Identity| domain_of(it, policy) == domain && is_among(it.email.as_deref(), emails);
        let mut found = account.identities.iter().filter(near);
        found.any(|identity| !policy.security.strict_linking || is_proved(account, identity))
    };
    let by_itself = |account: &Account| !account.is_sso_user && is_among(account.email.as_deref(), emails);
    let found = positions(known, by_identity);
    if domain != DEFAULT_DOMAIN || found.len() == 1 || !(found.is_empty() || policy.security.strict_linking) {
        return found;
    }
    let own = positions(known, by_itself);
    if found.is_empty() || own.len() == 1 { own } else { found }
}

fn positions(known: &[Account], has: impl Fn(&Account) -> bool) -> Vec<usize> {
    known.iter().enumerate().filter(|(_, account)| has(account)).map(|(at, _)| at).collect()
}

fn is_among(email: Option<&str>, emails: &[String]) -> bool {
    email.is_some_and(|email| emails.iter().any(|it| it == email))
}

fn domain_of<'a>(identity: &'a Identity, policy: &'a Policy) -> &'a str {
    domain(&identity.provider, &policy.experimental.provider_linking_domains)
}

/// Whether an identity's address is more than a claim: its provider vouched for it, or it is the account's own, which is
/// handed over to its owner as long as it is unconfirmed.
fn is_proved(account: &Account, identity: &Identity) -> bool {
    by_hand::is_email_verified(identity) || identity.email == account.email
}

/// An address that the provider does not vouch for is left to whoever has it.
fn create(arrival: &Arrival<'_>, known: &[Account], audience: &str, policy: &Policy) -> Decision {
    let Some(email) = arrival.candidate_address() else { return Decision::Create { email: None } };
    let is_vouched_for = arrival.joining_emails(policy).contains(&email);
    if !is_vouched_for && known.iter().any(|account| has_in_default_domain(account, &email, audience, policy)) {
        return Decision::CreateWithoutEmail;
    }
    Decision::Create { email: Some(email) }
}

fn has_in_default_domain(account: &Account, email: &str, audience: &str, policy: &Policy) -> bool {
    let by_identity = |it: &Identity| it.email.as_deref() == Some(email) && domain_of(it, policy) == DEFAULT_DOMAIN;
    let by_itself = !account.is_sso_user && account.email.as_deref().is_some_and(|it| it.to_lowercase() == email);
    account.aud == audience && (by_itself || account.identities.iter().any(by_identity))
}

#[cfg(test)]
mod tests;
