//! Captcha, linking, re-authentication, encryption at rest.

use super::super::draft::secrets;
use super::super::values::call_time_limit;
use super::rows::{Section, map, secret, span, switch, text};

pub(super) const SECTION: Section = Section {
    title: "Security",
    intro: "Encryption keys are 32 bytes in base64url without padding.",
    rows: &[
        switch("GOTRUE_SECURITY_CAPTCHA_ENABLED", |d, _, v| d.captcha.enabled = v)
            .default("false")
            .doc("Public routes require a captcha.", "true"),
        text("GOTRUE_SECURITY_CAPTCHA_PROVIDER", |d, _, v| d.captcha.provider = v)
            .default("hcaptcha")
            .doc("Captcha provider: `hcaptcha` or `turnstile`.", "turnstile"),
        secret("GOTRUE_SECURITY_CAPTCHA_SECRET", |d, _, v| d.captcha.secret = v)
            .doc("Secret key of that provider.", "0x0000000000000000000000000000000000000000"),
        span("GOTRUE_SECURITY_CAPTCHA_TIMEOUT", |d, _, v| d.captcha.timeout = call_time_limit(v))
            .default("10s")
            .doc("Time limit of a verification; 0s means the default.", "5s"),
        switch("GOTRUE_SECURITY_MANUAL_LINKING_ENABLED", |d, _, v| d.policy.security.manual_linking_enabled = v)
            .default("false")
            .doc("Users may link and unlink identities.", "true"),
        switch("GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION", |d, _, v| {
            d.policy.security.update_password_require_reauthentication = v;
        })
        .default("false")
        .doc("A password change requires a session of the last 24 hours or a reauthentication code.", "true"),
        switch("GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD", |d, _, v| {
            d.policy.security.update_password_require_current_password = v;
        })
        .default("false")
        .doc("A password change requires the current password.", "true"),
        switch("GOTRUE_SECURITY_SB_FORWARDED_FOR_ENABLED", |d, _, v| d.policy.security.sb_forwarded_for_enabled = v)
            .default("false")
            .doc("The client address is taken from `Sb-Forwarded-For`.", "true"),
        switch("GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPT", |d, _, v| d.encryption.encrypt = v)
            .default("false")
            .doc("Password hashes and secrets of factors and sessions are encrypted in the database.", "true"),
        text("GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY_ID", |d, _, v| d.encryption.key_id = v)
            .doc("Id of the encryption key.", "2026"),
        secret("GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY", |d, _, v| d.encryption.key = v)
            .doc("The encryption key.", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"),
        map("GOTRUE_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS", |d, _, v| d.encryption.keys = secrets(v)).hidden().doc(
            "Decryption keys by id; must include the encryption key.",
            "2026:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
        ),
    ],
};
