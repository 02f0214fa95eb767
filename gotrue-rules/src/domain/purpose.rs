//! What one-time tokens are for. *Asking* ([`Purpose`]): which message is sent and where its hash is kept.
//! *Redeeming* ([`Kind`], the `type` of a request): which slots are searched. A slot does not name the effect.

use super::one_time_token::{Slot, TokenHash};
use super::policy::MailKind;
use super::user::Account;

/// Why a code is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To confirm a new account's address.
    SignUp,
    /// To invite somebody.
    Invite,
    /// To sign in without a password.
    MagicLink,
    /// To get at a new password.
    Recovery,
    /// To confirm a new address.
    EmailChange,
    /// To do something sensitive; by mail or by phone.
    Reauthentication,
    /// To confirm a number, or to sign in with it.
    Sms,
    /// To confirm a new number.
    PhoneChange,
}

impl Purpose {
    /// Where the hash is kept; a change of address also keeps one in [`Slot::EmailChangeCurrent`].
    pub fn slot(self) -> Slot {
        match self {
            Self::SignUp | Self::Invite | Self::Sms => Slot::Confirmation,
            Self::MagicLink | Self::Recovery => Slot::Recovery,
            Self::EmailChange => Slot::EmailChangeNew,
            Self::Reauthentication => Slot::Reauthentication,
            Self::PhoneChange => Slot::PhoneChange,
        }
    }

    /// Whether a message of this kind must keep a gap to the one before: an administrator who invites need not wait.
    pub fn keeps_gap(self) -> bool {
        self != Self::Invite
    }

    /// The mail that is sent; none for a text.
    pub fn mail(self) -> Option<MailKind> {
        match self {
            Self::SignUp => Some(MailKind::Confirmation),
            Self::Invite => Some(MailKind::Invite),
            Self::MagicLink => Some(MailKind::MagicLink),
            Self::Recovery => Some(MailKind::Recovery),
            Self::EmailChange => Some(MailKind::EmailChange),
            Self::Reauthentication => Some(MailKind::Reauthentication),
            Self::Sms | Self::PhoneChange => None,
        }
    }

    /// `type` in the link, and `email_action_type` for a hook.
    pub fn link_type(self) -> &'static str {
        match self {
            Self::SignUp => "signup",
            Self::Invite => "invite",
            Self::MagicLink => "magiclink",
            Self::Recovery => "recovery",
            Self::EmailChange => "email_change",
            Self::Reauthentication => "reauthentication",
            Self::Sms => "sms",
            Self::PhoneChange => "phone_change",
        }
    }

    /// `authentication_method` of the flow, where the message ends in one (PKCE).
    pub fn flow_method(self) -> &'static str {
        match self {
            Self::SignUp => "email/signup",
            other => other.link_type(),
        }
    }

    /// What a message that could not be sent is answered with, status 500.
    pub fn sending_failed(self) -> &'static str {
        match self {
            Self::SignUp => "Error sending confirmation email",
            Self::Invite => "Error sending invite email",
            Self::MagicLink => "Error sending magic link email",
            Self::Recovery => "Error sending recovery email",
            Self::EmailChange => "Error sending email change email",
            Self::Reauthentication => "Error sending reauthentication email",
            Self::Sms | Self::PhoneChange => "Error sending sms OTP",
        }
    }
}

/// What is redeemed: the `type` of `/verify`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A new account's address.
    SignUp,
    /// An invitation.
    Invite,
    /// A magic link.
    MagicLink,
    /// A recovery.
    Recovery,
    /// Either a sign-up or a magic link, whichever slot holds the hash.
    Email,
    /// One half, or the only half, of an address change.
    EmailChange,
    /// A number.
    Sms,
    /// A new number.
    PhoneChange,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::SignUp,
        Self::Invite,
        Self::MagicLink,
        Self::Recovery,
        Self::Email,
        Self::EmailChange,
        Self::Sms,
        Self::PhoneChange,
    ];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SignUp => "signup",
            Self::Invite => "invite",
            Self::MagicLink => "magiclink",
            Self::Recovery => "recovery",
            Self::Email => "email",
            Self::EmailChange => "email_change",
            Self::Sms => "sms",
            Self::PhoneChange => "phone_change",
        }
    }

    /// The kind of that name; letter case matters.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The slots that are searched, in this order.
    pub fn slots(self) -> &'static [Slot] {
        match self {
            Self::SignUp | Self::Invite | Self::Sms => &[Slot::Confirmation],
            Self::MagicLink | Self::Recovery => &[Slot::Recovery],
            Self::Email => &[Slot::Confirmation, Slot::Recovery],
            Self::EmailChange => &[Slot::EmailChangeCurrent, Slot::EmailChangeNew],
            Self::PhoneChange => &[Slot::PhoneChange],
        }
    }

    /// The slots a link's hash is looked up in; numbers have no links.
    pub fn link_slots(self) -> Option<&'static [Slot]> {
        if self.is_by_phone() { None } else { Some(self.slots()) }
    }

    /// Whether the code went to a phone.
    pub fn is_by_phone(self) -> bool {
        matches!(self, Self::Sms | Self::PhoneChange)
    }

    /// What a link of the type `email` turns out to be: a magic link if the account's recovery slot holds the very
    /// hash, else a sign-up. The other kinds are what they say.
    #[must_use]
    pub fn found_by_link(self, hash: &TokenHash, account: &Account) -> Self {
        match self {
            Self::Email if account.recovery_token == hash.as_str() => Self::MagicLink,
            Self::Email => Self::SignUp,
            other => other,
        }
    }
}

/// The authentication method that a PKCE link's `type` names, for finding its flow: anything ending in `signup`, and
/// the names of methods. `None`: no method, which the reference answers with the generic 500.
pub fn flow_method_of(link_type: &str) -> Option<&str> {
    const METHODS: [&str; 15] = [
        "oauth",
        "password",
        "otp",
        "totp",
        "recovery",
        "invite",
        "sso/saml",
        "magiclink",
        "email_change",
        "token_refresh",
        "mfa/phone",
        "mfa/webauthn",
        "web3",
        "passkey",
        "oauth_provider/authorization_code",
    ];
    if link_type.ends_with("signup") {
        return Some("email/signup");
    }
    METHODS.into_iter().find(|method| *method == link_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURPOSES: [Purpose; 8] = [
        Purpose::SignUp,
        Purpose::Invite,
        Purpose::MagicLink,
        Purpose::Recovery,
        Purpose::EmailChange,
        Purpose::Reauthentication,
        Purpose::Sms,
        Purpose::PhoneChange,
    ];

    #[test]
    fn what_is_asked_for_can_be_redeemed_from_its_slot() {
        for purpose in PURPOSES {
            match Kind::from_word(purpose.link_type()) {
                Some(kind) => assert!(kind.slots().contains(&purpose.slot()), "{purpose:?}"),
                None => assert_eq!(purpose, Purpose::Reauthentication),
            }
            assert!(purpose.sending_failed().starts_with("Error sending"));
        }
    }

    #[test]
    fn only_texts_have_no_mail_and_no_link() {
        for purpose in PURPOSES {
            let by_phone = Kind::from_word(purpose.link_type()).is_some_and(Kind::is_by_phone);
            assert_eq!(purpose.mail().is_none(), by_phone, "{purpose:?}");
        }
        for kind in Kind::ALL {
            assert_eq!(kind.link_slots().is_none(), kind.is_by_phone());
        }
    }

    #[test]
    fn kinds_are_case_sensitive() {
        assert_eq!(Kind::from_word("signup"), Some(Kind::SignUp));
        for word in ["Signup", "", "reauthentication", "sign_up"] {
            assert_eq!(Kind::from_word(word), None, "{word}");
        }
    }

    #[test]
    fn a_link_of_the_type_email_is_what_its_slot_says() {
        let hash = TokenHash::of("a@b", "1");
        let account = Account { recovery_token: hash.as_str().to_owned(), ..Account::default() };
        assert_eq!(Kind::Email.found_by_link(&hash, &account), Kind::MagicLink);
        assert_eq!(Kind::Email.found_by_link(&hash, &Account::default()), Kind::SignUp);
        assert_eq!(Kind::Invite.found_by_link(&hash, &account), Kind::Invite);
    }

    #[test]
    fn flows_are_found_by_the_type_of_the_link() {
        for (link_type, method) in [
            ("signup", Some("email/signup")),
            ("email/signup", Some("email/signup")),
            ("nonsignup", Some("email/signup")),
            ("magiclink", Some("magiclink")),
            ("email_change", Some("email_change")),
            ("invite", Some("invite")),
            ("email", None),
            ("sms", None),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(flow_method_of(link_type), method, "{link_type}");
        }
        for purpose in [Purpose::SignUp, Purpose::MagicLink, Purpose::Recovery, Purpose::EmailChange] {
            assert_eq!(flow_method_of(purpose.link_type()), Some(purpose.flow_method()));
        }
    }
}
