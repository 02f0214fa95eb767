//! MFA factors and passkeys.

use std::time::Duration;

use crate::config::problem::Problem;

use super::rows::{
    Section, at_least_seconds, between, count, digits, list, number, or_seconds, span, switch, text, whole,
};

pub(super) const SECTION: Section = Section {
    title: "MFA factors and passkeys",
    intro: "Recovery codes need their tables in schema `auth`, which the start creates where they are absent.",
    rows: &[
        number("GOTRUE_MFA_MAX_ENROLLED_FACTORS", |d, _, n| d.policy.mfa.max_enrolled_factors = truncated(n))
            .default("10")
            .doc("Maximum number of factors of a user.", "5"),
        whole("GOTRUE_MFA_MAX_VERIFIED_FACTORS", |d, _, n| d.policy.mfa.max_verified_factors = count(n))
            .with_unit("factors")
            .default("10")
            .doc("Maximum number of verified factors of a user.", "5"),
        number("GOTRUE_MFA_CHALLENGE_EXPIRY_DURATION", |d, _, n| {
            let least = Duration::from_mins(5);
            d.policy.mfa.challenge_expiry = Duration::try_from_secs_f64(n).map_or(least, |life| life.max(least));
        })
        .with_unit("seconds")
        .default("300")
        .doc("Lifetime of a challenge; never below 300.", "600"),
        span("GOTRUE_MFA_FACTOR_EXPIRY_DURATION", |d, _, v| d.policy.mfa.factor_expiry = at_least_seconds(v, 300))
            .default("5m")
            .doc(
                "An unverified factor older than this does not block the enrollment of a new one; never below 5m.",
                "10m",
            ),
        switch("GOTRUE_MFA_TOTP_ENROLL_ENABLED", |d, _, v| d.policy.mfa.totp_enroll_enabled = v)
            .default("true")
            .doc("TOTP factors can be enrolled.", "false"),
        switch("GOTRUE_MFA_TOTP_VERIFY_ENABLED", |d, _, v| d.policy.mfa.totp_verify_enabled = v)
            .default("true")
            .doc("TOTP factors can be verified.", "false"),
        switch("GOTRUE_MFA_PHONE_ENROLL_ENABLED", |d, _, v| d.policy.mfa.phone.enroll_enabled = v)
            .default("false")
            .doc("Phone factors can be enrolled.", "true"),
        switch("GOTRUE_MFA_PHONE_VERIFY_ENABLED", |d, _, v| d.policy.mfa.phone.verify_enabled = v)
            .default("false")
            .doc("Phone factors can be verified.", "true"),
        whole("GOTRUE_MFA_PHONE_OTP_LENGTH", |d, _, n| d.policy.mfa.phone.otp_length = digits(n))
            .with_unit("digits")
            .default("6")
            .doc("Length of a phone factor's code, 6 to 10; any other value means 6.", "8"),
        span("GOTRUE_MFA_PHONE_MAX_FREQUENCY", |d, _, v| d.policy.mfa.phone.max_frequency = or_seconds(v, 60))
            .default("1m")
            .doc("Minimum interval between two messages of a phone factor; 0s means the default.", "30s"),
        text("GOTRUE_MFA_PHONE_TEMPLATE", |d, _, v| {
            if !v.is_empty() {
                d.policy.mfa.phone.template = v;
            }
        })
        .default("Your code is {{ .Code }}")
        .doc("Text of a phone factor's message (a Go template over `.Code`).", "{{ .Code }} is your code"),
        switch("GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED", |d, _, v| d.policy.mfa.webauthn_enroll_enabled = v)
            .default("false")
            .doc("WebAuthn factors can be enrolled.", "true"),
        switch("GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED", |d, _, v| d.policy.mfa.webauthn_verify_enabled = v)
            .default("false")
            .doc("WebAuthn factors can be verified.", "true"),
        switch("GOTRUE_MFA_RECOVERY_CODES_ENROLL_ENABLED", |d, _, v| d.policy.mfa.recovery_codes.enroll_enabled = v)
            .default("false")
            .doc("Recovery codes can be generated.", "true"),
        switch("GOTRUE_MFA_RECOVERY_CODES_VERIFY_ENABLED", |d, _, v| d.policy.mfa.recovery_codes.verify_enabled = v)
            .default("false")
            .doc("Recovery codes are accepted as a second factor.", "true"),
        between("GOTRUE_MFA_RECOVERY_CODES_COUNT", 4, 16, |d, _, n| d.policy.mfa.recovery_codes.count = count(n))
            .with_unit("codes")
            .default("10")
            .doc("Number of recovery codes of a user, 4 to 16.", "8"),
        between("GOTRUE_MFA_RECOVERY_CODES_CODE_LENGTH", 13, 32, |d, _, n| {
            d.policy.mfa.recovery_codes.code_length = count(n);
        })
        .with_unit("characters")
        .default("16")
        .doc("Length of a recovery code, 13 to 32; each character has five bits.", "20"),
        between("GOTRUE_MFA_RECOVERY_CODES_MAX_VERIFY_ATTEMPTS", 3, 15, |d, _, n| {
            d.policy.mfa.recovery_codes.max_verify_attempts = u32::try_from(n).unwrap_or(3);
        })
        .with_unit("attempts")
        .default("5")
        .doc("Wrong recovery codes in a row that lock their verification, 3 to 15.", "3"),
        span("GOTRUE_MFA_RECOVERY_CODES_LOCKOUT_DURATION", |d, _, v| {
            let (least, most) = (Duration::from_mins(1), Duration::from_hours(24));
            if (least..=most).contains(&v.to_std()) {
                d.policy.mfa.recovery_codes.lockout_duration = v.to_std();
            } else {
                d.problems.push(Problem {
                    name: "GOTRUE_MFA_RECOVERY_CODES_LOCKOUT_DURATION".to_owned(),
                    complaint: "must be between 1m and 24h".to_owned(),
                    example: "15m".to_owned(),
                });
            }
        })
        .default("15m")
        .doc("How long verification of recovery codes is locked after wrong ones, 1m to 24h.", "30m"),
        text("GOTRUE_WEBAUTHN_RP_ID", |d, _, v| d.relying_party.0 = v)
            .with_alias("RP_ID")
            .doc("WebAuthn relying party id: the site's host name or a parent domain of it.", "example.com"),
        text("GOTRUE_WEBAUTHN_RP_DISPLAY_NAME", |d, _, v| d.relying_party.1 = v)
            .doc("WebAuthn relying party name.", "The Shop"),
        list("GOTRUE_WEBAUTHN_RP_ORIGINS", |d, _, v| d.relying_party.2 = v)
            .doc("Allowed origins of WebAuthn ceremonies.", "https://shop.example.com"),
        span("GOTRUE_WEBAUTHN_CHALLENGE_EXPIRY_DURATION", |d, _, v| d.policy.webauthn.challenge_expiry = v.to_std())
            .default("5m")
            .doc("Lifetime of a WebAuthn or passkey challenge.", "2m"),
        switch("GOTRUE_PASSKEY_ENABLED", |d, _, v| d.policy.passkeys.enabled = v)
            .default("false")
            .doc("Passkeys can be registered and used.", "true"),
        whole("GOTRUE_PASSKEY_MAX_PASSKEYS_PER_USER", |d, _, n| d.policy.passkeys.max_per_user = count(n))
            .with_unit("passkeys")
            .default("10")
            .doc("Maximum number of passkeys of a user.", "5"),
    ],
};

/// Truncates a number; negative ones and NaN become zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "truncation is intended, and the cast saturates"
)]
fn truncated(n: f64) -> usize {
    n as usize
}
