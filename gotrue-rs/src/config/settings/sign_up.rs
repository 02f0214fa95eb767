//! Sign-up.

use super::rows::{Section, list, switch};

pub(super) const SECTION: Section = Section {
    title: "Sign-up",
    intro: "",
    rows: &[
        switch("GOTRUE_DISABLE_SIGNUP", |d, _, v| d.policy.sign_up.disabled = v)
            .default("false")
            .doc("Disables sign-up; only administrators can create users.", "true"),
        switch("GOTRUE_EXTERNAL_EMAIL_ENABLED", |d, _, v| d.policy.sign_up.email_enabled = v)
            .default("true")
            .doc("Sign-up and sign-in by e-mail address.", "false"),
        switch("GOTRUE_EXTERNAL_EMAIL_MAGIC_LINK_ENABLED", |d, _, v| d.policy.sign_up.magic_link_enabled = v)
            .default("true")
            .doc("Sign-in by magic link.", "false"),
        list("GOTRUE_EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES", |d, _, v| d.policy.mail.authorized_addresses = v)
            .doc("Addresses that mail is sent to, ignoring case and `+label`; empty: all.", "team@example.com"),
        switch("GOTRUE_EXTERNAL_PHONE_ENABLED", |d, _, v| d.policy.sign_up.phone_enabled = v)
            .default("false")
            .doc("Sign-up and sign-in by phone number.", "true"),
        switch("GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED", |d, _, v| d.policy.sign_up.anonymous_enabled = v)
            .default("false")
            .doc("Anonymous users.", "true"),
    ],
};
