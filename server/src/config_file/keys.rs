//! Every key of `config.toml` that we know: its kind, and the setting of the auth server it becomes. The names are those of
//! the Supabase CLI's file; `*` stands for one name of the reader's choice, or of the list in [`names_below`].

/// What a value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// true or false.
    Bool,
    /// A whole number, zero or more.
    Count,
    /// Text.
    Text,
    /// A length of time in Go's notation: `90s`, `1h30m`.
    Duration,
    /// A list of texts.
    List,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// Whatever it is, we do not look at it.
    Any,
}

/// What becomes of a value.
#[derive(Debug, Clone, Copy)]
pub enum Use {
    /// The setting of that name (without `GOTRUE_`), with the CLI's default where it has one.
    Setting(&'static str, Option<&'static str>),
    /// The same, turned round: `enable_signup` is `DISABLE_SIGNUP`.
    Opposite(&'static str, &'static str),
    /// Read by a rule of its own, or by Basalt itself.
    Read,
    /// Known, and of no effect here.
    Nothing,
}

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Its full name.
    pub path: &'static str,
    /// What it must be.
    pub kind: Kind,
    /// What becomes of it.
    pub usage: Use,
}

const fn set(path: &'static str, kind: Kind, name: &'static str) -> Key {
    Key { path, kind, usage: Use::Setting(name, None) }
}

const fn or(path: &'static str, kind: Kind, name: &'static str, default: &'static str) -> Key {
    Key { path, kind, usage: Use::Setting(name, Some(default)) }
}

const fn not(path: &'static str, name: &'static str, default: &'static str) -> Key {
    Key { path, kind: Kind::Bool, usage: Use::Opposite(name, default) }
}

const fn read(path: &'static str, kind: Kind) -> Key {
    Key { path, kind, usage: Use::Read }
}

const fn idle(path: &'static str) -> Key {
    Key { path, kind: Kind::Any, usage: Use::Nothing }
}

use Kind::{Bool, Choice, Count, Duration, List, Text};
use gotrue_rules::domain::policy::PROVIDERS;

/// The sets of characters a password can be made to need.
pub const PASSWORD_REQUIREMENTS: &[&str] =
    &["", "letters_digits", "lower_upper_letters_digits", "lower_upper_letters_digits_symbols"];

/// The table.
pub const KEYS: &[Key] = &[
    idle("project_id"),
    // [api]
    read("api.enabled", Bool),
    read("api.port", Count),
    read("api.external_url", Text),
    read("api.tls.enabled", Bool),
    idle("api.tls.cert_path"),
    idle("api.tls.key_path"),
    idle("api.schemas"),
    idle("api.extra_search_path"),
    idle("api.max_rows"),
    idle("api.auto_expose_new_tables"),
    // [auth]
    read("auth.enabled", Bool),
    read("auth.site_url", Text),
    read("auth.external_url", Text),
    set("auth.additional_redirect_urls", List, "URI_ALLOW_LIST"),
    or("auth.jwt_expiry", Count, "JWT_EXP", "3600"),
    read("auth.jwt_issuer", Text),
    read("auth.signing_keys_path", Text),
    read("auth.jwt_secret", Text),
    read("auth.anon_key", Text),
    read("auth.service_role_key", Text),
    read("auth.publishable_key", Text),
    read("auth.secret_key", Text),
    or("auth.enable_refresh_token_rotation", Bool, "SECURITY_REFRESH_TOKEN_ROTATION_ENABLED", "true"),
    or("auth.refresh_token_reuse_interval", Count, "SECURITY_REFRESH_TOKEN_REUSE_INTERVAL", "10"),
    not("auth.enable_signup", "DISABLE_SIGNUP", "false"),
    or("auth.enable_anonymous_sign_ins", Bool, "EXTERNAL_ANONYMOUS_USERS_ENABLED", "false"),
    or("auth.enable_manual_linking", Bool, "SECURITY_MANUAL_LINKING_ENABLED", "false"),
    or("auth.minimum_password_length", Count, "PASSWORD_MIN_LENGTH", "6"),
    read("auth.password_requirements", Choice(PASSWORD_REQUIREMENTS)),
    or("auth.passkey.enabled", Bool, "PASSKEY_ENABLED", "false"),
    set("auth.webauthn.rp_id", Text, "WEBAUTHN_RP_ID"),
    set("auth.webauthn.rp_display_name", Text, "WEBAUTHN_RP_DISPLAY_NAME"),
    set("auth.webauthn.rp_origins", List, "WEBAUTHN_RP_ORIGINS"),
    // [auth.rate_limit]
    read("auth.rate_limit.email_sent", Count),
    or("auth.rate_limit.sms_sent", Count, "RATE_LIMIT_SMS_SENT", "30"),
    or("auth.rate_limit.anonymous_users", Count, "RATE_LIMIT_ANONYMOUS_USERS", "30"),
    or("auth.rate_limit.token_refresh", Count, "RATE_LIMIT_TOKEN_REFRESH", "150"),
    or("auth.rate_limit.sign_in_sign_ups", Count, "RATE_LIMIT_OTP", "30"),
    or("auth.rate_limit.token_verifications", Count, "RATE_LIMIT_VERIFY", "30"),
    or("auth.rate_limit.web3", Count, "RATE_LIMIT_WEB3", "30"),
    // [auth.captcha]
    set("auth.captcha.enabled", Bool, "SECURITY_CAPTCHA_ENABLED"),
    set("auth.captcha.provider", Choice(&["hcaptcha", "turnstile"]), "SECURITY_CAPTCHA_PROVIDER"),
    set("auth.captcha.secret", Text, "SECURITY_CAPTCHA_SECRET"),
    // [auth.sessions]
    read("auth.sessions.timebox", Duration),
    read("auth.sessions.inactivity_timeout", Duration),
    // [auth.email]
    or("auth.email.enable_signup", Bool, "EXTERNAL_EMAIL_ENABLED", "true"),
    or("auth.email.double_confirm_changes", Bool, "MAILER_SECURE_EMAIL_CHANGE_ENABLED", "true"),
    not("auth.email.enable_confirmations", "MAILER_AUTOCONFIRM", "true"),
    or("auth.email.secure_password_change", Bool, "SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION", "false"),
    or("auth.email.max_frequency", Duration, "SMTP_MAX_FREQUENCY", "1s"),
    or("auth.email.otp_length", Count, "MAILER_OTP_LENGTH", "6"),
    or("auth.email.otp_expiry", Count, "MAILER_OTP_EXP", "3600"),
    read("auth.email.smtp.enabled", Bool),
    set("auth.email.smtp.host", Text, "SMTP_HOST"),
    set("auth.email.smtp.port", Count, "SMTP_PORT"),
    set("auth.email.smtp.user", Text, "SMTP_USER"),
    set("auth.email.smtp.pass", Text, "SMTP_PASS"),
    set("auth.email.smtp.admin_email", Text, "SMTP_ADMIN_EMAIL"),
    set("auth.email.smtp.sender_name", Text, "SMTP_SENDER_NAME"),
    set("auth.email.template.*.subject", Text, "MAILER_SUBJECTS_*"),
    read("auth.email.template.*.content_path", Text),
    set("auth.email.notification.*.enabled", Bool, "MAILER_NOTIFICATIONS_*_ENABLED"),
    set("auth.email.notification.*.subject", Text, "MAILER_SUBJECTS_*_NOTIFICATION"),
    read("auth.email.notification.*.content_path", Text),
    // [auth.sms]
    or("auth.sms.enable_signup", Bool, "EXTERNAL_PHONE_ENABLED", "false"),
    // The CLI takes an absent key for false: any number would count as confirmed.
    not("auth.sms.enable_confirmations", "SMS_AUTOCONFIRM", "false"),
    or("auth.sms.template", Text, "SMS_TEMPLATE", "Your code is {{ .Code }}"),
    or("auth.sms.max_frequency", Duration, "SMS_MAX_FREQUENCY", "5s"),
    read("auth.sms.test_otp.*", Text),
    read("auth.sms.twilio.enabled", Bool),
    set("auth.sms.twilio.account_sid", Text, "SMS_TWILIO_ACCOUNT_SID"),
    set("auth.sms.twilio.auth_token", Text, "SMS_TWILIO_AUTH_TOKEN"),
    set("auth.sms.twilio.message_service_sid", Text, "SMS_TWILIO_MESSAGE_SERVICE_SID"),
    read("auth.sms.twilio_verify.enabled", Bool),
    set("auth.sms.twilio_verify.account_sid", Text, "SMS_TWILIO_VERIFY_ACCOUNT_SID"),
    set("auth.sms.twilio_verify.auth_token", Text, "SMS_TWILIO_VERIFY_AUTH_TOKEN"),
    set("auth.sms.twilio_verify.message_service_sid", Text, "SMS_TWILIO_VERIFY_MESSAGE_SERVICE_SID"),
    read("auth.sms.messagebird.enabled", Bool),
    set("auth.sms.messagebird.access_key", Text, "SMS_MESSAGEBIRD_ACCESS_KEY"),
    set("auth.sms.messagebird.originator", Text, "SMS_MESSAGEBIRD_ORIGINATOR"),
    read("auth.sms.textlocal.enabled", Bool),
    set("auth.sms.textlocal.api_key", Text, "SMS_TEXTLOCAL_API_KEY"),
    set("auth.sms.textlocal.sender", Text, "SMS_TEXTLOCAL_SENDER"),
    read("auth.sms.vonage.enabled", Bool),
    set("auth.sms.vonage.api_key", Text, "SMS_VONAGE_API_KEY"),
    set("auth.sms.vonage.api_secret", Text, "SMS_VONAGE_API_SECRET"),
    set("auth.sms.vonage.from", Text, "SMS_VONAGE_FROM"),
    // [auth.mfa]
    or("auth.mfa.max_enrolled_factors", Count, "MFA_MAX_ENROLLED_FACTORS", "10"),
    or("auth.mfa.totp.enroll_enabled", Bool, "MFA_TOTP_ENROLL_ENABLED", "false"),
    or("auth.mfa.totp.verify_enabled", Bool, "MFA_TOTP_VERIFY_ENABLED", "false"),
    or("auth.mfa.phone.enroll_enabled", Bool, "MFA_PHONE_ENROLL_ENABLED", "false"),
    or("auth.mfa.phone.verify_enabled", Bool, "MFA_PHONE_VERIFY_ENABLED", "false"),
    or("auth.mfa.phone.otp_length", Count, "MFA_PHONE_OTP_LENGTH", "6"),
    or("auth.mfa.phone.template", Text, "MFA_PHONE_TEMPLATE", "Your code is {{ .Code }}"),
    or("auth.mfa.phone.max_frequency", Duration, "MFA_PHONE_MAX_FREQUENCY", "5s"),
    or("auth.mfa.web_authn.enroll_enabled", Bool, "MFA_WEB_AUTHN_ENROLL_ENABLED", "false"),
    or("auth.mfa.web_authn.verify_enabled", Bool, "MFA_WEB_AUTHN_VERIFY_ENABLED", "false"),
    // [auth.hook.*]
    set("auth.hook.*.enabled", Bool, "HOOK_*_ENABLED"),
    set("auth.hook.*.uri", Text, "HOOK_*_URI"),
    set("auth.hook.*.secrets", Text, "HOOK_*_SECRETS"),
    // [auth.external.*]
    set("auth.external.*.enabled", Bool, "EXTERNAL_*_ENABLED"),
    set("auth.external.*.client_id", Text, "EXTERNAL_*_CLIENT_ID"),
    set("auth.external.*.secret", Text, "EXTERNAL_*_SECRET"),
    set("auth.external.*.url", Text, "EXTERNAL_*_URL"),
    read("auth.external.*.redirect_uri", Text),
    set("auth.external.*.skip_nonce_check", Bool, "EXTERNAL_*_SKIP_NONCE_CHECK"),
    set("auth.external.*.email_optional", Bool, "EXTERNAL_*_EMAIL_OPTIONAL"),
    // [auth.web3.*]
    set("auth.web3.*.enabled", Bool, "EXTERNAL_WEB3_*_ENABLED"),
    // [auth.oauth_server]
    or("auth.oauth_server.enabled", Bool, "OAUTH_SERVER_ENABLED", "false"),
    set("auth.oauth_server.allow_dynamic_registration", Bool, "OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION"),
    set("auth.oauth_server.authorization_url_path", Text, "OAUTH_SERVER_AUTHORIZATION_PATH"),
    // [functions.NAME]
    read("functions.*.enabled", Bool),
    read("functions.*.verify_jwt", Bool),
    idle("functions.*.import_map"),
    idle("functions.*.entrypoint"),
    idle("functions.*.static_files"),
    idle("functions.*.env.*"),
    // [db]: the database is ours alone and listens on no port
    idle("db.port"),
    idle("db.shadow_port"),
    idle("db.health_timeout"),
    idle("db.major_version"),
    idle("db.root_key"),
    // [inbucket], later [local_smtp]: our inbox is a page of the same server
    read("inbucket.enabled", Bool),
    idle("inbucket.port"),
    idle("inbucket.smtp_port"),
    idle("inbucket.pop3_port"),
    read("inbucket.admin_email", Text),
    read("inbucket.sender_name", Text),
    // [basalt]: what the CLI does not know
    read("basalt.host", Text),
    read("basalt.metrics_port", Count),
    read("basalt.log_level", Text),
    read("basalt.log_format", Choice(&["text", "json"])),
    read("basalt.trusted_proxies", List),
    read("basalt.http.max_connections", Count),
    read("basalt.http.max_connections_per_peer", Count),
    read("basalt.http.header_timeout", Duration),
    read("basalt.http.body_timeout", Duration),
    read("basalt.http.write_timeout", Duration),
    read("basalt.http.idle_timeout", Duration),
    set("basalt.database.max_connections", Count, "DB_MAX_POOL_SIZE"),
    set("basalt.database.max_lifetime", Duration, "DB_CONN_MAX_LIFETIME"),
    set("basalt.database.max_idle_time", Duration, "DB_CONN_MAX_IDLE_TIME"),
    read("basalt.development_pages", Bool),
    read("basalt.rate_limit.wrong_passwords", Count),
    read("basalt.rate_limit.wrong_codes", Count),
    read("basalt.rate_limit.messages", Count),
    set("basalt.mail.authorized_addresses", List, "EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES"),
    read("basalt.mail.headers.*", Text),
    read("basalt.mail.reply_to", Text),
    read("basalt.shop.owner", Text),
    read("basalt.shop.notices_an_hour", Count),
    read("basalt.inbox.token", Text),
    read("basalt.provider.stands_in_for", List),
    set("basalt.saml.enabled", Bool, "SAML_ENABLED"),
    set("basalt.saml.private_key", Text, "SAML_PRIVATE_KEY"),
    set("basalt.saml.private_key_next", Text, "SAML_PRIVATE_KEY_NEXT"),
    set("basalt.saml.allow_encrypted_assertions", Bool, "SAML_ALLOW_ENCRYPTED_ASSERTIONS"),
];

/// Tables of the CLI's file that belong to services we are not, with what they are.
pub const NOT_SERVED: &[(&str, &str)] = &[
    ("realtime", "the realtime service"),
    ("studio", "the dashboard"),
    ("storage", "file storage"),
    ("edge_runtime", "the runtime of your own edge functions"),
    ("analytics", "log analytics"),
    ("experimental", "experiments of the CLI"),
    ("remotes", "other projects"),
    ("db.pooler", "a connection pooler"),
    ("db.migrations", "migrations of your own schemas"),
    ("db.seed", "seed files"),
    ("db.vault", "the vault"),
    ("db.settings", "settings of the database"),
    ("db.network_restrictions", "network restrictions of a hosted database"),
    ("db.ssl_enforcement", "TLS of a hosted database"),
    ("auth.third_party", "tokens of other identity services"),
];

const MAILS: &[&str] = &["invite", "confirmation", "recovery", "magic_link", "email_change", "reauthentication"];

const NOTIFICATIONS: &[&str] = &[
    "password_changed",
    "email_changed",
    "phone_changed",
    "identity_linked",
    "identity_unlinked",
    "mfa_factor_enrolled",
    "mfa_factor_unenrolled",
];

const HOOKS: &[&str] = &[
    "send_sms",
    "send_email",
    "custom_access_token",
    "mfa_verification_attempt",
    "password_verification_attempt",
    "before_user_created",
    "after_user_created",
];

/// The names that may stand for `*` below this table; none when any may.
pub fn names_below(table: &str) -> Option<&'static [&'static str]> {
    match table {
        "auth.email.template" => Some(MAILS),
        "auth.email.notification" => Some(NOTIFICATIONS),
        "auth.hook" => Some(HOOKS),
        "auth.external" => Some(&PROVIDERS),
        "auth.web3" => Some(&["solana", "ethereum"]),
        _ => None,
    }
}

/// The row of a key.
pub fn find(path: &[&str]) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path.split('.').count() == path.len() && fits(key.path, path))
}

/// Whether the table at `path` has keys that we know.
pub fn is_table(path: &[&str]) -> bool {
    KEYS.iter().any(|key| key.path.split('.').count() > path.len() && fits(key.path, path))
}

/// Whether `path` is the beginning of `pattern`.
fn fits(pattern: &str, path: &[&str]) -> bool {
    pattern.split('.').zip(path).enumerate().all(|(depth, (wanted, part))| {
        wanted == *part
            || wanted == "*" && names_below(&path[..depth].join(".")).is_none_or(|names| names.contains(part))
    })
}

/// The full names of the settings that no `*` stands in.
#[cfg(test)]
pub fn plain_settings() -> impl Iterator<Item = String> {
    KEYS.iter().filter_map(|key| match key.usage {
        Use::Setting(name, _) | Use::Opposite(name, _) if !name.contains('*') => Some(format!("GOTRUE_{name}")),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_takes_the_names_of_its_table_and_no_others() {
        assert!(find(&["auth", "external", "github", "client_id"]).is_some());
        assert!(find(&["auth", "external", "gitbub", "client_id"]).is_none());
        assert!(find(&["functions", "send-submission", "verify_jwt"]).is_some());
        assert!(find(&["auth", "sms", "test_otp", "4152127777"]).is_some());
        assert!(is_table(&["auth", "hook", "send_sms"]));
        assert!(!is_table(&["auth", "hooks"]));
    }

    #[test]
    fn no_key_and_no_setting_stands_twice() {
        let mut paths: Vec<&str> = KEYS.iter().map(|key| key.path).collect();
        let mut names: Vec<&str> = KEYS
            .iter()
            .filter_map(|key| match key.usage {
                Use::Setting(name, _) | Use::Opposite(name, _) => Some(name),
                Use::Read | Use::Nothing => None,
            })
            .collect();
        for list in [&mut paths, &mut names] {
            list.sort_unstable();
            let before = list.len();
            list.dedup();
            assert_eq!(list.len(), before);
        }
    }
}
