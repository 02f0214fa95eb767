//! Purposes of one-time tokens.
//!
//! [`Purpose`]: why a token is sent, which selects the message and the column of its hash. [`VerificationType`]: the
//! `type` of a verification request, which selects the columns to search. A column does not determine the effect.

use super::one_time_token::{OneTimeTokenKind, TokenHash};
use super::policy::MailKind;
use super::user::User;

/// Why a one-time token is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Confirmation of a new address.
    SignUp,
    /// An invitation.
    Invite,
    /// Sign-in without a password.
    MagicLink,
    /// Password recovery.
    Recovery,
    /// Confirmation of an email change.
    EmailChange,
    /// Reauthentication before a sensitive change, by e-mail or SMS.
    Reauthentication,
    /// Confirmation of a number, or sign-in with it.
    Sms,
    /// Confirmation of a phone change.
    PhoneChange,
}

impl Purpose {
    /// Returns where the hash is stored.
    /// An email change also stores one in [`OneTimeTokenKind::EmailChangeCurrent`].
    pub fn token_kind(self) -> OneTimeTokenKind {
        match self {
            Self::SignUp | Self::Invite | Self::Sms => OneTimeTokenKind::Confirmation,
            Self::MagicLink | Self::Recovery => OneTimeTokenKind::Recovery,
            Self::EmailChange => OneTimeTokenKind::EmailChangeNew,
            Self::Reauthentication => OneTimeTokenKind::Reauthentication,
            Self::PhoneChange => OneTimeTokenKind::PhoneChange,
        }
    }

    /// Whether the minimum interval between messages applies; it does not for invitations.
    pub fn has_minimum_interval(self) -> bool {
        self != Self::Invite
    }

    /// Returns the e-mail to send; none for an SMS.
    pub fn mail_kind(self) -> Option<MailKind> {
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

    /// Returns `type` of the link and `email_action_type` of the hook.
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

    /// Returns `authentication_method` of the PKCE flow state.
    pub fn flow_authentication_method(self) -> &'static str {
        match self {
            Self::SignUp => "email/signup",
            other => other.link_type(),
        }
    }

    /// Returns the message of a failed delivery, status 500.
    pub fn delivery_error_message(self) -> &'static str {
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

/// The `type` of `/verify`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VerificationType {
    /// A new user's address.
    SignUp,
    /// An invitation.
    Invite,
    MagicLink,
    Recovery,
    /// A sign-up or a magic link, depending on the column with the hash.
    Email,
    /// An email change: the first, second or only confirmation.
    EmailChange,
    /// A phone number.
    Sms,
    PhoneChange,
}

impl VerificationType {
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

    /// Returns the word of the API.
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

    /// Parses a type; letter case matters.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Returns the token kinds to search, in this order.
    pub fn token_kinds(self) -> &'static [OneTimeTokenKind] {
        match self {
            Self::SignUp | Self::Invite | Self::Sms => &[OneTimeTokenKind::Confirmation],
            Self::MagicLink | Self::Recovery => &[OneTimeTokenKind::Recovery],
            Self::Email => &[OneTimeTokenKind::Confirmation, OneTimeTokenKind::Recovery],
            Self::EmailChange => &[OneTimeTokenKind::EmailChangeCurrent, OneTimeTokenKind::EmailChangeNew],
            Self::PhoneChange => &[OneTimeTokenKind::PhoneChange],
        }
    }

    /// Returns the token kinds for a link's hash; SMS types have no links.
    pub fn link_token_kinds(self) -> Option<&'static [OneTimeTokenKind]> {
        if self.is_by_phone() { None } else { Some(self.token_kinds()) }
    }

    /// Whether the code was sent by SMS.
    pub fn is_by_phone(self) -> bool {
        matches!(self, Self::Sms | Self::PhoneChange)
    }

    /// Resolves the type `email` of a link; other types are returned unchanged.
    /// It is a magic link if the recovery column contains the hash, else a sign-up.
    #[must_use]
    pub fn resolve_for_link(self, hash: &TokenHash, user: &User) -> Self {
        match self {
            Self::Email if user.recovery_token == hash.as_str() => Self::MagicLink,
            Self::Email => Self::SignUp,
            other => other,
        }
    }
}

/// Returns the authentication method that a PKCE link's `type` denotes, to find its flow state.
///
/// This is any type that ends in `signup`, and the names of methods. `None` is the generic 500, as in GoTrue.
pub fn flow_method_for_link_type(link_type: &str) -> Option<&str> {
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
    fn every_purpose_can_be_verified_from_its_column() {
        for purpose in PURPOSES {
            match VerificationType::parse(purpose.link_type()) {
                Some(kind) => assert!(kind.token_kinds().contains(&purpose.token_kind()), "{purpose:?}"),
                None => assert_eq!(purpose, Purpose::Reauthentication),
            }
            assert!(purpose.delivery_error_message().starts_with("Error sending"));
        }
    }

    #[test]
    fn only_sms_purposes_have_no_mail_and_no_link() {
        for purpose in PURPOSES {
            let by_phone = VerificationType::parse(purpose.link_type()).is_some_and(VerificationType::is_by_phone);
            assert_eq!(purpose.mail_kind().is_none(), by_phone, "{purpose:?}");
        }
        for kind in VerificationType::ALL {
            assert_eq!(kind.link_token_kinds().is_none(), kind.is_by_phone());
        }
    }

    #[test]
    fn verification_types_are_case_sensitive() {
        assert_eq!(VerificationType::parse("signup"), Some(VerificationType::SignUp));
        for word in ["Signup", "", "reauthentication", "sign_up"] {
            assert_eq!(VerificationType::parse(word), None, "{word}");
        }
    }

    #[test]
    fn email_link_type_resolves_by_column() {
        let hash = TokenHash::new("a@b", "1");
        let user = User { recovery_token: hash.as_str().to_owned(), ..User::default() };
        assert_eq!(VerificationType::Email.resolve_for_link(&hash, &user), VerificationType::MagicLink);
        assert_eq!(VerificationType::Email.resolve_for_link(&hash, &User::default()), VerificationType::SignUp);
        assert_eq!(VerificationType::Invite.resolve_for_link(&hash, &user), VerificationType::Invite);
    }

    #[test]
    fn flow_method_follows_from_link_type() {
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
            assert_eq!(flow_method_for_link_type(link_type), method, "{link_type}");
        }
        for purpose in [Purpose::SignUp, Purpose::MagicLink, Purpose::Recovery, Purpose::EmailChange] {
            assert_eq!(flow_method_for_link_type(purpose.link_type()), Some(purpose.flow_authentication_method()));
        }
    }
}
