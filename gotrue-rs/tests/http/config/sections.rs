//! The meaning of the variables.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{TimeZone, Utc};
use foundation::limits::{Bucket, LimitKey, Quota};
use foundation::secret::Secret;
use gotrue_rs::config::{ListenAddress, LogLevel};
use gotrue_rules::domain::policy::{
    Argon2Cost, CaptchaProvider, HookKind, HookTarget, MailKind, PROVIDERS, PasswordHash, Policy, SmsProvider,
};

use super::{RSA_KEY, config};

fn policy(more: &[(&str, &str)]) -> Policy {
    config(more).policy
}

const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn otp_length_is_six_to_ten() {
    for (text, expected) in [("0", 6), ("5", 6), ("6", 6), ("8", 8), ("10", 10), ("11", 6), ("-8", 6)] {
        let names = ["GOTRUE_MAILER_OTP_LENGTH", "GOTRUE_SMS_OTP_LENGTH", "GOTRUE_MFA_PHONE_OTP_LENGTH"];
        let policy = policy(&names.map(|name| (name, text)));
        assert_eq!(
            [policy.mail.otp_length, policy.sms.otp_length, policy.mfa.phone.otp_length],
            [expected; 3],
            "{text}"
        );
    }
}

#[test]
fn zero_means_default_like_gotrue() {
    let zero = policy(&[
        ("GOTRUE_JWT_EXP", "0"),
        ("GOTRUE_MAILER_OTP_EXP", "0"),
        ("GOTRUE_SMS_OTP_EXP", "0"),
        ("GOTRUE_SMTP_MAX_FREQUENCY", "0s"),
        ("GOTRUE_SMS_MAX_FREQUENCY", "0"),
        ("GOTRUE_MFA_PHONE_MAX_FREQUENCY", "0ms"),
        ("GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD", "0s"),
    ]);
    let expected = policy(&[]);
    assert_eq!(
        (zero.jwt, zero.mail, zero.sms, zero.mfa, zero.saml),
        (expected.jwt, expected.mail, expected.sms, expected.mfa, expected.saml)
    );
}

#[test]
fn audit_entries_are_kept_without_an_age() {
    let retention = |text: &str| policy(&[("GOTRUE_RETENTION_AUDIT_ENTRIES", text)]).operation.retention;
    assert_eq!(retention("0s"), policy(&[]).operation.retention);
    assert_eq!(retention("0s").audit_entries, None);
    assert_eq!(retention("48h").audit_entries, Some(Duration::from_hours(48)));
    let ages = [("GOTRUE_RETENTION_REVOKED_TOKENS", "2h"), ("GOTRUE_RETENTION_ENDED_SESSIONS", "3h")];
    let retention = policy(&ages).operation.retention;
    let expected = (Duration::from_hours(2), Duration::from_hours(3));
    assert_eq!((retention.revoked_tokens, retention.ended_sessions), expected);
}

#[test]
fn negative_frequency_disables_the_limit() {
    let policy = policy(&[("GOTRUE_SMTP_MAX_FREQUENCY", "-5s"), ("GOTRUE_SMS_MAX_FREQUENCY", "1us")]);
    assert_eq!((policy.mail.max_frequency, policy.sms.max_frequency), (Duration::ZERO, Duration::from_micros(1)));
}

#[test]
fn some_values_have_a_minimum() {
    let low = policy(&[
        ("GOTRUE_PASSWORD_MIN_LENGTH", "-1"),
        ("GOTRUE_MFA_CHALLENGE_EXPIRY_DURATION", "10.5"),
        ("GOTRUE_MFA_FACTOR_EXPIRY_DURATION", "1s"),
        ("GOTRUE_EXTERNAL_FLOW_STATE_EXPIRY_DURATION", "-1s"),
        ("GOTRUE_MFA_MAX_ENROLLED_FACTORS", "-2"),
        ("GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL", "-3"),
    ]);
    assert_eq!(low.password.min_length, 6);
    assert_eq!([low.mfa.challenge_expiry, low.mfa.factor_expiry, low.external.flow_state_expiry], [seconds(300); 3]);
    assert_eq!((low.mfa.max_enrolled_factors, low.refresh.reuse_interval), (0, Duration::ZERO));
    let high = policy(&[("GOTRUE_MFA_CHALLENGE_EXPIRY_DURATION", "600.5"), ("GOTRUE_MFA_MAX_ENROLLED_FACTORS", "5.9")]);
    assert_eq!((high.mfa.challenge_expiry, high.mfa.max_enrolled_factors), (Duration::from_millis(600_500), 5));
}

#[test]
fn empty_value_is_empty_or_default_as_documented() {
    let names = [
        "GOTRUE_JWT_ADMIN_ROLES",
        "GOTRUE_JWT_ADMIN_GROUP_NAME",
        "GOTRUE_EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS",
        "GOTRUE_MAILER_URLPATHS_INVITE",
        "GOTRUE_MAILER_SUBJECTS_INVITE",
        "GOTRUE_SMS_TEMPLATE",
        "GOTRUE_MFA_PHONE_TEMPLATE",
        "GOTRUE_URI_ALLOW_LIST",
        "GOTRUE_SMS_TEST_OTP",
        "GOTRUE_SMS_TEST_OTP_VALID_UNTIL",
        "GOTRUE_INTERNAL_HTTP_TIMEOUT",
    ];
    assert_eq!(policy(&names.map(|name| (name, ""))), policy(&[]));
    assert_eq!(policy(&[("GOTRUE_OAUTH_SERVER_DEFAULT_SCOPE", "")]).oauth_server.default_scope, "");
    assert_eq!(policy(&[("GOTRUE_PASSWORD_HIBP_USER_AGENT", "")]).password.hibp.user_agent, "");
    assert_eq!(policy(&[("GOTRUE_JWT_VALID_METHODS", "")]).jwt.valid_methods, Some(Vec::new()));
    assert_eq!(policy(&[]).jwt.valid_methods, None);
    assert_eq!(policy(&[("GOTRUE_SITE_URL", "")]).site.site_url, "");
}

#[test]
fn test_otp_numbers_are_digits_and_may_expire() {
    let sms = policy(&[
        ("GOTRUE_SMS_TEST_OTP", "+1 555 0100:123456,15550101:1"),
        ("GOTRUE_SMS_TEST_OTP_VALID_UNTIL", " 2030-01-31T13:00:00+01:00 "),
    ])
    .sms;
    assert_eq!(
        sms.test_otp.into_iter().collect::<Vec<_>>(),
        [("15550100", "123456"), ("15550101", "1")].map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
    assert_eq!(sms.test_otp_valid_until, Utc.with_ymd_and_hms(2030, 1, 31, 12, 0, 0).single());
}

#[test]
fn quotas_and_buckets_are_sized() {
    let limits = policy(&[
        ("GOTRUE_RATE_LIMIT_HEADER", "X-Forwarded-For"),
        ("GOTRUE_RATE_LIMIT_EMAIL_SENT", "10/6m"),
        ("GOTRUE_RATE_LIMIT_SMS_SENT", "0"),
        ("GOTRUE_RATE_LIMIT_ANONYMOUS_USERS", "7.9"),
        ("GOTRUE_RATE_LIMIT_VERIFY", "100000"),
        ("GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY", "3"),
    ])
    .limits;
    assert_eq!(limits.key, LimitKey::Header("X-Forwarded-For".to_owned()));
    assert_eq!(limits.email_sent, Quota::Bucket { size: 10.0, every: seconds(360) });
    assert_eq!(limits.sms_sent, Quota::Window { events: 0.0, per: seconds(3600) });
    assert_eq!(
        limits.anonymous_users,
        Bucket { events: 7.9, per: seconds(3600), burst: 7.0, evicted_after: seconds(3600) }
    );
    assert_eq!(
        limits.verify,
        Bucket { events: 100_000.0, per: seconds(300), burst: 30.0, evicted_after: seconds(3600) }
    );
    assert_eq!(
        limits.mfa_challenge_and_verify,
        Bucket { events: 3.0, per: seconds(60), burst: 30.0, evicted_after: seconds(60) }
    );
}

#[test]
fn hook_uris_are_http_or_postgres_functions() {
    let secret = "v1,whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I=";
    let hooks = policy(&[
        ("GOTRUE_HOOK_SEND_SMS_ENABLED", "true"),
        ("GOTRUE_HOOK_SEND_SMS_URI", "https://x.example/sms"),
        ("GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_ENABLED", "true"),
        ("GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_URI", "pg-functions://postgres/public/token_hook/more"),
        ("GOTRUE_HOOK_BEFORE_USER_CREATED_URI", "https://x.example/off"),
        ("SECRETS", secret),
    ])
    .hooks;
    let sms = hooks.get(HookKind::SendSms).unwrap();
    assert_eq!(sms.target, HookTarget::Http { url: "https://x.example/sms".to_owned() });
    assert_eq!(sms.secrets, [Secret::from(secret)]);
    let function = HookTarget::PgFunction { schema: "public".to_owned(), name: "token_hook".to_owned() };
    assert_eq!(hooks.custom_access_token.map(|hook| hook.target), Some(function));
    assert_eq!(hooks.before_user_created, None);
}

#[test]
fn mail_subjects_bodies_and_paths_are_set_per_kind() {
    let mail = policy(&[
        ("GOTRUE_MAILER_SUBJECTS_MAGIC_LINK", "Sign in"),
        ("GOTRUE_MAILER_TEMPLATES_MFA_FACTOR_ENROLLED_NOTIFICATION", "/factor.html"),
        ("GOTRUE_MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED", "true"),
        ("GOTRUE_MAILER_NOTIFICATIONS_EMAIL_CHANGED_ENABLED", "false"),
        ("GOTRUE_MAILER_URLPATHS_EMAIL_CHANGE", "/changed"),
        ("GOTRUE_MAILER_EMAIL_VALIDATION_BLOCKED_MX", "[\"mx.example.com.\"]"),
        ("GOTRUE_MAILER_EMAIL_VALIDATION_SERVICE_HEADERS", "{\"b\":[\"1\"],\"a\":[]}"),
    ])
    .mail;
    assert_eq!((mail.subject(MailKind::MagicLink), mail.subject(MailKind::Invite)), (Some("Sign in"), None));
    assert_eq!(mail.template(MailKind::MfaFactorEnrolled), Some("/factor.html"));
    assert_eq!(mail.notifications, BTreeSet::from([MailKind::PasswordChanged]));
    assert_eq!((mail.paths.email_change.as_str(), mail.paths.recovery.as_str()), ("/changed", "/verify"));
    assert_eq!(mail.address_check.blocked_mx, BTreeSet::from(["mx.example.com".to_owned()]));
    assert_eq!(
        mail.address_check.service_headers,
        [("b".to_owned(), vec!["1".to_owned()]), ("a".to_owned(), Vec::new())]
    );
}

#[test]
fn mail_server_is_configured_if_it_has_a_host() {
    assert_eq!(config(&[("GOTRUE_SMTP_USER", "u")]).smtp, None);
    let smtp = config(&[("GOTRUE_SMTP_HOST", "h"), ("GOTRUE_SMTP_HEADERS", "{\"X-Kind\":[\"$messageType\",\"b\"]}")])
        .smtp
        .unwrap();
    assert_eq!((smtp.host.as_str(), smtp.port), ("h", 587));
    assert_eq!(smtp.headers, [("X-Kind".to_owned(), vec!["$messageType".to_owned(), "b".to_owned()])]);
}

#[test]
fn all_providers_exist_and_are_set_by_name() {
    let external = policy(&[
        ("GOTRUE_EXTERNAL_LINKEDIN_OIDC_ENABLED", "true"),
        ("GOTRUE_EXTERNAL_LINKEDIN_OIDC_CLIENT_ID", "a,b"),
        ("GOTRUE_EXTERNAL_X_SECRET", "s"),
    ])
    .external;
    assert_eq!(external.providers.keys().collect::<Vec<_>>(), PROVIDERS.iter().collect::<Vec<_>>());
    let linkedin = external.provider("linkedin_oidc").unwrap();
    assert!(linkedin.enabled && linkedin.client_ids == ["a", "b"]);
    assert!(!external.provider("linkedin").unwrap().enabled);
    assert_eq!(external.provider("x").unwrap().secret.reveal(), "s");
}

#[test]
fn password_hash_algorithm_is_configurable() {
    let hash = |more: &[(&str, &str)]| policy(more).password.hash;
    assert_eq!(hash(&[]), PasswordHash::Bcrypt { cost: 10 });
    // The reference knows no setting of that name and always takes 10: what is recorded.
    assert_eq!(hash(&[("GOTRUE_PASSWORD_HASH_COST", "4")]), PasswordHash::Bcrypt { cost: 10 });
    assert_eq!(hash(&[("BASALT_PASSWORD_HASH", "argon2id")]), PasswordHash::Argon2id(Argon2Cost::default()));
    let bloom = policy(&[("GOTRUE_PASSWORD_HIBP_BLOOM_ENABLED", "true"), ("GOTRUE_PASSWORD_HIBP_BLOOM_ITEMS", "5")])
        .password
        .hibp
        .bloom;
    assert_eq!(bloom.map(|bloom| bloom.items), Some(5));
}

#[test]
fn dependent_settings_are_combined() {
    let policy = policy(&[
        ("GOTRUE_SECURITY_CAPTCHA_ENABLED", "true"),
        ("GOTRUE_SECURITY_CAPTCHA_SECRET", " s "),
        ("GOTRUE_SMS_PROVIDER", "messagebird"),
        ("GOTRUE_SMS_MESSAGEBIRD_ACCESS_KEY", "k"),
        ("GOTRUE_SMS_MESSAGEBIRD_ORIGINATOR", "o"),
        ("RP_ID", "example.com"),
        ("GOTRUE_WEBAUTHN_RP_DISPLAY_NAME", "Shop"),
        ("GOTRUE_WEBAUTHN_RP_ORIGINS", "https://a.example.com,https://b.example.com"),
        ("GOTRUE_SAML_ENABLED", "true"),
        ("GOTRUE_SAML_PRIVATE_KEY", RSA_KEY),
        ("GOTRUE_EXPERIMENTAL_PROVIDER_LINKING_DOMAINS", "google=home"),
        ("GOTRUE_EXPERIMENTAL_PROVIDERS_WITH_OWN_LINKING_DOMAIN", "google,kakao"),
    ]);
    let captcha = policy.security.captcha.unwrap();
    assert_eq!(
        (captcha.provider, captcha.secret.reveal(), captcha.timeout),
        (CaptchaProvider::Hcaptcha, "s", seconds(10))
    );
    assert_eq!(
        policy.sms.provider,
        Some(SmsProvider::Messagebird { access_key: "k".into(), originator: "o".to_owned() })
    );
    let party = policy.webauthn.relying_party.unwrap();
    assert_eq!((party.id.as_str(), party.origins.len()), ("example.com", 2));
    assert_eq!(policy.saml.private_key.reveal(), RSA_KEY);
    let domains: Vec<_> = policy.experimental.provider_linking_domains.into_iter().collect();
    assert_eq!(domains, [("google", "home"), ("kakao", "kakao")].map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn encryption_uses_the_key_of_the_configured_id() {
    let keys = "a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
    let off = policy(&[("GOTRUE_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS", keys)]).security.encryption;
    assert_eq!((off.encryption_key(), off.keys.len()), (None, 1));
    let on = policy(&[
        ("GOTRUE_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS", keys),
        ("GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPT", "true"),
        ("GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY_ID", "a"),
        ("GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY", &keys[2..]),
    ])
    .security
    .encryption;
    let (id, key) = on.encryption_key().unwrap();
    assert_eq!((id, key.reveal()[31]), ("a", 31));
}

#[test]
fn listen_address_and_log_level_are_configurable() {
    let config = config(&[
        ("PORT", "9999"),
        ("GOTRUE_API_HOST", "127.0.0.1"),
        ("GOTRUE_LOG_LEVEL", "Warning"),
        ("GOTRUE_LOG_SQL", "all"),
        ("GOTRUE_METRICS_ENABLED", "1"),
        ("GOTRUE_METRICS_EXPORTER", "prometheus"),
        ("OTEL_EXPORTER_PROMETHEUS_PORT", "9464"),
        ("https_proxy", "http://proxy:3128"),
        ("GOTRUE_DB_CONN_PERCENTAGE", "300"),
        ("GOTRUE_DB_MAX_POOL_SIZE", "-1"),
    ]);
    assert_eq!(config.listen, ListenAddress { host: "127.0.0.1".to_owned(), port: 9999 });
    assert_eq!((config.log.level, config.log.sql), (LogLevel::Warn, true));
    assert_eq!(config.metrics, Some(ListenAddress { host: "0.0.0.0".to_owned(), port: 9464 }));
    assert_eq!(config.outbound.https_proxy, Some(Secret::from("http://proxy:3128")));
    assert_eq!((config.database.conn_percentage, config.database.max_pool_size), (100, 0));
}
