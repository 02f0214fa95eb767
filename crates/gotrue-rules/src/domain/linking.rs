//! Decides which user an external identity belongs to.
//! The changes that follow are in [`outcome`]; linking and unlinking by the user are in [`manual`].

pub mod manual;
pub mod outcome;

use std::collections::BTreeMap;

use uuid::Uuid;

use super::external::profile::{ProviderEmail, ProviderProfile};
use super::policy::Policy;
use super::user::{Identity, User};

/// A user as an external provider describes them.
#[derive(Debug, Clone, Copy)]
pub struct ExternalUser<'a> {
    /// The provider's name: `github`, `GitHub`, `custom:x`, `sso:<uuid>`, `web3`, an issuer's URL.
    pub provider: &'a str,
    /// The profile; see [`ProviderProfile::with_primary_email`].
    pub profile: &'a ProviderProfile,
    /// Whether the provider may omit the email address.
    pub email_optional: bool,
}

/// The user that an external identity belongs to.
#[derive(Debug, PartialEq)]
pub enum LinkingDecision {
    /// The identity exists: its user signs in.
    AccountExists(Box<User>),
    /// The identity exists, and another user owns the address that is now verified.
    /// The identity's user signs in without getting the address. Only with `strict_linking`.
    AccountExistsWithoutEmail(Box<User>),
    /// The identity belongs to a user that never signed in, and its address is verified by now.
    /// It moves to the one user that owns the address. Only with `strict_linking`.
    MoveIdentity {
        /// The user that owns the address.
        to: Box<User>,
        /// The user that loses the identity.
        from: Uuid,
        /// The identity's id.
        identity: Uuid,
    },
    /// No user has the address: a new user, with the address if there is one.
    CreateAccount {
        /// The address of the new user, lower case.
        email: Option<String>,
    },
    /// Another user has the address, which the provider has not verified: a new user without an address.
    CreateAccountWithoutEmail,
    /// One user has a verified address of the profile: the identity is linked to that user.
    LinkAccount(Box<User>),
    /// Several users have such addresses.
    MultipleAccounts,
}

impl LinkingDecision {
    /// The name in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AccountExists(_) => "linking.exists",
            Self::AccountExistsWithoutEmail(_) => "linking.beside",
            Self::MoveIdentity { .. } => "linking.move",
            Self::CreateAccount { .. } => "linking.create",
            Self::CreateAccountWithoutEmail => "linking.create_without_email",
            Self::LinkAccount(_) => "linking.link",
            Self::MultipleAccounts => "linking.several",
        }
    }
}

/// The linking domain of most providers.
pub const DEFAULT_LINKING_DOMAIN: &str = "default";

/// The linking domain of a provider; identities are linked within one domain only.
/// Each SSO provider is its own domain; the operator may configure others.
pub fn linking_domain<'a>(provider: &'a str, domains: &'a BTreeMap<String, String>) -> &'a str {
    if provider.starts_with("sso:") {
        return provider;
    }
    domains.get(provider).map_or(DEFAULT_LINKING_DOMAIN, String::as_str)
}

impl ExternalUser<'_> {
    /// The linking domain of the provider.
    pub fn linking_domain<'a>(&'a self, policy: &'a Policy) -> &'a str {
        linking_domain(self.provider, &policy.experimental.provider_linking_domains)
    }

    /// The address of a new user: the last primary one, if any.
    /// It may be empty: some providers verify a user without returning the address.
    pub fn candidate_email(&self) -> Option<&ProviderEmail> {
        self.profile.emails.iter().rfind(|email| email.primary)
    }

    /// The candidate address in lower case, if it is not empty.
    pub fn candidate_address(&self) -> Option<String> {
        self.candidate_email().filter(|email| !email.address.is_empty()).map(|email| email.address.to_lowercase())
    }

    /// The addresses that may link the identity to an existing user, lower case.
    pub fn linkable_emails(&self, policy: &Policy) -> Vec<String> {
        let counts = |email: &&ProviderEmail| email.verified || links_unverified_emails(policy);
        let emails = self.profile.emails.iter().filter(|email| !email.address.is_empty());
        emails.filter(counts).map(|email| email.address.to_lowercase()).collect()
    }

    /// All addresses whose owners [`decide`] needs, lower case.
    pub fn lookup_emails(&self, policy: &Policy) -> Vec<String> {
        let mut emails = self.linkable_emails(policy);
        emails.extend(self.candidate_address());
        emails.sort();
        emails.dedup();
        emails
    }

    /// Whether the candidate address needs no confirmation by this server.
    pub fn is_candidate_verified(&self, policy: &Policy) -> bool {
        policy.mail.autoconfirm || self.candidate_email().is_some_and(|email| email.verified)
    }
}

/// Whether unverified addresses link too: with `autoconfirm` and without `strict_linking`.
fn links_unverified_emails(policy: &Policy) -> bool {
    policy.mail.autoconfirm && !policy.security.is_linking_strict
}

/// Decides, given the users that have the identity or any of [`ExternalUser::lookup_emails`].
pub fn decide(external_user: &ExternalUser<'_>, known: Vec<User>, audience: &str, policy: &Policy) -> LinkingDecision {
    let is_the = |identity: &Identity| {
        identity.provider == external_user.provider && identity.provider_id == external_user.profile.claims.subject
    };
    if let Some(at) = known.iter().position(|user| user.identities.iter().any(is_the)) {
        let mut known = known;
        let user = known.remove(at);
        return if policy.security.is_linking_strict && user.email.is_none() {
            decide_for_known_identity(external_user, user, known, policy)
        } else {
            LinkingDecision::AccountExists(Box::new(user))
        };
    }
    match find_email_owners(external_user, &known, policy)[..] {
        [] => decide_creation(external_user, &known, audience, policy),
        [at] => known
            .into_iter()
            .nth(at)
            .map_or(LinkingDecision::MultipleAccounts, |user| LinkingDecision::LinkAccount(Box::new(user))),
        _ => LinkingDecision::MultipleAccounts,
    }
}

/// Decides for a known identity whose user has no email address.
/// Another user may own an address that is verified by now. A user that has signed in, has a phone number or is
/// anonymous keeps the identity.
fn decide_for_known_identity(
    external_user: &ExternalUser<'_>,
    user: User,
    mut others: Vec<User>,
    policy: &Policy,
) -> LinkingDecision {
    let was_never_used = user.last_sign_in_at.is_none() && user.phone.is_none() && !user.is_anonymous;
    match (&find_email_owners(external_user, &others, policy)[..], &user.identities[..]) {
        ([], _) => LinkingDecision::AccountExists(Box::new(user)),
        ([at], [identity]) if was_never_used => LinkingDecision::MoveIdentity {
            to: Box::new(others.swap_remove(*at)),
            from: user.id,
            identity: identity.id,
        },
        _ => LinkingDecision::AccountExistsWithoutEmail(Box::new(user)),
    }
}

/// The indexes of the users that own a linkable address.
fn find_email_owners(external_user: &ExternalUser<'_>, known: &[User], policy: &Policy) -> Vec<usize> {
    let emails = external_user.linkable_emails(policy);
    if emails.is_empty() { Vec::new() } else { find_linkable_accounts(external_user, known, &emails, policy) }
}

/// The indexes of the users that an identity with one of these addresses can be linked to.
/// These are the users with a matching identity in the same domain; without any, those with a matching own address.
/// With `strict_linking` a single owner of the address takes precedence over several users with a matching identity.
fn find_linkable_accounts(
    external_user: &ExternalUser<'_>,
    known: &[User],
    emails: &[String],
    policy: &Policy,
) -> Vec<usize> {
    let domain = external_user.linking_domain(policy);
    let by_identity = |user: &User| {
        let near = |identity: &&Identity| {
            identity_domain(identity, policy) == domain && contains_email(identity.email.as_deref(), emails)
        };
        let mut found = user.identities.iter().filter(near);
        found.any(|identity| !policy.security.is_linking_strict || is_email_proven(user, identity))
    };
    let by_itself = |user: &User| !user.is_sso_user && contains_email(user.email.as_deref(), emails);
    let found = matching_indexes(known, by_identity);
    if domain != DEFAULT_LINKING_DOMAIN || found.len() == 1 || !(found.is_empty() || policy.security.is_linking_strict)
    {
        return found;
    }
    let own = matching_indexes(known, by_itself);
    if found.is_empty() || own.len() == 1 { own } else { found }
}

fn matching_indexes(known: &[User], has: impl Fn(&User) -> bool) -> Vec<usize> {
    known.iter().enumerate().filter(|(_, user)| has(user)).map(|(at, _)| at).collect()
}

fn contains_email(email: Option<&str>, emails: &[String]) -> bool {
    email.is_some_and(|email| emails.iter().any(|candidate| candidate == email))
}

fn identity_domain<'a>(identity: &'a Identity, policy: &'a Policy) -> &'a str {
    linking_domain(&identity.provider, &policy.experimental.provider_linking_domains)
}

/// Whether an identity's address is verified or is the user's own address.
/// The user's own address, if unconfirmed, is handed over to the verified owner.
fn is_email_proven(user: &User, identity: &Identity) -> bool {
    manual::is_email_verified(identity) || identity.email == user.email
}

/// Decides on a new user. An unverified address stays with the user that already has it.
fn decide_creation(
    external_user: &ExternalUser<'_>,
    known: &[User],
    audience: &str,
    policy: &Policy,
) -> LinkingDecision {
    let Some(email) = external_user.candidate_address() else { return LinkingDecision::CreateAccount { email: None } };
    let is_vouched_for = external_user.linkable_emails(policy).contains(&email);
    if !is_vouched_for && known.iter().any(|user| owns_email_in_default_domain(user, &email, audience, policy)) {
        return LinkingDecision::CreateAccountWithoutEmail;
    }
    LinkingDecision::CreateAccount { email: Some(email) }
}

fn owns_email_in_default_domain(user: &User, email: &str, audience: &str, policy: &Policy) -> bool {
    let by_identity = |identity: &Identity| {
        identity.email.as_deref() == Some(email) && identity_domain(identity, policy) == DEFAULT_LINKING_DOMAIN
    };
    let by_itself =
        !user.is_sso_user && user.email.as_deref().is_some_and(|own_email| own_email.to_lowercase() == email);
    user.aud == audience && (by_itself || user.identities.iter().any(by_identity))
}

#[cfg(test)]
mod tests;
