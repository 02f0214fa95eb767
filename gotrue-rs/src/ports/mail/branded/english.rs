//! The texts in English: those of the mails without a brand.

use super::texts::{CommonTexts, MailTexts};

/// The texts of all mails with a link.
pub(super) const COMMON: CommonTexts = CommonTexts {
    address: "If the button does not work, open this address:",
    code: "Or enter this code where you asked for it:",
    minutes: "Link and code end in {number} minutes, and work once.",
    hour: "Link and code end in an hour, and work once.",
    hours: "Link and code end in {number} hours, and work once.",
    tomorrow: "Link and code end tomorrow, and work once.",
    days: "Link and code end in {number} days, and work once.",
};

/// The templates that the texts call.
pub(super) const PHRASES: &str = "\
{{ define \"place\" }}{{ with .SiteHost }} at <strong>{{ . }}</strong>{{ end }}{{ end }}
{{ define \"way\" }}{{ with .Provider }}{{ if eq . \"phone\" }}codes by text message{{ else }}{{ . }}{{ end }}{{ end }}{{ end }}
{{ define \"step\" }}{{ with .FactorType }}{{ if eq . \"totp\" }}an authenticator app{{ else if eq . \"phone\" }}\
codes by text message{{ else if eq . \"webauthn\" }}a security key{{ else }}{{ . }}{{ end }}{{ end }}{{ end }}";

const ALARM: &str = "If this wasn’t you, act now.";
const ACT: &str = "Wasn’t this you? Then reset your password now, and check how your account can be signed in to.";

/// The texts in the order of the kinds.
pub(super) const TEXTS: [MailTexts; 13] = [
    // Invite
    MailTexts {
        subject: "You've been invited",
        title: "You are invited",
        preview: "Accept the invitation to set up your account.",
        lead: "You have been invited to open an account{{ template \"place\" . }} with <strong>{{ .Email }}</strong>.",
        label: "Accept the invitation",
        note: "",
        closing: "You weren’t expecting this? Then just ignore this message, and nothing happens.",
    },
    // Confirmation
    MailTexts {
        subject: "Confirm your email address",
        title: "Confirm your email address",
        preview: "One click, and your account is ready.",
        lead: "Thank you for signing up{{ template \"place\" . }}. Please confirm that <strong>{{ .Email }}</strong> is \
             your address.",
        label: "Confirm email address",
        note: "",
        closing: "You didn’t sign up? Then just ignore this message: without your click the account stays unconfirmed and \
             cannot be used.",
    },
    // Recovery
    MailTexts {
        subject: "Reset your password",
        title: "Reset your password",
        preview: "Choose a new password with this link.",
        lead: "Somebody, hopefully you, asked for a new password for the account of <strong>{{ .Email }}</strong>{{ \
             template \"place\" . }}.",
        label: "Choose a new password",
        note: "",
        closing: "You didn’t ask for this? Then just ignore this message: your password stays as it is.",
    },
    // MagicLink
    MailTexts {
        subject: "Your sign-in link",
        title: "Your sign-in link",
        preview: "Sign in without a password.",
        lead: "Use this button to sign in{{ template \"place\" . }} as <strong>{{ .Email }}</strong>.",
        label: "Sign in",
        note: "Please don’t forward the link: whoever has it can sign in as you.",
        closing: "You didn’t try to sign in? Then just ignore this message.",
    },
    // EmailChange
    MailTexts {
        subject: "Confirm your new email address",
        title: "Confirm your new email address",
        preview: "Please confirm the change of your address.",
        lead: "The email address of your account{{ template \"place\" . }} is about to change from <strong>{{ .Email \
             }}</strong> to <strong>{{ .NewEmail }}</strong>. Please confirm the change.",
        label: "Confirm the change",
        note: "",
        closing: "Wasn’t this you? Then don’t click, and reset your password: somebody may be using your account.",
    },
    // Reauthentication
    MailTexts {
        subject: "{{ .Token }} is your verification code",
        title: "Your verification code",
        preview: "Enter this code to go on.",
        lead: "Enter this code{{ template \"place\" . }} to confirm that it is you:",
        label: "",
        note: "It works once, and only for a short time. Nobody who works for us will ever ask you for it.",
        closing: "You didn’t ask for a code? Then somebody who is signed in as you did: change your password.",
    },
    // PasswordChanged
    MailTexts {
        subject: "Your password was changed",
        title: "Your password was changed",
        preview: ALARM,
        lead: "The password of the account of <strong>{{ .Email }}</strong>{{ template \"place\" . }} has just been changed.",
        label: "",
        note: "",
        closing: ACT,
    },
    // EmailChanged
    MailTexts {
        subject: "Your email address was changed",
        title: "Your email address was changed",
        preview: ALARM,
        lead: "The email address of your account{{ template \"place\" . }} has just been changed from <strong>{{ .OldEmail \
             }}</strong> to <strong>{{ .Email }}</strong>. This is the last message to the old address.",
        label: "",
        note: "",
        closing: "Wasn’t this you? Then somebody else has your account: get in touch with the people who run the site.",
    },
    // PhoneChanged
    MailTexts {
        subject: "Your phone number was changed",
        title: "Your phone number was changed",
        preview: ALARM,
        lead: "The phone number of the account of <strong>{{ .Email }}</strong>{{ template \"place\" . }} has just been \
             changed{{ with .OldPhone }} from <strong>{{ . }}</strong>{{ end }}{{ with .Phone }} to <strong>{{ . \
             }}</strong>{{ end }}.",
        label: "",
        note: "",
        closing: ACT,
    },
    // IdentityLinked
    MailTexts {
        subject: "A new sign-in method was linked to your account",
        title: "A sign-in method was added",
        preview: ALARM,
        lead: "The account of <strong>{{ .Email }}</strong>{{ template \"place\" . }} can now also be signed in to with \
             <strong>{{ template \"way\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
    // IdentityUnlinked
    MailTexts {
        subject: "A sign-in method was removed from your account",
        title: "A sign-in method was removed",
        preview: ALARM,
        lead: "The account of <strong>{{ .Email }}</strong>{{ template \"place\" . }} can no longer be signed in to with \
             <strong>{{ template \"way\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
    // MfaFactorEnrolled
    MailTexts {
        subject: "A new verification method was added to your account",
        title: "A verification method was added",
        preview: ALARM,
        lead: "The account of <strong>{{ .Email }}</strong>{{ template \"place\" . }} is now also protected by a second \
             step: <strong>{{ template \"step\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
    // MfaFactorUnenrolled
    MailTexts {
        subject: "A verification method was removed from your account",
        title: "A verification method was removed",
        preview: ALARM,
        lead: "One of the second steps that protected the account of <strong>{{ .Email }}</strong>{{ template \"place\" . \
             }} has just been removed: <strong>{{ template \"step\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
];
