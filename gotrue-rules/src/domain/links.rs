//! Links that an administrator asks for (`endpoints.md` §13.2): which there are, what becomes of a request for one, and
//! the account that an invitation or such a link makes.

use serde_json::{Map, Value};

use super::contact::{Contact, Email};
use super::error::{Error, Result};
use super::policy::Policy;
use super::purpose::Purpose;
use super::sign_up::{Ids, account, require_a_password};
use super::user::{Account, Time};
use super::user_update::email_taken;

/// What a link is for, as an administrator names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkType {
    /// To confirm a new account's address.
    SignUp,
    /// To accept an invitation.
    Invite,
    /// To sign in.
    MagicLink,
    /// To get at a new password.
    Recovery,
    /// The old address's half of a change.
    EmailChangeCurrent,
    /// The new address's half of a change.
    EmailChangeNew,
}

impl LinkType {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::SignUp, Self::Invite, Self::MagicLink, Self::Recovery, Self::EmailChangeCurrent, Self::EmailChangeNew];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EmailChangeCurrent => "email_change_current",
            Self::EmailChangeNew => "email_change_new",
            other => other.purpose().link_type(),
        }
    }

    /// What the secret in the link is for.
    pub fn purpose(self) -> Purpose {
        match self {
            Self::SignUp => Purpose::SignUp,
            Self::Invite => Purpose::Invite,
            Self::MagicLink => Purpose::MagicLink,
            Self::Recovery => Purpose::Recovery,
            Self::EmailChangeCurrent | Self::EmailChangeNew => Purpose::EmailChange,
        }
    }

    /// The type of that name; 400 if there is none.
    pub fn parse(word: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| Error::invalid(format!("Invalid email action link type requested: {word}")))
    }
}

/// What a new account gets as its password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Password<'a> {
    /// That of the request, which must be strong.
    Given(&'a str),
    /// One that nobody knows.
    Random,
    /// None; whoever accepts the invitation sets one.
    Nothing,
}

/// What becomes of a request for a link.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<'a> {
    /// Nobody has the address: an account is made, and the link is of this type.
    New(LinkType, Password<'a>),
    /// The account that has it gets a link of this type.
    Known(LinkType, Box<Account>),
}

/// Decides, knowing who has the address. A sign-in link for nobody signs up.
pub fn decide<'a>(word: &str, password: &'a str, known: Option<Account>, policy: &Policy) -> Result<Outcome<'a>> {
    let asked = LinkType::parse(word)?;
    let Some(known) = known else {
        return match asked {
            LinkType::SignUp => {
                require_a_password(password)?;
                Ok(Outcome::New(LinkType::SignUp, Password::Given(password)))
            }
            LinkType::MagicLink => Ok(Outcome::New(LinkType::SignUp, Password::Random)),
            LinkType::Invite => Ok(Outcome::New(LinkType::Invite, Password::Nothing)),
            LinkType::Recovery | LinkType::EmailChangeCurrent | LinkType::EmailChangeNew => {
                Err(Error::not_found("user_not_found", "User with this email not found"))
            }
        };
    };
    match asked {
        LinkType::SignUp | LinkType::Invite => require_unconfirmed(&known)?,
        LinkType::EmailChangeCurrent if !policy.mail.secure_email_change => {
            return Err(Error::invalid("Enable secure email change to generate link for current email"));
        }
        _ => {}
    }
    Ok(Outcome::Known(asked, Box::new(known)))
}

/// Whoever has confirmed the address needs no invitation.
pub fn require_unconfirmed(known: &Account) -> Result<()> {
    if known.is_email_confirmed() { Err(email_taken()) } else { Ok(()) }
}

/// The account of somebody who did not ask for it. Its identity holds nothing but the address, and its metadata is what
/// was given, members that are null included.
pub fn newcomer(ids: Ids, email: Email, audience: String, data: Option<Map<String, Value>>, now: Time) -> Account {
    let made = account(ids, &Contact::Email(email), audience, &Map::new(), now);
    Account { user_metadata: data.unwrap_or_default(), ..made }
}

/// The account once the secret of such a link is stored; `new_email` is the address that it changes to, if it does.
#[must_use]
pub fn issued(account: Account, kind: LinkType, new_email: Option<&Email>, now: Time) -> Account {
    let mut account = Account { updated_at: now, ..account };
    match kind.purpose() {
        Purpose::Recovery | Purpose::MagicLink => account.recovery_sent_at = Some(now),
        Purpose::EmailChange => {
            account.email_change = new_email.map(|email| email.as_str().to_owned()).unwrap_or_default();
            account.email_change_confirm_status = 0;
            account.email_change_sent_at = Some(now);
        }
        Purpose::Invite => {
            account.invited_at = Some(now);
            account.confirmation_sent_at = Some(now);
        }
        _ => account.confirmation_sent_at = Some(now),
    }
    account
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn each_situation_has_its_outcome() {
        use LinkType::{Invite, SignUp};
        let pending = Account::default();
        let confirmed = Account { email_confirmed_at: Some(Time::default()), ..Account::default() };
        let new = |kind, password| Ok(Outcome::New(kind, password));
        let (known, taken) = (Ok(()), Err("email_exists"));
        for (word, nobody, unconfirmed, there) in [
            ("signup", new(SignUp, Password::Given("p")), known, taken),
            ("invite", new(Invite, Password::Nothing), known, taken),
            ("magiclink", new(SignUp, Password::Random), known, known),
            ("recovery", Err("user_not_found"), known, known),
            ("email_change_current", Err("user_not_found"), known, known),
            ("email_change_new", Err("user_not_found"), known, known),
            ("email_change", Err("validation_failed"), Err("validation_failed"), Err("validation_failed")),
            ("Signup", Err("validation_failed"), Err("validation_failed"), Err("validation_failed")),
            ("", Err("validation_failed"), Err("validation_failed"), Err("validation_failed")),
        ] {
            let mut policy = Policy::default();
            policy.mail.secure_email_change = true;
            assert_eq!(decide(word, "p", None, &policy).map_err(|error| error.code()), nobody, "{word}");
            for (account, expected) in [(&pending, unconfirmed), (&confirmed, there)] {
                let as_known = |kind| Outcome::Known(kind, Box::new(account.clone()));
                let expected = expected.map(|()| as_known(LinkType::parse(word).unwrap()));
                assert_eq!(
                    decide(word, "", Some(account.clone()), &policy).map_err(|error| error.code()),
                    expected,
                    "{word}"
                );
            }
        }
    }

    #[test]
    fn only_a_sign_up_wants_a_password() {
        let decided = |word| decide(word, "", None, &Policy::default());
        assert_eq!(decided("signup").unwrap_err().message(), "Signup requires a valid password");
        assert!(decided("magiclink").is_ok() && decided("invite").is_ok());
    }

    #[test]
    fn the_old_address_has_a_half_only_where_both_confirm() {
        let mut policy = Policy::default();
        policy.mail.secure_email_change = false;
        let known = Account::default();
        assert_eq!(
            decide("email_change_current", "", Some(known.clone()), &policy).unwrap_err().code(),
            "validation_failed"
        );
        assert!(decide("email_change_new", "", Some(known), &policy).is_ok());
    }

    #[test]
    fn a_newcomer_s_identity_holds_none_of_the_data() {
        let ids = Ids { account: Uuid::from_u128(1), identity: Uuid::from_u128(2) };
        let data = Map::from_iter([("team".to_owned(), json!("red")), ("gone".to_owned(), Value::Null)]);
        let email = Email::parse("ann@example.com").unwrap();
        let made = newcomer(ids, email, "a".into(), Some(data.clone()), Time::default());
        assert_eq!(made.user_metadata, data);
        assert!(!made.identities[0].identity_data.contains_key("team"));
        assert_eq!(made.email.as_deref(), Some("ann@example.com"));
    }
}
