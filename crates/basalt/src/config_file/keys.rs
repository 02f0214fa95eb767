//! The known keys of `config.toml`: their kinds and the settings of the auth server they map to.
//! The names are those of the Supabase CLI's file; `*` stands for any one name, or for one of [`allowed_names`].

use gotrue_rules::domain::policy::PROVIDERS;

use super::key::Kind::{Bool, Choice, Count, Duration, List, Text};
pub(super) use super::key::{Key, KeyUsage, Kind};
use super::key::{custom, ignored, negated, setting, setting_or};
use super::payment_keys::PAYMENT_KEYS;

/// The character classes that a password policy can require.
pub(super) const PASSWORD_REQUIREMENTS: &[&str] =
    &["", "letters_digits", "lower_upper_letters_digits", "lower_upper_letters_digits_symbols"];

/// Returns all known keys.
pub(super) fn all_keys() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().chain(PAYMENT_KEYS)
}

/// The known keys, except for those of payments.
const KEYS: &[Key] = &[
    custom("project_id", Text),
    // [api]
    custom("api.enabled", Bool),
    custom("api.port", Count),
    custom("api.external_url", Text),
    custom("api.tls.enabled", Bool),
    custom("api.tls.cert_path", Text),
    custom("api.tls.key_path", Text),
    custom("api.schemas", List),
    custom("api.extra_search_path", List),
    custom("api.max_rows", Count),
    custom("api.auto_expose_new_tables", Bool),
    // [auth]
    custom("auth.enabled", Bool),
    custom("auth.site_url", Text),
    custom("auth.external_url", Text),
    setting("auth.additional_redirect_urls", List, "URI_ALLOW_LIST"),
    setting_or("auth.jwt_expiry", Count, "JWT_EXP", "3600"),
    custom("auth.jwt_issuer", Text),
    custom("auth.signing_keys_path", Text),
    custom("auth.jwt_secret", Text),
    custom("auth.anon_key", Text),
    custom("auth.service_role_key", Text),
    custom("auth.publishable_key", Text),
    custom("auth.secret_key", Text),
    setting_or("auth.enable_refresh_token_rotation", Bool, "SECURITY_REFRESH_TOKEN_ROTATION_ENABLED", "true"),
    setting_or("auth.refresh_token_reuse_interval", Count, "SECURITY_REFRESH_TOKEN_REUSE_INTERVAL", "10"),
    negated("auth.enable_signup", "DISABLE_SIGNUP", "false"),
    setting_or("auth.enable_anonymous_sign_ins", Bool, "EXTERNAL_ANONYMOUS_USERS_ENABLED", "false"),
    setting_or("auth.enable_manual_linking", Bool, "SECURITY_MANUAL_LINKING_ENABLED", "false"),
    setting_or("auth.minimum_password_length", Count, "PASSWORD_MIN_LENGTH", "6"),
    custom("auth.password_requirements", Choice(PASSWORD_REQUIREMENTS)),
    setting_or("auth.passkey.enabled", Bool, "PASSKEY_ENABLED", "false"),
    setting("auth.webauthn.rp_id", Text, "WEBAUTHN_RP_ID"),
    setting("auth.webauthn.rp_display_name", Text, "WEBAUTHN_RP_DISPLAY_NAME"),
    setting("auth.webauthn.rp_origins", List, "WEBAUTHN_RP_ORIGINS"),
    // [auth.rate_limit]
    custom("auth.rate_limit.email_sent", Count),
    setting_or("auth.rate_limit.sms_sent", Count, "RATE_LIMIT_SMS_SENT", "30"),
    setting_or("auth.rate_limit.anonymous_users", Count, "RATE_LIMIT_ANONYMOUS_USERS", "30"),
    setting_or("auth.rate_limit.token_refresh", Count, "RATE_LIMIT_TOKEN_REFRESH", "150"),
    setting_or("auth.rate_limit.sign_in_sign_ups", Count, "RATE_LIMIT_OTP", "30"),
    setting_or("auth.rate_limit.token_verifications", Count, "RATE_LIMIT_VERIFY", "30"),
    setting_or("auth.rate_limit.web3", Count, "RATE_LIMIT_WEB3", "30"),
    // [auth.captcha]
    setting("auth.captcha.enabled", Bool, "SECURITY_CAPTCHA_ENABLED"),
    setting("auth.captcha.provider", Choice(&["hcaptcha", "turnstile"]), "SECURITY_CAPTCHA_PROVIDER"),
    setting("auth.captcha.secret", Text, "SECURITY_CAPTCHA_SECRET"),
    // [auth.sessions]
    custom("auth.sessions.timebox", Duration),
    custom("auth.sessions.inactivity_timeout", Duration),
    // [auth.email]
    setting_or("auth.email.enable_signup", Bool, "EXTERNAL_EMAIL_ENABLED", "true"),
    setting_or("auth.email.double_confirm_changes", Bool, "MAILER_SECURE_EMAIL_CHANGE_ENABLED", "true"),
    negated("auth.email.enable_confirmations", "MAILER_AUTOCONFIRM", "true"),
    setting_or("auth.email.secure_password_change", Bool, "SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION", "false"),
    setting_or("auth.email.max_frequency", Duration, "SMTP_MAX_FREQUENCY", "1s"),
    setting_or("auth.email.otp_length", Count, "MAILER_OTP_LENGTH", "6"),
    setting_or("auth.email.otp_expiry", Count, "MAILER_OTP_EXP", "3600"),
    custom("auth.email.smtp.enabled", Bool),
    setting("auth.email.smtp.host", Text, "SMTP_HOST"),
    setting("auth.email.smtp.port", Count, "SMTP_PORT"),
    setting("auth.email.smtp.user", Text, "SMTP_USER"),
    setting("auth.email.smtp.pass", Text, "SMTP_PASS"),
    setting("auth.email.smtp.admin_email", Text, "SMTP_ADMIN_EMAIL"),
    setting("auth.email.smtp.sender_name", Text, "SMTP_SENDER_NAME"),
    setting("auth.email.template.*.subject", Text, "MAILER_SUBJECTS_*"),
    custom("auth.email.template.*.content_path", Text),
    setting("auth.email.notification.*.enabled", Bool, "MAILER_NOTIFICATIONS_*_ENABLED"),
    setting("auth.email.notification.*.subject", Text, "MAILER_SUBJECTS_*_NOTIFICATION"),
    custom("auth.email.notification.*.content_path", Text),
    // [auth.sms]
    setting_or("auth.sms.enable_signup", Bool, "EXTERNAL_PHONE_ENABLED", "false"),
    // The CLI defaults this to false, which would count any number as confirmed.
    negated("auth.sms.enable_confirmations", "SMS_AUTOCONFIRM", "false"),
    setting_or("auth.sms.template", Text, "SMS_TEMPLATE", "Your code is {{ .Code }}"),
    setting_or("auth.sms.max_frequency", Duration, "SMS_MAX_FREQUENCY", "5s"),
    custom("auth.sms.test_otp.*", Text),
    custom("auth.sms.twilio.enabled", Bool),
    setting("auth.sms.twilio.account_sid", Text, "SMS_TWILIO_ACCOUNT_SID"),
    setting("auth.sms.twilio.auth_token", Text, "SMS_TWILIO_AUTH_TOKEN"),
    setting("auth.sms.twilio.message_service_sid", Text, "SMS_TWILIO_MESSAGE_SERVICE_SID"),
    custom("auth.sms.twilio_verify.enabled", Bool),
    setting("auth.sms.twilio_verify.account_sid", Text, "SMS_TWILIO_VERIFY_ACCOUNT_SID"),
    setting("auth.sms.twilio_verify.auth_token", Text, "SMS_TWILIO_VERIFY_AUTH_TOKEN"),
    setting("auth.sms.twilio_verify.message_service_sid", Text, "SMS_TWILIO_VERIFY_MESSAGE_SERVICE_SID"),
    custom("auth.sms.messagebird.enabled", Bool),
    setting("auth.sms.messagebird.access_key", Text, "SMS_MESSAGEBIRD_ACCESS_KEY"),
    setting("auth.sms.messagebird.originator", Text, "SMS_MESSAGEBIRD_ORIGINATOR"),
    custom("auth.sms.textlocal.enabled", Bool),
    setting("auth.sms.textlocal.api_key", Text, "SMS_TEXTLOCAL_API_KEY"),
    setting("auth.sms.textlocal.sender", Text, "SMS_TEXTLOCAL_SENDER"),
    custom("auth.sms.vonage.enabled", Bool),
    setting("auth.sms.vonage.api_key", Text, "SMS_VONAGE_API_KEY"),
    setting("auth.sms.vonage.api_secret", Text, "SMS_VONAGE_API_SECRET"),
    setting("auth.sms.vonage.from", Text, "SMS_VONAGE_FROM"),
    // [auth.mfa]
    setting_or("auth.mfa.max_enrolled_factors", Count, "MFA_MAX_ENROLLED_FACTORS", "10"),
    setting_or("auth.mfa.totp.enroll_enabled", Bool, "MFA_TOTP_ENROLL_ENABLED", "false"),
    setting_or("auth.mfa.totp.verify_enabled", Bool, "MFA_TOTP_VERIFY_ENABLED", "false"),
    setting_or("auth.mfa.phone.enroll_enabled", Bool, "MFA_PHONE_ENROLL_ENABLED", "false"),
    setting_or("auth.mfa.phone.verify_enabled", Bool, "MFA_PHONE_VERIFY_ENABLED", "false"),
    setting_or("auth.mfa.phone.otp_length", Count, "MFA_PHONE_OTP_LENGTH", "6"),
    setting_or("auth.mfa.phone.template", Text, "MFA_PHONE_TEMPLATE", "Your code is {{ .Code }}"),
    setting_or("auth.mfa.phone.max_frequency", Duration, "MFA_PHONE_MAX_FREQUENCY", "5s"),
    setting_or("auth.mfa.web_authn.enroll_enabled", Bool, "MFA_WEB_AUTHN_ENROLL_ENABLED", "false"),
    setting_or("auth.mfa.web_authn.verify_enabled", Bool, "MFA_WEB_AUTHN_VERIFY_ENABLED", "false"),
    setting_or("auth.mfa.recovery_codes.enroll_enabled", Bool, "MFA_RECOVERY_CODES_ENROLL_ENABLED", "false"),
    setting_or("auth.mfa.recovery_codes.verify_enabled", Bool, "MFA_RECOVERY_CODES_VERIFY_ENABLED", "false"),
    setting_or("auth.mfa.recovery_codes.count", Count, "MFA_RECOVERY_CODES_COUNT", "10"),
    setting_or("auth.mfa.recovery_codes.code_length", Count, "MFA_RECOVERY_CODES_CODE_LENGTH", "16"),
    setting_or("auth.mfa.recovery_codes.max_verify_attempts", Count, "MFA_RECOVERY_CODES_MAX_VERIFY_ATTEMPTS", "5"),
    setting_or("auth.mfa.recovery_codes.lockout_duration", Duration, "MFA_RECOVERY_CODES_LOCKOUT_DURATION", "15m"),
    // [auth.hook.*]
    setting("auth.hook.*.enabled", Bool, "HOOK_*_ENABLED"),
    setting("auth.hook.*.uri", Text, "HOOK_*_URI"),
    setting("auth.hook.*.secrets", Text, "HOOK_*_SECRETS"),
    // [auth.external.*]
    setting("auth.external.*.enabled", Bool, "EXTERNAL_*_ENABLED"),
    setting("auth.external.*.client_id", Text, "EXTERNAL_*_CLIENT_ID"),
    setting("auth.external.*.secret", Text, "EXTERNAL_*_SECRET"),
    setting("auth.external.*.url", Text, "EXTERNAL_*_URL"),
    custom("auth.external.*.redirect_uri", Text),
    setting("auth.external.*.skip_nonce_check", Bool, "EXTERNAL_*_SKIP_NONCE_CHECK"),
    setting("auth.external.*.email_optional", Bool, "EXTERNAL_*_EMAIL_OPTIONAL"),
    // [auth.web3.*]
    setting("auth.web3.*.enabled", Bool, "EXTERNAL_WEB3_*_ENABLED"),
    // [auth.oauth_server]
    setting_or("auth.oauth_server.enabled", Bool, "OAUTH_SERVER_ENABLED", "false"),
    setting("auth.oauth_server.allow_dynamic_registration", Bool, "OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION"),
    setting("auth.oauth_server.authorization_url_path", Text, "OAUTH_SERVER_AUTHORIZATION_PATH"),
    // [functions.NAME]
    custom("storage.enabled", Bool),
    custom("storage.file_size_limit", Text),
    custom("storage.image_transformation.enabled", Bool),
    custom("storage.s3_protocol.enabled", Bool),
    custom("storage.buckets.*.public", Bool),
    custom("storage.buckets.*.file_size_limit", Text),
    custom("storage.buckets.*.allowed_mime_types", List),
    custom("storage.buckets.*.objects_path", Text),
    ignored("storage.analytics.enabled"),
    ignored("storage.analytics.max_namespaces"),
    ignored("storage.analytics.max_tables"),
    ignored("storage.analytics.max_catalogs"),
    ignored("storage.analytics.buckets.*"),
    ignored("storage.vector.enabled"),
    ignored("storage.vector.max_buckets"),
    ignored("storage.vector.max_indexes"),
    ignored("storage.vector.buckets.*"),
    custom("functions.*.enabled", Bool),
    custom("functions.*.verify_jwt", Bool),
    ignored("functions.*.import_map"),
    ignored("functions.*.entrypoint"),
    ignored("functions.*.static_files"),
    ignored("functions.*.env.*"),
    // [db]: the port is that of test servers and of development
    custom("db.port", Count),
    ignored("db.shadow_port"),
    ignored("db.health_timeout"),
    custom("db.major_version", Count),
    ignored("db.root_key"),
    custom("db.vault.*", Text),
    custom("db.migrations.enabled", Bool),
    ignored("db.migrations.schema_paths"),
    custom("db.seed.enabled", Bool),
    custom("db.seed.sql_paths", List),
    // [inbucket], later [local_smtp]: the inbox is a page of the same server, and has ports in development
    custom("inbucket.enabled", Bool),
    custom("inbucket.port", Count),
    custom("inbucket.smtp_port", Count),
    ignored("inbucket.pop3_port"),
    custom("inbucket.admin_email", Text),
    custom("inbucket.sender_name", Text),
    // [basalt]: not known to the CLI
    custom("basalt.host", Text),
    custom("basalt.metrics_port", Count),
    custom("basalt.metrics.host", Text),
    custom("basalt.metrics.port", Count),
    custom("basalt.log_level", Text),
    custom("basalt.log_format", Choice(&["text", "json"])),
    custom("basalt.password_hash", Choice(&["argon2id", "bcrypt"])),
    custom("basalt.trusted_proxies", List),
    custom("basalt.hsts_max_age", Duration),
    custom("basalt.http.max_connections", Count),
    custom("basalt.http.max_connections_per_peer", Count),
    custom("basalt.http.header_timeout", Duration),
    custom("basalt.http.body_timeout", Duration),
    custom("basalt.http.write_timeout", Duration),
    custom("basalt.http.idle_timeout", Duration),
    custom("basalt.replicas.expected", Count),
    custom("basalt.replicas.allow_differences", Bool),
    setting("basalt.shutdown.drain", Duration, "SHUTDOWN_DRAIN"),
    setting("basalt.database.max_connections", Count, "DB_MAX_POOL_SIZE"),
    setting("basalt.database.max_lifetime", Duration, "DB_CONN_MAX_LIFETIME"),
    setting("basalt.database.max_idle_time", Duration, "DB_CONN_MAX_IDLE_TIME"),
    setting("basalt.database.start_timeout", Duration, "DB_START_TIMEOUT"),
    setting("basalt.database.failover_wait", Duration, "DB_FAILOVER_WAIT"),
    setting("basalt.database.replica_url", Text, "DB_REPLICA_URL"),
    setting("basalt.database.replica_max_lag", Duration, "DB_REPLICA_MAX_LAG"),
    custom("basalt.database.archive", Text),
    custom("basalt.database.archive_interval", Duration),
    setting("basalt.retention.audit_entries", Duration, "RETENTION_AUDIT_ENTRIES"),
    setting("basalt.retention.revoked_tokens", Duration, "RETENTION_REVOKED_TOKENS"),
    setting("basalt.retention.ended_sessions", Duration, "RETENTION_ENDED_SESSIONS"),
    custom("basalt.retention.submissions", Duration),
    custom("basalt.development_pages", Bool),
    custom("basalt.demo_keys", Bool),
    custom("basalt.rate_limit.wrong_passwords", Count),
    custom("basalt.rate_limit.wrong_codes", Count),
    custom("basalt.rate_limit.messages", Count),
    setting("basalt.limits.url", Text, "RATE_LIMIT_STORE_URL"),
    setting("basalt.limits.on_failure", Choice(&["open", "closed"]), "RATE_LIMIT_STORE_ON_FAILURE"),
    setting("basalt.limits.prefix", Text, "RATE_LIMIT_STORE_PREFIX"),
    setting("basalt.limits.timeout", Duration, "RATE_LIMIT_STORE_TIMEOUT"),
    setting("basalt.mail.authorized_addresses", List, "EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES"),
    custom("basalt.mail.headers.*", Text),
    custom("basalt.mail.reply_to", Text),
    custom("basalt.data_api.database_url", Text),
    custom("basalt.data_api.request_timeout", Duration),
    custom("basalt.data_api.max_connections", Count),
    custom("basalt.data_api.prepared_statements", Bool),
    custom("basalt.storage.database_url", Text),
    custom("basalt.storage.bucket", Text),
    custom("basalt.storage.bucket_endpoint", Text),
    custom("basalt.storage.bucket_region", Text),
    custom("basalt.storage.bucket_access_key_id", Text),
    custom("basalt.storage.bucket_secret_access_key", Text),
    custom("basalt.storage.bucket_path_style", Bool),
    custom("basalt.storage.content_url", Text),
    custom("basalt.storage.quota", Text),
    custom("basalt.storage.max_uploads", Count),
    custom("basalt.storage.max_uploads_per_network", Count),
    custom("basalt.storage.images_per_minute", Count),
    custom("basalt.storage.s3_access_key_id", Text),
    custom("basalt.storage.s3_secret_access_key", Text),
    custom("basalt.mailed_links.button", Text),
    custom("basalt.mailed_links.refused", Text),
    custom("basalt.desk.enabled", Bool),
    custom("basalt.desk.url", Text),
    custom("basalt.shop.owner", Text),
    custom("basalt.shop.notices_an_hour", Count),
    custom("basalt.shop.daily_digest", Bool),
    custom("basalt.shop.submission_webhook", Text),
    custom("basalt.shop.submission_webhook_secret", Text),
    custom("basalt.shop.name", Text),
    custom("basalt.shop.accent_color", Text),
    custom("basalt.shop.logo_url", Text),
    custom("basalt.shop.address", Text),
    custom("basalt.shop.seller.name", Text),
    custom("basalt.shop.seller.address", Text),
    custom("basalt.shop.seller.email", Text),
    custom("basalt.shop.seller.language", Text),
    custom("basalt.shop.seller.terms", Text),
    custom("basalt.shop.seller.privacy", Text),
    custom("basalt.shop.seller.refunds", Text),
    custom("basalt.inbox.token", Text),
    custom("basalt.upstreams.*", Text),
    custom("basalt.tls.certificate", Text),
    custom("basalt.tls.key", Text),
    custom("basalt.provider.stands_in_for", List),
    setting("basalt.saml.enabled", Bool, "SAML_ENABLED"),
    setting("basalt.saml.private_key", Text, "SAML_PRIVATE_KEY"),
    setting("basalt.saml.private_key_next", Text, "SAML_PRIVATE_KEY_NEXT"),
    setting("basalt.saml.allow_encrypted_assertions", Bool, "SAML_ALLOW_ENCRYPTED_ASSERTIONS"),
    setting("basalt.saml.require_provider_domain", Bool, "SAML_REQUIRE_PROVIDER_DOMAIN"),
];

/// Tables of the CLI's file for services that Basalt does not have, with a description.
pub(super) const UNSUPPORTED_TABLES: &[(&str, &str)] = &[
    ("realtime", "the realtime service"),
    ("studio", "the dashboard"),
    ("edge_runtime", "the runtime of your own edge functions"),
    ("analytics", "log analytics"),
    ("experimental", "experiments of the CLI"),
    ("remotes", "other projects"),
    ("db.pooler", "a connection pooler"),
    ("db.settings", "settings of the database"),
    ("db.network_restrictions", "network restrictions of a hosted database"),
    ("db.ssl_enforcement", "TLS of a hosted database"),
    ("auth.third_party", "tokens of other identity services"),
];

/// The SMS providers in the CLI's order; it uses the first enabled one.
pub(super) const SMS_PROVIDERS: &[&str] = &["twilio", "twilio_verify", "messagebird", "textlocal", "vonage"];

const MAIL_TEMPLATES: &[&str] =
    &["invite", "confirmation", "recovery", "magic_link", "email_change", "reauthentication"];

const NOTIFICATIONS: &[&str] = &[
    "password_changed",
    "email_changed",
    "phone_changed",
    "identity_linked",
    "identity_unlinked",
    "mfa_factor_enrolled",
    "mfa_factor_unenrolled",
];

/// The names in `[basalt.upstreams]`.
const UPSTREAMS: &[&str] = &[
    "rest",
    "graphql",
    "storage",
    "realtime",
    "functions",
    "meta",
    "studio",
    "max_requests",
    "max_requests_per_network",
    "connect_timeout",
    "response_timeout",
    "function_timeout",
    "websocket_idle_timeout",
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

/// Returns the names that may stand for `*` below a table; `None` if any may.
pub(super) fn allowed_names(table: &str) -> Option<&'static [&'static str]> {
    match table {
        "auth.email.template" => Some(MAIL_TEMPLATES),
        "auth.email.notification" => Some(NOTIFICATIONS),
        "auth.hook" => Some(HOOKS),
        "auth.external" => Some(&PROVIDERS),
        "basalt.upstreams" => Some(UPSTREAMS),
        "auth.web3" => Some(&["solana", "ethereum"]),
        _ => None,
    }
}

/// Finds a known key.
pub(super) fn find_key(path: &[&str]) -> Option<&'static Key> {
    all_keys().find(|key| key.path.split('.').count() == path.len() && matches_pattern(key.path, path))
}

/// Returns whether `path` is a table that contains known keys.
pub(super) fn is_table(path: &[&str]) -> bool {
    all_keys().any(|key| key.path.split('.').count() > path.len() && matches_pattern(key.path, path))
}

/// Returns whether `path` is a prefix of `pattern`.
fn matches_pattern(pattern: &str, path: &[&str]) -> bool {
    pattern.split('.').zip(path).enumerate().all(|(depth, (wanted, part))| {
        wanted == *part
            || wanted == "*" && allowed_names(&path[..depth].join(".")).is_none_or(|names| names.contains(part))
    })
}

/// Returns the full names of the settings without `*`.
#[cfg(test)]
pub(super) fn plain_settings() -> impl Iterator<Item = String> {
    all_keys().filter_map(|key| match key.usage {
        KeyUsage::Setting(name, _) | KeyUsage::Negated(name, _) if !name.contains('*') => {
            Some(format!("GOTRUE_{name}"))
        }
        _ => None,
    })
}

#[cfg(test)]
mod settings_type;
#[cfg(test)]
mod tests;
