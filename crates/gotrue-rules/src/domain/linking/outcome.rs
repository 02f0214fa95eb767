//! Computes the changes to a user when an external identity signs in or is linked.

use foundation::error::{Error, ErrorCode, OAuthErrorCode, Result};
use foundation::time::Time;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::super::audit::{AuditAction, AuditEntry};
use super::super::ban::{BannedAttempt, require_not_banned};
use super::super::identity::{app_metadata_with_providers, merge_metadata};
use super::super::policy::Policy;
use super::super::sign_up::require_sign_up_enabled;
use super::super::user::{Identity, User};
use super::{DEFAULT_LINKING_DOMAIN, ExternalUser, LinkingDecision, manual};

/// The changes to a user.
#[derive(Debug)]
pub struct LinkingOutcome {
    /// The user before the change; a new user as it is created.
    pub before: User,
    /// The user after the change.
    pub user: User,
    /// The identity that signed in, one of the user's.
    pub identity: Uuid,
    /// The identities before the change: the response shows these unless they are removed.
    pub previous_identities: Vec<Identity>,
    /// The user that the identity was moved from.
    pub moved_from: Option<Uuid>,
    /// Whether the user is created.
    pub is_new: bool,
    /// Whether the password and all other identities are removed: the address was not proven before.
    pub removes_other_credentials: bool,
    /// Whether sessions, factors, passkeys and the phone number are removed as well.
    pub resets_account: bool,
    /// Whether the address is now confirmed, which voids one-time tokens.
    pub confirms_email: bool,
    /// Whether the address changed, which voids all pending requests.
    pub voids_pending_requests: bool,
    /// The audit log entries.
    pub audit_entries: Vec<AuditEntry>,
    /// Whether a confirmation e-mail is sent to the user's address.
    pub sends_confirmation: bool,
    /// The error to respond with although the changes are committed.
    pub error: Option<Error>,
}

/// Server-chosen values of a new user.
#[derive(Debug, Clone)]
pub struct NewAccount {
    /// The user's id.
    pub id: Uuid,
    pub audience: String,
    /// The current time.
    pub now: Time,
}

/// Server-chosen values of a new identity.
#[derive(Debug, Clone, Copy)]
pub struct NewIdentity {
    /// The row's id.
    pub id: Uuid,
    /// The current time.
    pub now: Time,
}

/// Applies a linking decision. `new` and `identity_id` are used for created rows.
pub fn apply_decision(
    external_user: &ExternalUser<'_>,
    decision: LinkingDecision,
    new: NewAccount,
    identity_id: Uuid,
    policy: &Policy,
) -> Result<LinkingOutcome> {
    require_subject(external_user)?;
    let now = new.now;
    let mut outcome = match decision {
        LinkingDecision::AccountExists(user) => sign_in_existing(external_user, *user, now),
        LinkingDecision::AccountExistsWithoutEmail(user) => {
            let mut outcome = sign_in_existing(external_user, *user, now);
            require_not_banned(&outcome.user, BannedAttempt::Access, now)?;
            outcome
                .audit_entries
                .push(AuditEntry::new(AuditAction::Login).with_trait("provider", external_user.provider));
            return Ok(outcome);
        }
        LinkingDecision::LinkAccount(user) => link_to_account(external_user, *user, identity_id, now),
        LinkingDecision::MoveIdentity { to, from, identity } => {
            LinkingOutcome { moved_from: Some(from), ..link_to_account(external_user, *to, identity, now) }
        }
        LinkingDecision::CreateAccount { email } => create_account(external_user, email, new, identity_id, policy)?,
        LinkingDecision::CreateAccountWithoutEmail => create_account(external_user, None, new, identity_id, policy)?,
        LinkingDecision::MultipleAccounts => {
            let domain = external_user.linking_domain(policy);
            let what = "Multiple accounts with the same email address in the same linking domain detected";
            return Err(Error::internal(format!("{what}: {domain}")));
        }
    };
    require_not_banned(&outcome.user, BannedAttempt::Access, now)?;
    let (is_confirmed, has_email) =
        (outcome.user.is_email_confirmed(), requires_email_confirmation(external_user, &outcome));
    if is_confirmed || !has_email {
        outcome.audit_entries.push(AuditEntry::new(AuditAction::Login).with_trait("provider", external_user.provider));
        return Ok(outcome);
    }
    remove_other_credentials(&mut outcome);
    if resolve_verified_email(&mut outcome.user, external_user, policy) {
        outcome
            .audit_entries
            .push(AuditEntry::new(AuditAction::UserSignedUp).with_trait("provider", external_user.provider));
        outcome.resets_account = policy.security.is_linking_strict && !outcome.is_new;
        confirm_email(&mut outcome, now);
        return Ok(outcome);
    }
    require_confirmation(&mut outcome, external_user, policy);
    Ok(outcome)
}

/// Accepts an invitation by signing in with an external provider.
/// As in the reference the invited address is compared case-sensitively, unless `strict_linking` is set.
pub fn accept_invitation(
    external_user: &ExternalUser<'_>,
    invited: User,
    NewIdentity { id, now }: NewIdentity,
    policy: &Policy,
) -> Result<LinkingOutcome> {
    require_subject(external_user)?;
    let is_invited = |address: &str| match invited.email.as_deref() {
        Some(email) if policy.security.is_linking_strict => email == address.to_lowercase(),
        email => email == Some(address),
    };
    if !external_user.profile.emails.iter().any(|email| is_invited(&email.address)) {
        return Err(Error::invalid("Invited email does not match emails from external provider"));
    }
    let mut outcome = link_to_account(external_user, invited, id, now);
    outcome.audit_entries =
        vec![AuditEntry::new(AuditAction::InviteAccepted).with_trait("provider", external_user.provider)];
    remove_other_credentials(&mut outcome);
    confirm_email(&mut outcome, now);
    Ok(outcome)
}

/// Links an identity to the signed-in user. `is_taken`: another user has the identity's address.
pub fn link_identity(
    external_user: &ExternalUser<'_>,
    user: User,
    is_taken: bool,
    NewIdentity { id, now }: NewIdentity,
    policy: &Policy,
) -> Result<LinkingOutcome> {
    require_subject(external_user)?;
    let has_nameless = user.identities.iter().any(|identity| identity.email.is_none());
    let (user_metadata, app_metadata) = (user.user_metadata.clone(), user.app_metadata.clone());
    let mut outcome = link_to_account(external_user, user, id, now);
    outcome.user.user_metadata = user_metadata;
    let user = &mut outcome.user;
    if user.email.is_some() {
        return Ok(outcome);
    }
    let email = user.identities.last().and_then(|identity| identity.email.clone());
    if email.is_none() || (is_taken && has_nameless) {
        // A linked identity ends the anonymous state, even without an address. A taken address stays with its owner.
        user.is_anonymous = false;
        if external_user.profile.claims.email_verified && !policy.security.is_linking_strict {
            confirm_email(&mut outcome, now);
        }
        return Ok(outcome);
    }
    outcome.voids_pending_requests = true;
    manual::set_email(user, email, external_user.profile.claims.email_verified || policy.mail.autoconfirm);
    if external_user.profile.claims.email_verified {
        user.is_anonymous = false;
        confirm_email(&mut outcome, now);
        return Ok(outcome);
    }
    outcome.sends_confirmation = true;
    outcome.user.app_metadata = app_metadata;
    let (provider, sentence) = (external_user.provider, "A confirmation email has been sent to your");
    let message = format!("Unverified email with {provider}. {sentence} {provider} email");
    outcome.error = Some(Error::http(422, ErrorCode::EmailNotConfirmed, message));
    Ok(outcome)
}

/// Requires an id at the provider: otherwise all users without one would share an identity.
pub fn require_subject(external_user: &ExternalUser<'_>) -> Result<()> {
    if external_user.profile.claims.subject.is_empty() {
        return Err(Error::oauth(OAuthErrorCode::ServerError, "error missing provider id"));
    }
    Ok(())
}

/// Builds a new user as the before-user-created hook receives it and as it is inserted.
pub fn build_account(
    external_user: &ExternalUser<'_>,
    email: Option<String>,
    new: NewAccount,
    policy: &Policy,
) -> User {
    let NewAccount { id, audience, now } = new;
    let provider = external_user.provider;
    User {
        id,
        aud: audience,
        role: policy.jwt.default_group.clone(),
        email,
        app_metadata: Map::from_iter([
            ("provider".to_owned(), json!(provider)),
            ("providers".to_owned(), json!([provider])),
        ]),
        user_metadata: external_user.profile.claims.identity_data(),
        is_sso_user: external_user.linking_domain(policy) != DEFAULT_LINKING_DOMAIN,
        created_at: now,
        updated_at: now,
        ..User::default()
    }
}

fn sign_in_existing(external_user: &ExternalUser<'_>, mut user: User, now: Time) -> LinkingOutcome {
    let unchanged = user.clone();
    let data = identity_data(external_user);
    let subject = &external_user.profile.claims.subject;
    let is_the =
        |identity: &&mut Identity| identity.provider == external_user.provider && identity.provider_id == *subject;
    let mut id = Uuid::nil();
    let before = user.identities.clone();
    if let Some(identity) = user.identities.iter_mut().find(is_the) {
        id = identity.id;
        identity.email = email_from_data(&data);
        identity.identity_data.clone_from(&data);
        identity.updated_at = now;
    }
    user.user_metadata = merge_metadata(user.user_metadata, &data);
    user.app_metadata = app_metadata_with_providers(&user);
    LinkingOutcome { before: unchanged, previous_identities: before, ..build_outcome(user, id, now) }
}

fn link_to_account(external_user: &ExternalUser<'_>, mut user: User, id: Uuid, now: Time) -> LinkingOutcome {
    let unchanged = user.clone();
    let identity = build_identity(external_user, id, user.id, now);
    let entry = AuditEntry::new(AuditAction::IdentityLinked)
        .with_trait("identity_id", json!(id))
        .with_trait("provider", external_user.provider)
        .with_trait("provider_id", identity.provider_id.as_str());
    user.user_metadata = merge_metadata(user.user_metadata, &identity.identity_data);
    let identities_before = user.identities.clone();
    user.identities.push(identity);
    user.app_metadata = app_metadata_with_providers(&user);
    LinkingOutcome {
        before: unchanged,
        audit_entries: vec![entry],
        previous_identities: identities_before,
        ..build_outcome(user, id, now)
    }
}

fn create_account(
    external_user: &ExternalUser<'_>,
    email: Option<String>,
    new: NewAccount,
    identity_id: Uuid,
    policy: &Policy,
) -> Result<LinkingOutcome> {
    require_sign_up_enabled(policy)?;
    let now = new.now;
    let mut user = build_account(external_user, email, new, policy);
    let identity = build_identity(external_user, identity_id, user.id, now);
    // As in GoTrue, the response to a sign-up shows the letters of the provider; the stored column is in lower case.
    let email = identity.email.is_some().then(|| external_user.profile.claims.email.clone());
    user.identities = vec![Identity { email, ..identity }];
    Ok(LinkingOutcome { is_new: true, ..build_outcome(user, identity_id, now) })
}

fn build_outcome(user: User, identity: Uuid, now: Time) -> LinkingOutcome {
    LinkingOutcome {
        before: user.clone(),
        user: User { updated_at: now, ..user },
        identity,
        previous_identities: Vec::new(),
        moved_from: None,
        is_new: false,
        removes_other_credentials: false,
        resets_account: false,
        confirms_email: false,
        voids_pending_requests: false,
        audit_entries: Vec::new(),
        sends_confirmation: false,
        error: None,
    }
}

fn build_identity(external_user: &ExternalUser<'_>, id: Uuid, user_id: Uuid, now: Time) -> Identity {
    let data = identity_data(external_user);
    Identity {
        id,
        user_id,
        provider: external_user.provider.to_owned(),
        provider_id: external_user.profile.claims.subject.clone(),
        email: email_from_data(&data),
        identity_data: data,
        last_sign_in_at: Some(now),
        created_at: now,
        updated_at: now,
    }
}

/// The identity data, with the address in lower case.
fn identity_data(external_user: &ExternalUser<'_>) -> Map<String, Value> {
    let mut data = external_user.profile.claims.identity_data();
    if let Some(Value::String(email)) = data.get_mut("email") {
        *email = email.to_lowercase();
    }
    data
}

fn email_from_data(data: &Map<String, Value>) -> Option<String> {
    data.get("email").and_then(Value::as_str).map(str::to_lowercase)
}

/// Whether an address must be confirmed: wallets have none, and some providers may omit it.
fn requires_email_confirmation(external_user: &ExternalUser<'_>, outcome: &LinkingOutcome) -> bool {
    let candidate =
        if outcome.is_new { outcome.user.email.is_some() } else { has_candidate_email(external_user, outcome) };
    external_user.provider != "web3" && (candidate || !external_user.email_optional)
}

fn has_candidate_email(external_user: &ExternalUser<'_>, outcome: &LinkingOutcome) -> bool {
    let is_linked = outcome.audit_entries.iter().any(|entry| entry.action == AuditAction::IdentityLinked);
    if is_linked { external_user.candidate_address().is_some() } else { outcome.user.email.is_some() }
}

/// Removes the password and other identities of a user whose address was never proven.
fn remove_other_credentials(outcome: &mut LinkingOutcome) {
    outcome.removes_other_credentials = true;
    let user = &mut outcome.user;
    user.encrypted_password = None;
    user.identities.retain(|identity| identity.id == outcome.identity);
    if let Some(identity) = user.identities.first() {
        user.user_metadata.clone_from(&identity.identity_data);
    }
    user.app_metadata = app_metadata_with_providers(user);
}

/// Whether the user's address needs no confirmation by this server.
/// With `strict_linking` another verified address does not confirm it: the user gets the verified address instead.
fn resolve_verified_email(user: &mut User, external_user: &ExternalUser<'_>, policy: &Policy) -> bool {
    if !policy.security.is_linking_strict {
        return external_user.is_candidate_verified(policy);
    }
    let vouched: Vec<String> = external_user.linkable_emails(policy);
    if user.email.as_ref().is_some_and(|email| vouched.contains(email)) {
        return true;
    }
    if external_user.candidate_email().is_some_and(|email| email.verified) {
        match external_user.candidate_address() {
            None if user.email.is_none() => return true,
            // An empty verified address does not prove a claimed one.
            None => {}
            address => {
                user.email = address;
                return true;
            }
        }
    }
    policy.mail.autoconfirm && user.email.is_some()
}

fn confirm_email(outcome: &mut LinkingOutcome, now: Time) {
    outcome.confirms_email = true;
    let user = &mut outcome.user;
    user.confirmation_token.clear();
    user.email_confirmed_at = Some(now);
    user.user_metadata.insert("email_verified".to_owned(), json!(true));
    if outcome.resets_account {
        user.phone = None;
        user.phone_confirmed_at = None;
        user.factors.clear();
    }
}

fn require_confirmation(outcome: &mut LinkingOutcome, external_user: &ExternalUser<'_>, policy: &Policy) {
    outcome.sends_confirmation = outcome.user.email.is_some();
    if policy.mail.allow_unverified_sign_ins {
        return;
    }
    let provider = external_user.provider;
    let then = if outcome.sends_confirmation {
        format!("A confirmation email has been sent to your {provider} email")
    } else {
        format!("Verify the email with {provider} in order to sign in")
    };
    let message = format!("Unverified email with {provider}. {then}");
    outcome.error = Some(Error::new(ErrorCode::ProviderEmailNeedsVerification, message));
}
