//! Accounts as an administrator makes and changes them (`endpoints.md` §13.3): the checks in their order, as far as
//! they need nothing but values, and what becomes of the account.

use chrono::TimeDelta;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::contact::{Contact, Email, Phone};
use super::error::{Error, Result};
use super::identity::{merged, of_contact, providers};
use super::password::MAX_BYTES;
use super::user::{Account, Identity, Time};
use super::user_update::email_taken;
use crate::wire::go_duration::GoDuration;
use crate::wire::requests::AdminUser;

/// The administrator as the audit log's actor: no account, named by the role of the token.
pub fn actor(role: &str) -> Account {
    Account { email: Some(role.to_owned()), ..Account::default() }
}

/// Address and number of a request, checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contacts {
    /// The address.
    pub email: Option<Email>,
    /// The number.
    pub phone: Option<Phone>,
}

impl Contacts {
    fn all(&self) -> impl Iterator<Item = Contact> {
        let email = self.email.clone().map(Contact::Email);
        email.into_iter().chain(self.phone.clone().map(Contact::Phone))
    }
}

/// Which of the two other accounts have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// The address.
    pub email: bool,
    /// The number.
    pub phone: bool,
}

/// Characters of a role or an audience that the database keeps.
const LONGEST: usize = 255;

/// Refuses a role or an audience that the database could not keep.
pub fn require_fitting(request: &AdminUser) -> Result<()> {
    for (name, text) in [("role", request.role.trim()), ("aud", &request.aud)] {
        if text.chars().count() > LONGEST {
            return Err(Error::invalid(format!("{name} cannot be longer than {LONGEST} characters")));
        }
    }
    Ok(())
}

/// The address of a new account, which needs one or a number.
pub fn new_email(request: &AdminUser) -> Result<Option<Email>> {
    if request.email.is_empty() && request.phone.is_empty() {
        return Err(Error::invalid("Cannot create a user without either an email or phone"));
    }
    email(request)
}

/// The address, if one is given.
pub fn email(request: &AdminUser) -> Result<Option<Email>> {
    (!request.email.is_empty()).then(|| Email::parse(&request.email)).transpose()
}

/// The number, if one is given.
pub fn phone(request: &AdminUser) -> Result<Option<Phone>> {
    (!request.phone.is_empty()).then(|| Phone::parse(&request.phone)).transpose()
}

/// Address and number of a new account, once it is known who has them: a taken address comes before a malformed number.
pub fn free(email: Option<Email>, phone: Result<Option<Phone>>, taken: Taken) -> Result<Contacts> {
    if taken.email {
        return Err(email_taken());
    }
    let phone = phone?;
    if taken.phone {
        return Err(Error::unprocessable("phone_exists", "Phone number already registered by another user"));
    }
    Ok(Contacts { email, phone })
}

/// How a new account gets its password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewPassword<'a> {
    /// This one.
    Given(&'a str),
    /// One whose hash was made elsewhere.
    Hashed(&'a str),
    /// One that nobody knows.
    Random,
}

/// The password of a new account. Its strength is not looked at; one that is too long breaks the reference down.
pub fn new_password(request: &AdminUser) -> Result<NewPassword<'_>> {
    match (request.password.as_deref(), request.password_hash.as_str()) {
        (None | Some(""), "") => Ok(NewPassword::Random),
        (None, hash) => Ok(NewPassword::Hashed(hash)),
        (Some(given), "") if given.len() > MAX_BYTES => Err(Error::broken("a password too long to be hashed")),
        (Some(given), "") => Ok(NewPassword::Given(given)),
        // As recorded, an empty password is given too.
        (Some(_), _) => Err(Error::invalid("Only a password or a password hash should be provided")),
    }
}

/// The id asked for, if one is.
pub fn new_id(request: &AdminUser) -> Result<Option<Uuid>> {
    if request.id.is_empty() {
        return Ok(None);
    }
    match parse_id(&request.id) {
        Some(id) if id.is_nil() => Err(Error::invalid("ID cannot be a nil uuid")),
        Some(id) => Ok(Some(id)),
        None => Err(Error::invalid("ID must conform to the uuid v4 format")),
    }
}

/// An id with or without hyphens, in braces, or after `urn:uuid:`.
fn parse_id(text: &str) -> Option<Uuid> {
    let braced = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let bare = braced.or_else(|| text.strip_prefix("urn:uuid:")).unwrap_or(text);
    let has_form = matches!(bare.len(), 32 | 36) && bare.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    Uuid::try_parse(bare).ok().filter(|_| has_form)
}

/// Whether a new account's user metadata is `null` until something sets it: as recorded, where its password's hash was
/// made elsewhere and nothing else is said.
pub fn has_null_metadata(request: &AdminUser) -> bool {
    !request.password_hash.is_empty() && request.user_metadata.is_none() && !request.email_confirm
}

/// What becomes of a ban.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ban {
    /// It is lifted.
    Lifted,
    /// It lasts until then, which may have passed already.
    Until(Time),
}

impl Ban {
    /// The moment in `banned_until`.
    pub fn until(self) -> Option<Time> {
        match self {
            Self::Lifted => None,
            Self::Until(then) => Some(then),
        }
    }
}

/// The ban asked for, if one is: `none` and no time at all lift it.
pub fn ban(request: &AdminUser, now: Time) -> Result<Option<Ban>> {
    let text = request.ban_duration.as_str();
    if matches!(text, "" | "none") {
        return Ok((text == "none").then_some(Ban::Lifted));
    }
    let duration = GoDuration::parse_or_say(text)
        .map_err(|bad| Error::invalid(format!("invalid format for ban duration: {bad}")))?;
    let until = now + TimeDelta::nanoseconds(duration.nanoseconds());
    Ok(Some(if duration.is_zero() { Ban::Lifted } else { Ban::Until(until) }))
}

/// What a new account is made of besides the request.
#[derive(Debug)]
pub struct New {
    /// Address and number.
    pub contacts: Contacts,
    /// The account's id.
    pub id: Uuid,
    /// The ids of its identities: of the address, of the number.
    pub identity_ids: [Uuid; 2],
    /// The audience where the request names none.
    pub audience: String,
    /// The role where the request names none.
    pub role: String,
    /// The password's hash.
    pub encrypted_password: String,
    /// A ban from the beginning.
    pub ban: Option<Ban>,
}

/// The new account with its identities. Confirming an address is told in the metadata, not in the identity.
pub fn account(request: AdminUser, new: New, now: Time) -> Account {
    let providers: Vec<&str> = new.contacts.all().map(|contact| contact.provider()).collect();
    let app_metadata =
        Map::from_iter([("provider".to_owned(), json!(providers.first())), ("providers".to_owned(), json!(providers))]);
    let mut user_metadata = request.user_metadata.unwrap_or_default();
    if request.email_confirm {
        user_metadata.insert("email_verified".to_owned(), json!(true));
    }
    let made = Change { contacts: new.contacts.clone(), ..Change::default() };
    Account {
        id: new.id,
        aud: if request.aud.is_empty() { new.audience } else { request.aud },
        role: if request.role.is_empty() { new.role } else { request.role.trim().to_owned() },
        identities: made.identities(new.id, new.identity_ids, now),
        email: new.contacts.email.map(Email::into_string),
        phone: new.contacts.phone.map(Phone::into_string),
        encrypted_password: Some(new.encrypted_password),
        email_confirmed_at: request.email_confirm.then_some(now),
        phone_confirmed_at: request.phone_confirm.then_some(now),
        app_metadata: merged(app_metadata, &request.app_metadata.unwrap_or_default()),
        user_metadata,
        banned_until: new.ban.and_then(Ban::until),
        created_at: now,
        updated_at: now,
        ..Account::default()
    }
}

/// What changes in an account; all at once, nothing is confirmed by its owner and nobody is told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    /// The new role.
    pub role: Option<String>,
    /// The new address and number.
    pub contacts: Contacts,
    /// The address counts as confirmed.
    pub confirms_email: bool,
    /// The number counts as confirmed.
    pub confirms_phone: bool,
    /// The new password's hash; all sessions and pending secrets go with the old one.
    pub encrypted_password: Option<String>,
    /// Members of `app_metadata` to set, and to take away where null.
    pub app_metadata: Option<Map<String, Value>>,
    /// Members of `user_metadata` to set, and to take away where null.
    pub user_metadata: Option<Map<String, Value>>,
    /// What becomes of a ban.
    pub ban: Option<Ban>,
}

/// The change that a request asks for, without its password. `id`, `aud` and `password_hash` are not looked at.
pub fn change(request: &AdminUser, now: Time) -> Result<Change> {
    let contacts = Contacts { email: email(request)?, phone: phone(request)? };
    let ban = ban(request, now)?;
    let verified = Map::from_iter([("email_verified".to_owned(), json!(true))]);
    let user_metadata = match (request.email_confirm, &request.user_metadata) {
        (true, given) => Some(verified.into_iter().chain(given.clone().unwrap_or_default()).collect()),
        (false, given) => given.clone(),
    };
    Ok(Change {
        role: Some(&request.role).filter(|role| !role.is_empty()).map(|role| role.trim().to_owned()),
        contacts,
        confirms_email: request.email_confirm,
        confirms_phone: request.phone_confirm,
        encrypted_password: None,
        app_metadata: request.app_metadata.clone(),
        user_metadata,
        ban,
    })
}

impl Change {
    /// Whether an anonymous account becomes somebody's: only by an address or number that is confirmed with it.
    pub fn makes_permanent(&self) -> bool {
        (self.contacts.email.is_some() && self.confirms_email) || (self.contacts.phone.is_some() && self.confirms_phone)
    }

    /// Whether pending secrets are of no use any more.
    pub fn clears_pending(&self) -> bool {
        self.confirms_email || self.confirms_phone || self.encrypted_password.is_some()
    }

    /// The identities of the new address and number, verified or not.
    pub fn identities(&self, account: Uuid, ids: [Uuid; 2], now: Time) -> Vec<Identity> {
        let identity = |(n, (contact, id)): (i64, (Contact, Uuid))| {
            let at = now + TimeDelta::microseconds(n);
            of_contact(id, account, &contact, self.identity_data(account, &contact), at)
        };
        let [of_email, of_phone] = ids;
        let id = |contact: Contact| match contact {
            Contact::Email(_) => (contact, of_email),
            Contact::Phone(_) => (contact, of_phone),
        };
        (0..).zip(self.contacts.all().map(id)).map(identity).collect()
    }

    fn identity_data(&self, account: Uuid, contact: &Contact) -> Map<String, Value> {
        let is_email = matches!(contact, Contact::Email(_));
        Map::from_iter([
            ("sub".to_owned(), json!(account)),
            (contact.provider().to_owned(), json!(contact.as_str())),
            ("email_verified".to_owned(), json!(is_email && self.confirms_email)),
            ("phone_verified".to_owned(), json!(!is_email && self.confirms_phone)),
        ])
    }

    /// Has `app_metadata` say the providers of that account, unless the request says others.
    pub fn keep_providers(&mut self, account: &Account) {
        let metadata = self.app_metadata.get_or_insert_default();
        for (name, value) in providers(account) {
            metadata.entry(name).or_insert(value);
        }
    }

    /// The account as the reference answers it: identities that were there look as they did before, and so does the
    /// moment of the first confirmation.
    #[must_use]
    pub fn applied(&self, mut account: Account, identities: Vec<Identity>, now: Time) -> Account {
        if *self == Self::default() {
            return account;
        }
        account.updated_at = now;
        if let Some(role) = &self.role {
            account.role.clone_from(role);
        }
        if self.encrypted_password.is_some() {
            forget_pending(&mut account);
        }
        if self.confirms_email {
            account.email_confirmed_at = Some(now);
        }
        if self.confirms_phone {
            account.phone_confirmed_at = Some(now);
        }
        if let Some(email) = &self.contacts.email {
            account.email = Some(email.as_str().to_owned());
        }
        if let Some(phone) = &self.contacts.phone {
            account.phone = Some(phone.as_str().to_owned());
        }
        account.is_anonymous &= !self.makes_permanent();
        let known = |new: &Identity| account.identities.iter().any(|old| old.provider == new.provider);
        let new: Vec<Identity> = identities.into_iter().filter(|identity| !known(identity)).collect();
        account.identities.extend(new);
        account.app_metadata = merged(account.app_metadata, self.app_metadata.as_ref().unwrap_or(&Map::new()));
        account.user_metadata = merged(account.user_metadata, self.user_metadata.as_ref().unwrap_or(&Map::new()));
        account.banned_until = self.ban.map_or(account.banned_until, Ban::until);
        account
    }
}

/// A new password takes what was asked for under the old one with it.
fn forget_pending(account: &mut Account) {
    account.confirmation_sent_at = None;
    account.recovery_sent_at = None;
    account.email_change_sent_at = None;
    account.phone_change_sent_at = None;
    account.reauthentication_sent_at = None;
}

#[cfg(test)]
mod tests;
