//! Sign-up: validation, the decision, new users, and the obfuscated user for a registered contact.

use foundation::email::Email;
use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::contact::{Contact, Phone, SmsChannel};
use super::identity::{identity_for_contact, sign_up_identity_data, without_nulls};
use super::pkce::validate_challenge_pair;
use super::policy::Policy;
use super::user::User;
use crate::wire::requests::SignUpRequest;

/// Rejects sign-ups if they are disabled; the first check.
pub fn require_sign_up_enabled(policy: &Policy) -> Result<()> {
    if policy.sign_up.disabled {
        return Err(Error::new(ErrorCode::SignupDisabled, "Signups not allowed for this instance"));
    }
    Ok(())
}

/// Requires a password in the request; checked before its strength.
pub fn require_request_password(request: &SignUpRequest) -> Result<()> {
    require_nonempty_password(&request.password)
}

/// Rejects an empty password of a new user.
pub fn require_nonempty_password(password: &str) -> Result<()> {
    if password.is_empty() {
        return Err(Error::invalid("Signup requires a valid password"));
    }
    Ok(())
}

/// The contact of a sign-up and the SMS channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignUpContact {
    /// The address or number.
    pub contact: Contact,
    /// The SMS channel for a number.
    pub channel: SmsChannel,
}

/// Validates contact, channel and PKCE pair, in GoTrue's order.
pub fn parse_contact(request: &SignUpRequest, policy: &Policy) -> Result<SignUpContact> {
    let by_email = !request.email.is_empty();
    if by_email && !request.phone.is_empty() {
        return Err(Error::invalid("Only an email address or phone number should be provided on signup."));
    }
    let channel = if by_email {
        SmsChannel::default()
    } else {
        SmsChannel::parse(&request.channel, &policy.sms, policy.hooks.send_sms.is_some())?
    };
    if !by_email && !request.pkce.challenge.is_empty() {
        return Err(Error::invalid("PKCE not supported for phone signups"));
    }
    validate_challenge_pair(&request.pkce.challenge, &request.pkce.method)?;
    let contact = if by_email {
        if !policy.sign_up.email_enabled {
            return Err(Error::new(ErrorCode::EmailProviderDisabled, "Email signups are disabled"));
        }
        Contact::Email(Email::parse(&request.email)?)
    } else {
        if !policy.sign_up.phone_enabled {
            return Err(Error::new(ErrorCode::PhoneProviderDisabled, "Phone signups are disabled"));
        }
        Contact::Phone(Phone::parse(&request.phone)?)
    };
    Ok(SignUpContact { contact, channel })
}

/// Decision about a sign-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignUpDecision {
    /// The contact is free: a new user, confirmed at once.
    NewConfirmed,
    /// The contact is free: a new user with a pending confirmation.
    NewPending,
    /// An unconfirmed user has the contact: it is confirmed at once; password and metadata stay.
    ExistingConfirmed,
    /// An unconfirmed user has the contact: another confirmation is sent; password and metadata stay.
    ExistingPending,
    /// A confirmed user has the contact, and the policy discloses it.
    AlreadyRegistered,
    /// A confirmed user has the contact: the response is an obfuscated user.
    ObfuscatedUser,
}

impl SignUpDecision {
    /// Returns the name for the journal.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewConfirmed => "sign_up.new_confirmed",
            Self::NewPending => "sign_up.new_pending",
            Self::ExistingConfirmed => "sign_up.known_confirmed",
            Self::ExistingPending => "sign_up.known_pending",
            Self::AlreadyRegistered => "sign_up.taken",
            Self::ObfuscatedUser => "sign_up.stand_in",
        }
    }
}

/// Decides about a sign-up, given the user with this contact.
pub fn decide(known: Option<&User>, contact: &Contact, policy: &Policy) -> SignUpDecision {
    let (at_once, is_confirmed) = match contact {
        Contact::Email(_) => (policy.mail.autoconfirm, known.is_some_and(User::is_email_confirmed)),
        Contact::Phone(_) => (policy.sms.autoconfirm, known.is_some_and(User::is_phone_confirmed)),
    };
    let is_reported = if policy.sign_up.should_disclose_taken_by_kind {
        at_once
    } else {
        policy.mail.autoconfirm || policy.sms.autoconfirm
    };
    match (known.is_some(), is_confirmed) {
        (true, true) if is_reported => SignUpDecision::AlreadyRegistered,
        (true, true) => SignUpDecision::ObfuscatedUser,
        (true, false) if at_once => SignUpDecision::ExistingConfirmed,
        (true, false) => SignUpDecision::ExistingPending,
        (false, _) if at_once => SignUpDecision::NewConfirmed,
        (false, _) => SignUpDecision::NewPending,
    }
}

/// Error of [`SignUpDecision::AlreadyRegistered`].
pub fn already_registered() -> Error {
    Error::new(ErrorCode::UserAlreadyExists, "User already registered")
}

#[derive(Debug, Clone, Copy)]
pub struct NewUserIds {
    /// The user's id.
    pub user: Uuid,
    /// The first identity's id.
    pub identity: Uuid,
}

/// Builds an unconfirmed user with its identity, which keeps the `null` members of `data`.
pub fn build_user(ids: NewUserIds, contact: &Contact, audience: String, data: &Map<String, Value>, now: Time) -> User {
    let identity_data = sign_up_identity_data(ids.user, contact, data);
    let mut user = User {
        id: ids.user,
        aud: audience,
        app_metadata: provider_metadata(contact.provider()),
        user_metadata: without_nulls(&identity_data),
        identities: vec![identity_for_contact(ids.identity, ids.user, contact, identity_data, now)],
        created_at: now,
        updated_at: now,
        ..User::default()
    };
    match contact {
        Contact::Email(email) => user.email = Some(email.as_str().to_owned()),
        Contact::Phone(phone) => user.phone = Some(phone.as_str().to_owned()),
    }
    user
}

pub fn build_anonymous_user(id: Uuid, audience: String, data: &Map<String, Value>, now: Time) -> User {
    User {
        id,
        aud: audience,
        user_metadata: data.clone(),
        is_anonymous: true,
        created_at: now,
        updated_at: now,
        ..User::default()
    }
}

/// Confirms the contact; for an address also in the metadata.
#[must_use]
pub fn confirm_contact(mut user: User, contact: &Contact, now: Time) -> User {
    match contact {
        Contact::Email(_) => {
            user.email_confirmed_at = Some(now);
            user.user_metadata.insert("email_verified".to_owned(), json!(true));
        }
        Contact::Phone(_) => user.phone_confirmed_at = Some(now),
    }
    user
}

/// Returns the user as the response and the message hooks of a sign-up show it.
///
/// The identity data of a new user equal its metadata.
/// In GoTrue both are one map; an existing identity keeps its own data.
#[must_use]
pub fn response_view(mut user: User) -> User {
    let metadata = user.user_metadata.clone();
    if let [identity] = user.identities.as_mut_slice() {
        identity.identity_data = metadata;
    }
    user
}

/// Builds the obfuscated user for a registered contact: like a new user, with a random id.
///
/// Fields of `known` that a new user does not have stay, as in GoTrue; those of a user that [`hide_registered_user`] returns
/// have none.
pub fn build_obfuscated_user(known: User, id: Uuid, contact: &Contact, data: &Map<String, Value>, now: Time) -> User {
    let mut shown = User {
        id,
        role: String::new(),
        email_change: String::new(),
        created_at: now,
        updated_at: now,
        confirmation_sent_at: Some(now),
        last_sign_in_at: None,
        confirmed_at: None,
        email_change_sent_at: None,
        email_confirmed_at: None,
        phone_confirmed_at: None,
        identities: Vec::new(),
        user_metadata: data.clone(),
        app_metadata: provider_metadata(contact.provider()),
        ..known
    };
    match contact {
        Contact::Email(_) => shown.phone = None,
        Contact::Phone(_) => shown.email = None,
    }
    shown
}

/// Returns what a new sign-up tells of a registered user: its contact.
pub fn hide_registered_user(contact: &Contact) -> User {
    match contact {
        Contact::Email(email) => User { email: Some(email.as_str().to_owned()), ..User::default() },
        Contact::Phone(phone) => User { phone: Some(phone.as_str().to_owned()), ..User::default() },
    }
}

fn provider_metadata(provider: &str) -> Map<String, Value> {
    Map::from_iter([("provider".to_owned(), json!(provider)), ("providers".to_owned(), json!([provider]))])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn email() -> Contact {
        Contact::Email(Email::parse("ann@example.com").unwrap())
    }

    fn policy(mail: bool, sms: bool) -> Policy {
        let mut policy = Policy::default();
        policy.mail.autoconfirm = mail;
        policy.sms.autoconfirm = sms;
        policy.sign_up.phone_enabled = true;
        policy
    }

    #[test]
    fn sign_up_decisions() {
        let pending = User::default();
        let confirmed = User { email_confirmed_at: Some(Time::default()), ..User::default() };
        for (known, mail, sms, outcome) in [
            (None, false, false, SignUpDecision::NewPending),
            (None, false, true, SignUpDecision::NewPending),
            (None, true, false, SignUpDecision::NewConfirmed),
            (Some(&pending), false, false, SignUpDecision::ExistingPending),
            (Some(&pending), true, false, SignUpDecision::ExistingConfirmed),
            (Some(&confirmed), false, false, SignUpDecision::ObfuscatedUser),
            (Some(&confirmed), true, false, SignUpDecision::AlreadyRegistered),
            (Some(&confirmed), false, true, SignUpDecision::AlreadyRegistered),
        ] {
            assert_eq!(decide(known, &email(), &policy(mail, sms)), outcome);
        }
    }

    #[test]
    fn phone_autoconfirm_does_not_disclose_taken_emails() {
        let taken = User { email_confirmed_at: Some(Time::default()), ..User::default() };
        for (mail, sms, outcome) in [
            (false, true, SignUpDecision::ObfuscatedUser),
            (false, false, SignUpDecision::ObfuscatedUser),
            (true, false, SignUpDecision::AlreadyRegistered),
            (true, true, SignUpDecision::AlreadyRegistered),
        ] {
            let mut policy = policy(mail, sms);
            policy.sign_up.should_disclose_taken_by_kind = true;
            assert_eq!(decide(Some(&taken), &email(), &policy), outcome, "mail {mail}, sms {sms}");
        }
    }

    #[test]
    fn first_sign_up_error_is_reported() {
        let request = |email: &str, phone: &str, channel: &str, challenge: &str| {
            let mut request = SignUpRequest {
                email: email.into(),
                phone: phone.into(),
                channel: channel.into(),
                ..SignUpRequest::default()
            };
            request.pkce.challenge = challenge.into();
            request
        };
        let open = policy(false, false);
        for (request, message) in [
            (
                request("a@b.c", "15550100", "pigeon", "x"),
                "Only an email address or phone number should be provided on signup.",
            ),
            (request("", "15550100", "sms", "x"), "PKCE not supported for phone signups"),
            (request("no address", "", "", "x"), "PKCE flow requires code_challenge_method and code_challenge"),
            (request("no address", "", "", ""), "Unable to validate email address: invalid format"),
            (request("", "call me", "", ""), "Invalid phone number format (E.164 required)"),
        ] {
            assert_eq!(parse_contact(&request, &open).unwrap_err().message(), message);
        }
    }

    #[test]
    fn obfuscated_user_discloses_nothing_of_existing_user() {
        let ids = NewUserIds { user: Uuid::from_u128(1), identity: Uuid::from_u128(2) };
        let data = Map::from_iter([("name".to_owned(), json!("Ann"))]);
        let known =
            confirm_contact(build_user(ids, &email(), "a".into(), &data, Time::default()), &email(), Time::default());
        let shown = build_obfuscated_user(known, Uuid::from_u128(9), &email(), &Map::new(), Time::default());
        assert_eq!(shown.id, Uuid::from_u128(9));
        assert!(shown.identities.is_empty() && shown.user_metadata.is_empty() && shown.email_confirmed_at.is_none());
    }

    #[test]
    fn null_members_are_kept_in_identity_only() {
        let ids = NewUserIds { user: Uuid::from_u128(1), identity: Uuid::from_u128(2) };
        let data = Map::from_iter([("gone".to_owned(), Value::Null)]);
        let user = build_user(ids, &email(), "a".into(), &data, Time::default());
        assert!(!user.user_metadata.contains_key("gone"));
        assert!(user.identities[0].identity_data.contains_key("gone"));
        assert!(!response_view(user).identities[0].identity_data.contains_key("gone"));
    }
}
