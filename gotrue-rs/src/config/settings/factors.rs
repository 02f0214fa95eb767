//! Second factors, security keys, passkeys.

use std::time::Duration;

use super::{Section, at_least_seconds, count, digits, list, number, or_seconds, span, switch, text, whole};

pub(super) const SECTION: Section = Section {
    title: "Second factors and passkeys",
    intro: "",
    rows: &[
        number("GOTRUE_MFA_MAX_ENROLLED_FACTORS", |d, _, n| d.policy.mfa.max_enrolled_factors = truncated(n))
            .default("10")
            .doc("Most factors an account may have.", "5"),
        whole("GOTRUE_MFA_MAX_VERIFIED_FACTORS", |d, _, n| d.policy.mfa.max_verified_factors = count(n))
            .of("factors")
            .default("10")
            .doc("Most verified ones.", "5"),
        number("GOTRUE_MFA_CHALLENGE_EXPIRY_DURATION", |d, _, n| {
            let least = Duration::from_mins(5);
            d.policy.mfa.challenge_expiry = Duration::try_from_secs_f64(n).map_or(least, |life| life.max(least));
        })
        .of("seconds")
        .default("300")
        .doc("Life of a challenge; never below 300.", "600"),
        span("GOTRUE_MFA_FACTOR_EXPIRY_DURATION", |d, _, v| d.policy.mfa.factor_expiry = at_least_seconds(v, 300))
            .default("5m")
            .doc(
                "An unverified factor older than this no longer stands in the way of a new one; never below 5m.",
                "10m",
            ),
        switch("GOTRUE_MFA_TOTP_ENROLL_ENABLED", |d, _, v| d.policy.mfa.totp_enroll_enabled = v)
            .default("true")
            .doc("Codes of an app may be set up.", "false"),
        switch("GOTRUE_MFA_TOTP_VERIFY_ENABLED", |d, _, v| d.policy.mfa.totp_verify_enabled = v)
            .default("true")
            .doc("Codes of an app are accepted.", "false"),
        switch("GOTRUE_MFA_PHONE_ENROLL_ENABLED", |d, _, v| d.policy.mfa.phone.enroll_enabled = v)
            .default("false")
            .doc("Codes by phone may be set up.", "true"),
        switch("GOTRUE_MFA_PHONE_VERIFY_ENABLED", |d, _, v| d.policy.mfa.phone.verify_enabled = v)
            .default("false")
            .doc("Codes by phone are accepted.", "true"),
        whole("GOTRUE_MFA_PHONE_OTP_LENGTH", |d, _, n| d.policy.mfa.phone.otp_length = digits(n))
            .of("digits")
            .default("6")
            .doc("Their digits, 6 to 10; anything else means 6.", "8"),
        span("GOTRUE_MFA_PHONE_MAX_FREQUENCY", |d, _, v| d.policy.mfa.phone.max_frequency = or_seconds(v, 60))
            .default("1m")
            .doc("Shortest time between two of them; 0s means the default.", "30s"),
        text("GOTRUE_MFA_PHONE_TEMPLATE", |d, _, v| {
            if !v.is_empty() {
                d.policy.mfa.phone.template = v;
            }
        })
        .default("Your code is {{ .Code }}")
        .doc("Their text (a Go template over `.Code`).", "{{ .Code }} is your code"),
        switch("GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED", |d, _, v| d.policy.mfa.webauthn_enroll_enabled = v)
            .default("false")
            .doc("Security keys may be set up.", "true"),
        switch("GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED", |d, _, v| d.policy.mfa.webauthn_verify_enabled = v)
            .default("false")
            .doc("Security keys are accepted.", "true"),
        text("GOTRUE_WEBAUTHN_RP_ID", |d, _, v| d.relying_party.0 = v)
            .or("RP_ID")
            .doc("Who we are to a security key: the site's host name or a parent of it.", "example.com"),
        text("GOTRUE_WEBAUTHN_RP_DISPLAY_NAME", |d, _, v| d.relying_party.1 = v).doc("The name shown.", "The Shop"),
        list("GOTRUE_WEBAUTHN_RP_ORIGINS", |d, _, v| d.relying_party.2 = v)
            .doc("Origins of the pages that may ask.", "https://shop.example.com"),
        span("GOTRUE_WEBAUTHN_CHALLENGE_EXPIRY_DURATION", |d, _, v| d.policy.webauthn.challenge_expiry = v.as_std())
            .default("5m")
            .doc("Life of a challenge to a security key or passkey.", "2m"),
        switch("GOTRUE_PASSKEY_ENABLED", |d, _, v| d.policy.passkeys.enabled = v)
            .default("false")
            .doc("Passkeys may be registered and used.", "true"),
        whole("GOTRUE_PASSKEY_MAX_PASSKEYS_PER_USER", |d, _, n| d.policy.passkeys.max_per_user = count(n))
            .of("passkeys")
            .default("10")
            .doc("Most of them an account may have.", "5"),
    ],
};

/// The whole part of a number; what is below zero, or none, counts as zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the whole part is what is wanted, and the cast saturates"
)]
fn truncated(n: f64) -> usize {
    n as usize
}
