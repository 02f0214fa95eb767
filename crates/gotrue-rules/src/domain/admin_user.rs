//! Validation and building of users that an administrator creates or updates (`/admin/users`).

use chrono::TimeDelta;
use foundation::email::Email;
use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::contact::{Contact, Phone};
use super::identity::{identity_for_contact, merge_metadata, provider_metadata};
use super::password::{MAX_BYTES, too_long};
use super::user::{Identity, User};
use super::user_update::email_taken;
use crate::wire::go_duration::GoDuration;
use crate::wire::requests::AdminUserRequest;
use crate::wire::uuid::parse_uuid;

/// Returns the administrator as the audit log's actor: no user, named by the role of the token.
pub fn admin_actor(role: &str) -> User {
    User { email: Some(role.to_owned()), ..User::default() }
}

/// Validated e-mail address and phone number of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contacts {
    /// The address.
    pub email: Option<Email>,
    /// The number.
    pub phone: Option<Phone>,
}

impl Contacts {
    fn iter(&self) -> impl Iterator<Item = Contact> {
        let email = self.email.clone().map(Contact::Email);
        email.into_iter().chain(self.phone.clone().map(Contact::Phone))
    }
}

/// Which contacts of a request belong to another user already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TakenContacts {
    /// The address.
    pub email: bool,
    /// The number.
    pub phone: bool,
}

/// Longest role or audience that the database stores, in characters.
const MAX_ROLE_LENGTH: usize = 255;

/// Rejects a role or an audience that is too long for the database.
pub fn validate_lengths(request: &AdminUserRequest) -> Result<()> {
    for (name, text) in [("role", request.role.trim()), ("aud", &request.aud)] {
        if text.chars().count() > MAX_ROLE_LENGTH {
            return Err(Error::invalid(format!("{name} cannot be longer than {MAX_ROLE_LENGTH} characters")));
        }
    }
    Ok(())
}

/// Parses the e-mail address of a new user, who needs an address or a phone number.
pub fn parse_new_email(request: &AdminUserRequest) -> Result<Option<Email>> {
    if request.email.is_empty() && request.phone.is_empty() {
        return Err(Error::invalid("Cannot create a user without either an email or phone"));
    }
    parse_email(request)
}

/// Parses the e-mail address, if the request has one.
pub fn parse_email(request: &AdminUserRequest) -> Result<Option<Email>> {
    (!request.email.is_empty()).then(|| Email::parse(&request.email)).transpose()
}

/// Parses the phone number, if the request has one.
pub fn parse_phone(request: &AdminUserRequest) -> Result<Option<Phone>> {
    (!request.phone.is_empty()).then(|| Phone::parse(&request.phone)).transpose()
}

/// 404: no user has the id of the path.
pub fn user_not_found() -> Error {
    Error::new(ErrorCode::UserNotFound, "User not found")
}

/// Checks that no other user has the contacts.
/// A taken address is reported before a malformed number.
pub fn require_available_contacts(
    email: Option<Email>,
    phone: Result<Option<Phone>>,
    taken: TakenContacts,
) -> Result<Contacts> {
    if taken.email {
        return Err(email_taken());
    }
    let phone = phone?;
    if taken.phone {
        return Err(Error::new(ErrorCode::PhoneExists, "Phone number already registered by another user"));
    }
    Ok(Contacts { email, phone })
}

/// How a new user gets a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewPassword<'a> {
    /// The plain password of the request.
    Plain(&'a str),
    /// A password hash computed elsewhere.
    Hashed(&'a str),
    /// A random password that is not disclosed.
    Random,
}

/// Selects the password of a new user without checking its strength.
/// A password that is too long is a 400 with `is_overlong_input_error`, else a 500 as in GoTrue.
pub fn parse_new_password(request: &AdminUserRequest, is_overlong_input_error: bool) -> Result<NewPassword<'_>> {
    match (request.password.as_deref(), request.password_hash.as_str()) {
        (None | Some(""), "") => Ok(NewPassword::Random),
        (None, hash) => Ok(NewPassword::Hashed(hash)),
        (Some(given), "") if given.len() > MAX_BYTES && is_overlong_input_error => Err(too_long()),
        (Some(given), "") if given.len() > MAX_BYTES => {
            Err(Error::internal_server_error("a password too long to be hashed"))
        }
        (Some(given), "") => Ok(NewPassword::Plain(given)),
        // GoTrue treats an empty password as given.
        (Some(_), _) => Err(Error::invalid("Only a password or a password hash should be provided")),
    }
}

/// Parses the requested id, if there is one.
pub fn parse_requested_id(request: &AdminUserRequest) -> Result<Option<Uuid>> {
    if request.id.is_empty() {
        return Ok(None);
    }
    match parse_uuid(&request.id) {
        Some(id) if id.is_nil() => Err(Error::invalid("ID cannot be a nil uuid")),
        Some(id) => Ok(Some(id)),
        None => Err(Error::invalid("ID must conform to the uuid v4 format")),
    }
}

/// Whether the metadata of a new user is `null`, as in GoTrue.
/// It is with a password hash, without metadata and without confirmation of the address.
pub fn has_null_metadata(request: &AdminUserRequest) -> bool {
    !request.password_hash.is_empty() && request.user_metadata.is_none() && !request.email_confirm
}

/// Change of a user's ban.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BanChange {
    /// The ban is lifted.
    Lifted,
    /// The ban lasts until this time, which may be in the past.
    Until(Time),
}

impl BanChange {
    /// Returns the value of `banned_until`.
    pub fn banned_until(self) -> Option<Time> {
        match self {
            Self::Lifted => None,
            Self::Until(then) => Some(then),
        }
    }
}

/// Parses `ban_duration`: `none` and a zero duration lift the ban.
pub fn parse_ban(request: &AdminUserRequest, now: Time) -> Result<Option<BanChange>> {
    let text = request.ban_duration.as_str();
    if matches!(text, "" | "none") {
        return Ok((text == "none").then_some(BanChange::Lifted));
    }
    let duration = GoDuration::parse_with_error(text)
        .map_err(|bad| Error::invalid(format!("invalid format for ban duration: {bad}")))?;
    let until = now + TimeDelta::nanoseconds(duration.nanoseconds());
    Ok(Some(if duration.is_zero() { BanChange::Lifted } else { BanChange::Until(until) }))
}

/// Input for a new user in addition to the request.
#[derive(Debug)]
pub struct NewUser {
    /// Address and number.
    pub contacts: Contacts,
    /// The user's id.
    pub id: Uuid,
    /// The ids of the e-mail identity and the phone identity.
    pub identity_ids: [Uuid; 2],
    /// Default audience.
    pub audience: String,
    /// Default role.
    pub role: String,
    /// The password hash.
    pub encrypted_password: String,
    /// The initial ban.
    pub ban: Option<BanChange>,
}

/// Builds the new user with identities. Confirmation is recorded in the metadata, not in the identity.
pub fn build_user(request: AdminUserRequest, new: NewUser, now: Time) -> User {
    let providers: Vec<&str> = new.contacts.iter().map(|contact| contact.provider()).collect();
    let app_metadata =
        Map::from_iter([("provider".to_owned(), json!(providers.first())), ("providers".to_owned(), json!(providers))]);
    let mut user_metadata = request.user_metadata.unwrap_or_default();
    if request.email_confirm {
        user_metadata.insert("email_verified".to_owned(), json!(true));
    }
    let made = AdminUserChange { contacts: new.contacts.clone(), ..AdminUserChange::default() };
    User {
        id: new.id,
        aud: if request.aud.is_empty() { new.audience } else { request.aud },
        role: if request.role.is_empty() { new.role } else { request.role.trim().to_owned() },
        identities: made.build_identities(new.id, new.identity_ids, now),
        email: new.contacts.email.map(Email::into_string),
        phone: new.contacts.phone.map(Phone::into_string),
        encrypted_password: Some(new.encrypted_password),
        email_confirmed_at: request.email_confirm.then_some(now),
        phone_confirmed_at: request.phone_confirm.then_some(now),
        app_metadata: merge_metadata(app_metadata, &request.app_metadata.unwrap_or_default()),
        user_metadata,
        banned_until: new.ban.and_then(BanChange::banned_until),
        created_at: now,
        updated_at: now,
        ..User::default()
    }
}

/// Changes of a user by an administrator.
/// They apply at once, without confirmation and without messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AdminUserChange {
    /// The new role.
    pub role: Option<String>,
    /// The new address and number.
    pub contacts: Contacts,
    /// The address becomes confirmed.
    pub is_email_confirmed: bool,
    /// The number becomes confirmed.
    pub is_phone_confirmed: bool,
    /// The new password hash; a new password ends all sessions and deletes pending one-time tokens.
    pub encrypted_password: Option<String>,
    /// Members of `app_metadata` to set, or to remove where `null`.
    pub app_metadata: Option<Map<String, Value>>,
    /// Members of `user_metadata` to set, or to remove where `null`.
    pub user_metadata: Option<Map<String, Value>>,
    /// Change of the ban.
    pub ban: Option<BanChange>,
}

/// Parses the changes of a request, except the password. Ignores `id`, `aud` and `password_hash`.
pub fn parse_change(request: &AdminUserRequest, now: Time) -> Result<AdminUserChange> {
    let contacts = Contacts { email: parse_email(request)?, phone: parse_phone(request)? };
    let ban = parse_ban(request, now)?;
    let verified = Map::from_iter([("email_verified".to_owned(), json!(true))]);
    let user_metadata = match (request.email_confirm, &request.user_metadata) {
        (true, given) => Some(verified.into_iter().chain(given.clone().unwrap_or_default()).collect()),
        (false, given) => given.clone(),
    };
    Ok(AdminUserChange {
        role: Some(&request.role).filter(|role| !role.is_empty()).map(|role| role.trim().to_owned()),
        contacts,
        is_email_confirmed: request.email_confirm,
        is_phone_confirmed: request.phone_confirm,
        encrypted_password: None,
        app_metadata: request.app_metadata.clone(),
        user_metadata,
        ban,
    })
}

impl AdminUserChange {
    /// Whether an anonymous user becomes permanent: only with a contact confirmed in the same request.
    pub fn should_become_permanent(&self) -> bool {
        (self.contacts.email.is_some() && self.is_email_confirmed)
            || (self.contacts.phone.is_some() && self.is_phone_confirmed)
    }

    /// Whether the change invalidates pending one-time tokens.
    pub fn should_clear_pending(&self) -> bool {
        self.is_email_confirmed || self.is_phone_confirmed || self.encrypted_password.is_some()
    }

    /// Builds the identities of the new address and number.
    pub fn build_identities(&self, user: Uuid, ids: [Uuid; 2], now: Time) -> Vec<Identity> {
        let identity = |(n, (contact, id)): (i64, (Contact, Uuid))| {
            let at = now + TimeDelta::microseconds(n);
            identity_for_contact(id, user, &contact, self.identity_data(user, &contact), at)
        };
        let [of_email, of_phone] = ids;
        let id = |contact: Contact| match contact {
            Contact::Email(_) => (contact, of_email),
            Contact::Phone(_) => (contact, of_phone),
        };
        (0..).zip(self.contacts.iter().map(id)).map(identity).collect()
    }

    fn identity_data(&self, user: Uuid, contact: &Contact) -> Map<String, Value> {
        let is_email = matches!(contact, Contact::Email(_));
        Map::from_iter([
            ("sub".to_owned(), json!(user)),
            (contact.provider().to_owned(), json!(contact.as_str())),
            ("email_verified".to_owned(), json!(is_email && self.is_email_confirmed)),
            ("phone_verified".to_owned(), json!(!is_email && self.is_phone_confirmed)),
        ])
    }

    /// Merges the user's provider members into `app_metadata`, unless the request sets them.
    pub fn merge_providers(&mut self, user: &User) {
        let metadata = self.app_metadata.get_or_insert_default();
        for (name, value) in provider_metadata(user) {
            metadata.entry(name).or_insert(value);
        }
    }

    /// Returns the user as GoTrue answers it: identities and first confirmation time are unchanged.
    #[must_use]
    pub fn apply_to(&self, mut user: User, identities: Vec<Identity>, now: Time) -> User {
        if *self == Self::default() {
            return user;
        }
        user.updated_at = now;
        if let Some(role) = &self.role {
            user.role.clone_from(role);
        }
        if self.encrypted_password.is_some() {
            clear_pending_timestamps(&mut user);
        }
        if self.is_email_confirmed {
            user.email_confirmed_at = Some(now);
        }
        if self.is_phone_confirmed {
            user.phone_confirmed_at = Some(now);
        }
        if let Some(email) = &self.contacts.email {
            user.email = Some(email.as_str().to_owned());
        }
        if let Some(phone) = &self.contacts.phone {
            user.phone = Some(phone.as_str().to_owned());
        }
        user.is_anonymous &= !self.should_become_permanent();
        let known = |new: &Identity| user.identities.iter().any(|old| old.provider == new.provider);
        let new: Vec<Identity> = identities.into_iter().filter(|identity| !known(identity)).collect();
        user.identities.extend(new);
        user.app_metadata = merge_metadata(user.app_metadata, self.app_metadata.as_ref().unwrap_or(&Map::new()));
        user.user_metadata = merge_metadata(user.user_metadata, self.user_metadata.as_ref().unwrap_or(&Map::new()));
        user.banned_until = self.ban.map_or(user.banned_until, BanChange::banned_until);
        user
    }
}

/// Clears the send times of pending one-time tokens, which a new password invalidates.
fn clear_pending_timestamps(user: &mut User) {
    user.confirmation_sent_at = None;
    user.recovery_sent_at = None;
    user.email_change_sent_at = None;
    user.phone_change_sent_at = None;
    user.reauthentication_sent_at = None;
}

#[cfg(test)]
mod tests;
