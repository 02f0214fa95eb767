//! Generated links (`/admin/generate_link`) and invitations: types, decisions, new users.

use foundation::email::Email;
use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;
use serde_json::{Map, Value};

use super::contact::Contact;
use super::policy::Policy;
use super::purpose::Purpose;
use super::sign_up::{NewUserIds, build_user, require_nonempty_password};
use super::user::User;
use super::user_update::email_taken;

/// The purpose of a link, as an administrator specifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkType {
    /// Confirms a new user's address.
    SignUp,
    /// Accepts an invitation.
    Invite,
    /// Signs in.
    MagicLink,
    /// Recovers access, to set a new password.
    Recovery,
    /// Confirms an email change at the current address.
    EmailChangeCurrent,
    /// Confirms an email change at the new address.
    EmailChangeNew,
}

impl LinkType {
    pub const ALL: [Self; 6] =
        [Self::SignUp, Self::Invite, Self::MagicLink, Self::Recovery, Self::EmailChangeCurrent, Self::EmailChangeNew];

    /// Returns the `type` value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EmailChangeCurrent => "email_change_current",
            Self::EmailChangeNew => "email_change_new",
            other => other.purpose().link_type(),
        }
    }

    /// Returns the purpose of the link's one-time token.
    pub fn purpose(self) -> Purpose {
        match self {
            Self::SignUp => Purpose::SignUp,
            Self::Invite => Purpose::Invite,
            Self::MagicLink => Purpose::MagicLink,
            Self::Recovery => Purpose::Recovery,
            Self::EmailChangeCurrent | Self::EmailChangeNew => Purpose::EmailChange,
        }
    }

    /// Parses a link type; 400 if it is unknown.
    pub fn parse(word: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| Error::invalid(format!("Invalid email action link type requested: {word}")))
    }
}

/// How a user that a link creates gets a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPassword<'a> {
    /// The password of the request, which must be strong.
    Plain(&'a str),
    /// A random password that is not disclosed.
    Random,
    /// No password; the invited user sets one.
    None,
}

/// Decision about a link request.
#[derive(Debug, Clone, PartialEq)]
pub enum GenerateLinkDecision<'a> {
    /// The address is free: a user is created and gets a link of this type.
    NewUser(LinkType, LinkPassword<'a>),
    /// The existing user gets a link of this type.
    ExistingUser(LinkType, Box<User>),
}

/// Decides about a link request. A magic link for an unknown address becomes a sign-up link.
pub fn decide<'a>(
    word: &str,
    password: &'a str,
    known: Option<User>,
    policy: &Policy,
) -> Result<GenerateLinkDecision<'a>> {
    let link_type = LinkType::parse(word)?;
    let Some(known) = known else {
        return match link_type {
            LinkType::SignUp => {
                require_nonempty_password(password)?;
                Ok(GenerateLinkDecision::NewUser(LinkType::SignUp, LinkPassword::Plain(password)))
            }
            LinkType::MagicLink => Ok(GenerateLinkDecision::NewUser(LinkType::SignUp, LinkPassword::Random)),
            LinkType::Invite => Ok(GenerateLinkDecision::NewUser(LinkType::Invite, LinkPassword::None)),
            LinkType::Recovery | LinkType::EmailChangeCurrent | LinkType::EmailChangeNew => {
                Err(Error::new(ErrorCode::UserNotFound, "User with this email not found"))
            }
        };
    };
    match link_type {
        LinkType::SignUp | LinkType::Invite => require_unconfirmed(&known)?,
        LinkType::EmailChangeCurrent if !policy.mail.secure_email_change => {
            return Err(Error::invalid("Enable secure email change to generate link for current email"));
        }
        _ => {}
    }
    Ok(GenerateLinkDecision::ExistingUser(link_type, Box::new(known)))
}

/// Rejects an invitation to a user with a confirmed address.
pub fn require_unconfirmed(known: &User) -> Result<()> {
    if known.is_email_confirmed() { Err(email_taken()) } else { Ok(()) }
}

/// Builds a user that someone else creates, such as by invitation.
/// The identity contains only the address; the metadata is stored as given, `null` members included.
pub fn build_invited_user(
    ids: NewUserIds,
    email: Email,
    audience: String,
    data: Option<Map<String, Value>>,
    now: Time,
) -> User {
    let made = build_user(ids, &Contact::Email(email), audience, &Map::new(), now);
    User { user_metadata: data.unwrap_or_default(), ..made }
}

/// Returns the user after the link's token is stored; `new_email` is the target of an email change.
#[must_use]
pub fn with_issued_link(user: User, kind: LinkType, new_email: Option<&Email>, now: Time) -> User {
    let mut user = User { updated_at: now, ..user };
    match kind.purpose() {
        Purpose::Recovery | Purpose::MagicLink => user.recovery_sent_at = Some(now),
        Purpose::EmailChange => {
            user.email_change = new_email.map(|email| email.as_str().to_owned()).unwrap_or_default();
            user.email_change_confirm_status = 0;
            user.email_change_sent_at = Some(now);
        }
        Purpose::Invite => {
            user.invited_at = Some(now);
            user.confirmation_sent_at = Some(now);
        }
        _ => user.confirmation_sent_at = Some(now),
    }
    user
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn generate_link_decisions() {
        use LinkType::{Invite, SignUp};
        let pending = User::default();
        let confirmed = User { email_confirmed_at: Some(Time::default()), ..User::default() };
        let new = |kind, password| Ok(GenerateLinkDecision::NewUser(kind, password));
        let (known, taken) = (Ok(()), Err("email_exists"));
        for (word, no_user, unconfirmed, there) in [
            ("signup", new(SignUp, LinkPassword::Plain("p")), known, taken),
            ("invite", new(Invite, LinkPassword::None), known, taken),
            ("magiclink", new(SignUp, LinkPassword::Random), known, known),
            ("recovery", Err("user_not_found"), known, known),
            ("email_change_current", Err("user_not_found"), known, known),
            ("email_change_new", Err("user_not_found"), known, known),
            ("email_change", Err("validation_failed"), Err("validation_failed"), Err("validation_failed")),
            ("Signup", Err("validation_failed"), Err("validation_failed"), Err("validation_failed")),
            ("", Err("validation_failed"), Err("validation_failed"), Err("validation_failed")),
        ] {
            let mut policy = Policy::default();
            policy.mail.secure_email_change = true;
            assert_eq!(decide(word, "p", None, &policy).map_err(|error| error.code().as_str()), no_user, "{word}");
            for (user, expected) in [(&pending, unconfirmed), (&confirmed, there)] {
                let as_known = |kind| GenerateLinkDecision::ExistingUser(kind, Box::new(user.clone()));
                let expected = expected.map(|()| as_known(LinkType::parse(word).unwrap()));
                assert_eq!(
                    decide(word, "", Some(user.clone()), &policy).map_err(|error| error.code().as_str()),
                    expected,
                    "{word}"
                );
            }
        }
    }

    #[test]
    fn only_signup_links_require_password() {
        let decided = |word| decide(word, "", None, &Policy::default());
        assert_eq!(decided("signup").unwrap_err().message(), "Signup requires a valid password");
        assert!(decided("magiclink").is_ok() && decided("invite").is_ok());
    }

    #[test]
    fn current_email_link_requires_secure_email_change() {
        let mut policy = Policy::default();
        policy.mail.secure_email_change = false;
        let known = User::default();
        assert_eq!(
            decide("email_change_current", "", Some(known.clone()), &policy).unwrap_err().code().as_str(),
            "validation_failed"
        );
        assert!(decide("email_change_new", "", Some(known), &policy).is_ok());
    }

    #[test]
    fn invited_user_identity_omits_metadata() {
        let ids = NewUserIds { user: Uuid::from_u128(1), identity: Uuid::from_u128(2) };
        let data = Map::from_iter([("team".to_owned(), json!("red")), ("gone".to_owned(), Value::Null)]);
        let email = Email::parse("ann@example.com").unwrap();
        let made = build_invited_user(ids, email, "a".into(), Some(data.clone()), Time::default());
        assert_eq!(made.user_metadata, data);
        assert!(!made.identities[0].identity_data.contains_key("team"));
        assert_eq!(made.email.as_deref(), Some("ann@example.com"));
    }
}
