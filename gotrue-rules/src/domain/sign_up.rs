//! Signing up: who is new, what a new account looks like, and the stand-in that somebody sees whose address is taken.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::contact::{Channel, Contact, Email, Phone};
use super::error::{Error, Result};
use super::identity::{of_contact, sign_up_data, without_nulls};
use super::pkce::check_pair;
use super::policy::Policy;
use super::user::{Account, Time};
use crate::wire::requests::SignUp;

/// What is refused before anything else is looked at.
pub fn require_open(policy: &Policy) -> Result<()> {
    if policy.sign_up.disabled {
        return Err(Error::unprocessable("signup_disabled", "Signups not allowed for this instance"));
    }
    Ok(())
}

/// What is refused before the password's strength is looked at.
pub fn require_password(request: &SignUp) -> Result<()> {
    require_a_password(&request.password)
}

/// A new account's password must not be empty.
pub fn require_a_password(password: &str) -> Result<()> {
    if password.is_empty() {
        return Err(Error::invalid("Signup requires a valid password"));
    }
    Ok(())
}

/// Who wants an account, and how a text would reach them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newcomer {
    /// The address or number.
    pub contact: Contact,
    /// The channel for a number.
    pub channel: Channel,
}

/// Whom a request means: the rest of its checks, in order, once the password has passed.
pub fn newcomer(request: &SignUp, policy: &Policy) -> Result<Newcomer> {
    let by_email = !request.email.is_empty();
    if by_email && !request.phone.is_empty() {
        return Err(Error::invalid("Only an email address or phone number should be provided on signup."));
    }
    let channel = if by_email {
        Channel::default()
    } else {
        Channel::parse(&request.channel, &policy.sms, policy.hooks.send_sms.is_some())?
    };
    if !by_email && !request.pkce.challenge.is_empty() {
        return Err(Error::invalid("PKCE not supported for phone signups"));
    }
    check_pair(&request.pkce.challenge, &request.pkce.method)?;
    let contact = if by_email {
        if !policy.sign_up.email_enabled {
            return Err(Error::bad_request("email_provider_disabled", "Email signups are disabled"));
        }
        Contact::Email(Email::parse(&request.email)?)
    } else {
        if !policy.sign_up.phone_enabled {
            return Err(Error::bad_request("phone_provider_disabled", "Phone signups are disabled"));
        }
        Contact::Phone(Phone::parse(&request.phone)?)
    };
    Ok(Newcomer { contact, channel })
}

/// What becomes of a sign-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nobody has the address: a new account, confirmed at once.
    NewConfirmed,
    /// Nobody has the address: a new account that must be confirmed.
    NewPending,
    /// An account has it, unconfirmed: it is confirmed at once, password and metadata stay.
    KnownConfirmed,
    /// An account has it, unconfirmed: another confirmation is sent, password and metadata stay.
    KnownPending,
    /// An account has it, confirmed; the operator lets that be told.
    Taken,
    /// An account has it, confirmed; a stand-in is answered.
    StandIn,
}

impl Outcome {
    /// As the journal names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewConfirmed => "sign_up.new_confirmed",
            Self::NewPending => "sign_up.new_pending",
            Self::KnownConfirmed => "sign_up.known_confirmed",
            Self::KnownPending => "sign_up.known_pending",
            Self::Taken => "sign_up.taken",
            Self::StandIn => "sign_up.stand_in",
        }
    }
}

/// Decides, knowing who has the address or number.
pub fn decide(known: Option<&Account>, contact: &Contact, policy: &Policy) -> Outcome {
    let (at_once, is_confirmed) = match contact {
        Contact::Email(_) => (policy.mail.autoconfirm, known.is_some_and(Account::is_email_confirmed)),
        Contact::Phone(_) => (policy.sms.autoconfirm, known.is_some_and(Account::is_phone_confirmed)),
    };
    let is_told =
        if policy.sign_up.taken_told_by_kind { at_once } else { policy.mail.autoconfirm || policy.sms.autoconfirm };
    match (known.is_some(), is_confirmed) {
        (true, true) if is_told => Outcome::Taken,
        (true, true) => Outcome::StandIn,
        (true, false) if at_once => Outcome::KnownConfirmed,
        (true, false) => Outcome::KnownPending,
        (false, _) if at_once => Outcome::NewConfirmed,
        (false, _) => Outcome::NewPending,
    }
}

/// The refusal of [`Outcome::Taken`].
pub fn already_registered() -> Error {
    Error::unprocessable("user_already_exists", "User already registered")
}

/// The ids that a new account needs.
#[derive(Debug, Clone, Copy)]
pub struct Ids {
    /// The account's.
    pub account: Uuid,
    /// Its first identity's.
    pub identity: Uuid,
}

/// A new account with its identity, not yet confirmed. The identity keeps the members of `data` that are null.
pub fn account(ids: Ids, contact: &Contact, audience: String, data: &Map<String, Value>, now: Time) -> Account {
    let identity_data = sign_up_data(ids.account, contact, data);
    let mut account = Account {
        id: ids.account,
        aud: audience,
        app_metadata: provider_metadata(contact.provider()),
        user_metadata: without_nulls(&identity_data),
        identities: vec![of_contact(ids.identity, ids.account, contact, identity_data, now)],
        created_at: now,
        updated_at: now,
        ..Account::default()
    };
    match contact {
        Contact::Email(email) => account.email = Some(email.as_str().to_owned()),
        Contact::Phone(phone) => account.phone = Some(phone.as_str().to_owned()),
    }
    account
}

/// An account without address and number.
pub fn anonymous(id: Uuid, audience: String, data: &Map<String, Value>, now: Time) -> Account {
    Account {
        id,
        aud: audience,
        user_metadata: data.clone(),
        is_anonymous: true,
        created_at: now,
        updated_at: now,
        ..Account::default()
    }
}

/// The same account, confirmed. Confirming an address is also told in the metadata.
#[must_use]
pub fn confirmed(mut account: Account, contact: &Contact, now: Time) -> Account {
    match contact {
        Contact::Email(_) => {
            account.email_confirmed_at = Some(now);
            account.user_metadata.insert("email_verified".to_owned(), json!(true));
        }
        Contact::Phone(_) => account.phone_confirmed_at = Some(now),
    }
    account
}

/// What the reference holds in memory once a sign-up has made the identity: its data and the metadata are one map
/// there. An identity that was there before keeps its own.
#[must_use]
pub fn as_answered(mut account: Account) -> Account {
    let metadata = account.user_metadata.clone();
    if let [identity] = account.identities.as_mut_slice() {
        identity.identity_data = metadata;
    }
    account
}

/// What somebody sees who signs up with an address that is taken: shaped like a new account, with a random id.
pub fn stand_in(known: Account, id: Uuid, contact: &Contact, data: &Map<String, Value>, now: Time) -> Account {
    let mut shown = Account {
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
    fn each_situation_has_its_outcome() {
        let pending = Account::default();
        let confirmed = Account { email_confirmed_at: Some(Time::default()), ..Account::default() };
        for (known, mail, sms, outcome) in [
            (None, false, false, Outcome::NewPending),
            (None, false, true, Outcome::NewPending),
            (None, true, false, Outcome::NewConfirmed),
            (Some(&pending), false, false, Outcome::KnownPending),
            (Some(&pending), true, false, Outcome::KnownConfirmed),
            (Some(&confirmed), false, false, Outcome::StandIn),
            (Some(&confirmed), true, false, Outcome::Taken),
            (Some(&confirmed), false, true, Outcome::Taken),
        ] {
            assert_eq!(decide(known, &email(), &policy(mail, sms)), outcome);
        }
    }

    #[test]
    fn numbers_confirmed_at_once_do_not_tell_which_addresses_are_taken() {
        let taken = Account { email_confirmed_at: Some(Time::default()), ..Account::default() };
        for (mail, sms, outcome) in [
            (false, true, Outcome::StandIn),
            (false, false, Outcome::StandIn),
            (true, false, Outcome::Taken),
            (true, true, Outcome::Taken),
        ] {
            let mut policy = policy(mail, sms);
            policy.sign_up.taken_told_by_kind = true;
            assert_eq!(decide(Some(&taken), &email(), &policy), outcome, "mail {mail}, sms {sms}");
        }
    }

    #[test]
    fn the_first_complaint_wins() {
        let request = |email: &str, phone: &str, channel: &str, challenge: &str| {
            let mut request =
                SignUp { email: email.into(), phone: phone.into(), channel: channel.into(), ..SignUp::default() };
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
            assert_eq!(newcomer(&request, &open).unwrap_err().message(), message);
        }
    }

    #[test]
    fn d3_a_stand_in_shows_nothing_of_the_account_it_stands_for() {
        let ids = Ids { account: Uuid::from_u128(1), identity: Uuid::from_u128(2) };
        let data = Map::from_iter([("name".to_owned(), json!("Ann"))]);
        let known = confirmed(account(ids, &email(), "a".into(), &data, Time::default()), &email(), Time::default());
        let shown = stand_in(known, Uuid::from_u128(9), &email(), &Map::new(), Time::default());
        assert_eq!(shown.id, Uuid::from_u128(9));
        assert!(shown.identities.is_empty() && shown.user_metadata.is_empty() && shown.email_confirmed_at.is_none());
    }

    #[test]
    fn null_members_stay_in_the_identity_only() {
        let ids = Ids { account: Uuid::from_u128(1), identity: Uuid::from_u128(2) };
        let data = Map::from_iter([("gone".to_owned(), Value::Null)]);
        let account = account(ids, &email(), "a".into(), &data, Time::default());
        assert!(!account.user_metadata.contains_key("gone"));
        assert!(account.identities[0].identity_data.contains_key("gone"));
        assert!(!as_answered(account).identities[0].identity_data.contains_key("gone"));
    }
}
