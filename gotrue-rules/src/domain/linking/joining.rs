//! What becomes of an account that somebody joins through a provider: identity, metadata, what it loses if it was
//! unconfirmed, and whether its owner is in (`endpoints.md` §11.3–11.5).

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::super::audit::{Action, Entry};
use super::super::error::{Error, Result};
use super::super::identity::{merged, with_providers};
use super::super::policy::Policy;
use super::super::sign_up::{Ids, require_open};
use super::super::user::{Account, Identity, Time};
use super::{Arrival, DEFAULT_DOMAIN, Decision, by_hand};

/// What becomes of an account.
#[derive(Debug)]
pub struct Joining {
    /// The account as it is then.
    pub account: Account,
    /// The identity that it is joined by, one of the account's.
    pub identity: Uuid,
    /// The identities that it had before: an answer to whoever joins it shows these, unless they are lost.
    pub identities_before: Vec<Identity>,
    /// The account that the identity leaves for this one.
    pub moved_from: Option<Uuid>,
    /// It is made now.
    pub is_new: bool,
    /// Whoever had claimed it loses what they had put in: the other identities and the password.
    pub takes_over: bool,
    /// They lose also sessions, second factors, passkeys and number.
    pub starts_anew: bool,
    /// The address is confirmed by it: one-time secrets are void.
    pub confirms: bool,
    /// The address is another one now: whatever was asked for is void.
    pub forgets: bool,
    /// What the audit log is told.
    pub audit: Vec<Entry>,
    /// A confirmation goes to the account's address.
    pub asks: bool,
    /// What it is answered with although all this is written.
    pub refused: Option<Error>,
}

/// What was decided becomes of the account, or why nothing does. `ids` are for what is made.
pub fn join(
    arrival: &Arrival<'_>,
    decision: Decision,
    (ids, audience): (Ids, String),
    now: Time,
    policy: &Policy,
) -> Result<Joining> {
    require_subject(arrival)?;
    let mut joining = match decision {
        Decision::Exists(account) => known_again(arrival, *account, now),
        Decision::Beside(account) => {
            let mut joining = known_again(arrival, *account, now);
            require_no_ban(&joining, now)?;
            joining.audit.push(Entry::of(Action::Login).with("provider", arrival.provider));
            return Ok(joining);
        }
        Decision::Link(account) => linked(arrival, *account, ids.identity, now),
        Decision::Move { to, from, identity } => {
            Joining { moved_from: Some(from), ..linked(arrival, *to, identity, now) }
        }
        Decision::Create { email } => new(arrival, email, (ids, audience), now, policy)?,
        Decision::CreateWithoutEmail => new(arrival, None, (ids, audience), now, policy)?,
        Decision::Several => {
            let domain = arrival.domain(policy);
            let what = "Multiple accounts with the same email address in the same linking domain detected";
            return Err(Error::internal(format!("{what}: {domain}")));
        }
    };
    require_no_ban(&joining, now)?;
    let (is_confirmed, has_email) = (joining.account.is_email_confirmed(), has_email(arrival, &joining));
    if is_confirmed || !has_email {
        joining.audit.push(Entry::of(Action::Login).with("provider", arrival.provider));
        return Ok(joining);
    }
    take_over(&mut joining);
    if is_settled(&mut joining.account, arrival, policy) {
        joining.audit.push(Entry::of(Action::UserSignedUp).with("provider", arrival.provider));
        joining.starts_anew = policy.security.strict_linking && !joining.is_new;
        confirm(&mut joining, now);
        return Ok(joining);
    }
    wait_for_confirmation(&mut joining, arrival, policy);
    Ok(joining)
}

fn require_no_ban(joining: &Joining, now: Time) -> Result<()> {
    if joining.account.is_banned(now) { Err(Error::forbidden("user_banned", "User is banned")) } else { Ok(()) }
}

/// What becomes of an invited account whose owner comes by a provider. As the reference, the invited address has to be
/// spelled as it is in the account, unless linking is strict.
pub fn accept_invitation(
    arrival: &Arrival<'_>,
    invited: Account,
    (id, now): (Uuid, Time),
    policy: &Policy,
) -> Result<Joining> {
    require_subject(arrival)?;
    let is_invited = |address: &str| match invited.email.as_deref() {
        Some(email) if policy.security.strict_linking => email == address.to_lowercase(),
        email => email == Some(address),
    };
    if !arrival.profile.emails.iter().any(|email| is_invited(&email.address)) {
        return Err(Error::invalid("Invited email does not match emails from external provider"));
    }
    let mut joining = linked(arrival, invited, id, now);
    joining.audit = vec![Entry::of(Action::InviteAccepted).with("provider", arrival.provider)];
    take_over(&mut joining);
    confirm(&mut joining, now);
    Ok(joining)
}

/// What becomes of an account that its owner adds an identity to. `is_taken`: another account has the identity's address.
pub fn link(
    arrival: &Arrival<'_>,
    account: Account,
    is_taken: bool,
    (id, now): (Uuid, Time),
    policy: &Policy,
) -> Result<Joining> {
    require_subject(arrival)?;
    let has_nameless = account.identities.iter().any(|identity| identity.email.is_none());
    let (user_metadata, app_metadata) = (account.user_metadata.clone(), account.app_metadata.clone());
    let mut joining = linked(arrival, account, id, now);
    joining.account.user_metadata = user_metadata;
    let account = &mut joining.account;
    if account.email.is_some() {
        return Ok(joining);
    }
    let email = account.identities.last().and_then(|identity| identity.email.clone());
    if email.is_none() || (is_taken && has_nameless) {
        // Somebody who can come back by it is known, if only by a name elsewhere. The address stays with who has it.
        account.is_anonymous = false;
        if arrival.profile.claims.email_verified && !policy.security.strict_linking {
            confirm(&mut joining, now);
        }
        return Ok(joining);
    }
    joining.forgets = true;
    by_hand::adopt(account, email, arrival.profile.claims.email_verified || policy.mail.autoconfirm);
    if arrival.profile.claims.email_verified {
        account.is_anonymous = false;
        confirm(&mut joining, now);
        return Ok(joining);
    }
    joining.asks = true;
    joining.account.app_metadata = app_metadata;
    let (provider, words) = (arrival.provider, "A confirmation email has been sent to your");
    let message = format!("Unverified email with {provider}. {words} {provider} email");
    joining.refused = Some(Error::unprocessable("email_not_confirmed", message));
    Ok(joining)
}

/// Nobody is let in without an id at the provider: all of them would be one person.
pub fn require_subject(arrival: &Arrival<'_>) -> Result<()> {
    if arrival.profile.claims.subject.is_empty() {
        return Err(Error::oauth("server_error", "error missing provider id"));
    }
    Ok(())
}

/// A new account as the hook before it is shown it, and as it is written first.
pub fn new_account(
    arrival: &Arrival<'_>,
    email: Option<String>,
    (id, audience): (Uuid, String),
    now: Time,
    policy: &Policy,
) -> Account {
    let provider = arrival.provider;
    Account {
        id,
        aud: audience,
        role: policy.jwt.default_group.clone(),
        email,
        app_metadata: Map::from_iter([
            ("provider".to_owned(), json!(provider)),
            ("providers".to_owned(), json!([provider])),
        ]),
        user_metadata: arrival.profile.claims.identity_data(),
        is_sso_user: arrival.domain(policy) != DEFAULT_DOMAIN,
        created_at: now,
        updated_at: now,
        ..Account::default()
    }
}

fn known_again(arrival: &Arrival<'_>, mut account: Account, now: Time) -> Joining {
    let data = data_of(arrival);
    let subject = &arrival.profile.claims.subject;
    let is_the = |it: &&mut Identity| it.provider == arrival.provider && it.provider_id == *subject;
    let mut id = Uuid::nil();
    let before = account.identities.clone();
    if let Some(identity) = account.identities.iter_mut().find(is_the) {
        id = identity.id;
        identity.email = email_of(&data);
        identity.identity_data.clone_from(&data);
        identity.updated_at = now;
    }
    account.user_metadata = merged(account.user_metadata, &data);
    account.app_metadata = with_providers(&account);
    Joining { identities_before: before, ..joining(account, id, now) }
}

fn linked(arrival: &Arrival<'_>, mut account: Account, id: Uuid, now: Time) -> Joining {
    let identity = identity(arrival, id, account.id, now);
    let entry = Entry::of(Action::IdentityLinked)
        .with("identity_id", json!(id))
        .with("provider", arrival.provider)
        .with("provider_id", identity.provider_id.as_str());
    account.user_metadata = merged(account.user_metadata, &identity.identity_data);
    let identities_before = account.identities.clone();
    account.identities.push(identity);
    account.app_metadata = with_providers(&account);
    Joining { audit: vec![entry], identities_before, ..joining(account, id, now) }
}

fn new(
    arrival: &Arrival<'_>,
    email: Option<String>,
    (ids, audience): (Ids, String),
    now: Time,
    policy: &Policy,
) -> Result<Joining> {
    require_open(policy)?;
    let mut account = new_account(arrival, email, (ids.account, audience), now, policy);
    account.identities = vec![identity(arrival, ids.identity, ids.account, now)];
    Ok(Joining { is_new: true, ..joining(account, ids.identity, now) })
}

fn joining(account: Account, identity: Uuid, now: Time) -> Joining {
    Joining {
        account: Account { updated_at: now, ..account },
        identity,
        identities_before: Vec::new(),
        moved_from: None,
        is_new: false,
        takes_over: false,
        starts_anew: false,
        confirms: false,
        forgets: false,
        audit: Vec::new(),
        asks: false,
        refused: None,
    }
}

fn identity(arrival: &Arrival<'_>, id: Uuid, user_id: Uuid, now: Time) -> Identity {
    let data = data_of(arrival);
    Identity {
        id,
        user_id,
        provider: arrival.provider.to_owned(),
        provider_id: arrival.profile.claims.subject.clone(),
        email: email_of(&data),
        identity_data: data,
        last_sign_in_at: Some(now),
        created_at: now,
        updated_at: now,
    }
}

/// What the identity keeps: the address in lower case.
fn data_of(arrival: &Arrival<'_>) -> Map<String, Value> {
    let mut data = arrival.profile.claims.identity_data();
    if let Some(Value::String(email)) = data.get_mut("email") {
        *email = email.to_lowercase();
    }
    data
}

fn email_of(data: &Map<String, Value>) -> Option<String> {
    data.get("email").and_then(Value::as_str).map(str::to_lowercase)
}

/// Whether the address matters at all: wallets have none, and some providers need not tell one.
fn has_email(arrival: &Arrival<'_>, joining: &Joining) -> bool {
    let candidate = if joining.is_new { joining.account.email.is_some() } else { has_candidate(arrival, joining) };
    arrival.provider != "web3" && (candidate || !arrival.email_optional)
}

fn has_candidate(arrival: &Arrival<'_>, joining: &Joining) -> bool {
    let is_linked = joining.audit.iter().any(|entry| entry.action == Action::IdentityLinked);
    if is_linked { arrival.candidate_address().is_some() } else { joining.account.email.is_some() }
}

/// Whoever made the account did not prove the address: nothing of theirs stays a way into it.
fn take_over(joining: &mut Joining) {
    joining.takes_over = true;
    let account = &mut joining.account;
    account.encrypted_password = None;
    account.identities.retain(|identity| identity.id == joining.identity);
    if let Some(identity) = account.identities.first() {
        account.user_metadata.clone_from(&identity.identity_data);
    }
    account.app_metadata = with_providers(account);
}

/// Whether the account's address needs no confirmation of ours. Where joining is strict, the provider's word for another
/// address does not do: the account gets that one instead.
fn is_settled(account: &mut Account, arrival: &Arrival<'_>, policy: &Policy) -> bool {
    if !policy.security.strict_linking {
        return arrival.is_vouched_for(policy);
    }
    let vouched: Vec<String> = arrival.joining_emails(policy);
    if account.email.as_ref().is_some_and(|email| vouched.contains(email)) {
        return true;
    }
    if arrival.candidate().is_some_and(|email| email.verified) {
        match arrival.candidate_address() {
            None if account.email.is_none() => return true,
            // An address that is not told proves none that is claimed.
            None => {}
            told => {
                account.email = told;
                return true;
            }
        }
    }
    policy.mail.autoconfirm && account.email.is_some()
}

fn confirm(joining: &mut Joining, now: Time) {
    joining.confirms = true;
    let account = &mut joining.account;
    account.confirmation_token.clear();
    account.email_confirmed_at = Some(now);
    account.user_metadata.insert("email_verified".to_owned(), json!(true));
    if joining.starts_anew {
        account.phone = None;
        account.phone_confirmed_at = None;
        account.factors.clear();
    }
}

fn wait_for_confirmation(joining: &mut Joining, arrival: &Arrival<'_>, policy: &Policy) {
    joining.asks = joining.account.email.is_some();
    if policy.mail.allow_unverified_sign_ins {
        return;
    }
    let provider = arrival.provider;
    let then = if joining.asks {
        format!("A confirmation email has been sent to your {provider} email")
    } else {
        format!("Verify the email with {provider} in order to sign in")
    };
    let message = format!("Unverified email with {provider}. {then}");
    joining.refused = Some(Error::unprocessable("provider_email_needs_verification", message));
}
