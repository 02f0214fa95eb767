//! Warnings about settings that do not prevent the start.

use gotrue_rs::config::NoticeLevel;

use super::config;

/// The warnings about these variables.
fn warnings(more: &[(&str, &str)]) -> Vec<String> {
    let notices = config(more).notices;
    notices.iter().filter(|notice| notice.level == NoticeLevel::Warning).map(ToString::to_string).collect()
}

#[test]
fn usual_settings_produce_no_warnings() {
    assert!(warnings(&[]).is_empty());
}

#[test]
fn unknown_and_misspelt_variables_get_different_warnings() {
    let notices =
        config(&[("GOTRUE_SITE_URLS", "x"), ("GOTRUE_WHATEVER_ELSE_THERE_MAY_BE", "x"), ("HOME_OFFICE", "x")]).notices;
    let reported: Vec<_> =
        notices.iter().map(|notice| (notice.name.as_str(), notice.text.as_str(), notice.level)).collect();
    let misspelt = "is not known and has no effect. Did you mean GOTRUE_SITE_URL?";
    assert!(reported.contains(&("GOTRUE_SITE_URLS", misspelt, NoticeLevel::Warning)), "{reported:?}");
    let unknown = ("GOTRUE_WHATEVER_ELSE_THERE_MAY_BE", "is not known and has no effect", NoticeLevel::Debug);
    assert!(reported.contains(&unknown), "{reported:?}");
    assert!(!reported.iter().any(|(name, ..)| *name == "HOME_OFFICE"), "{reported:?}");
}

#[test]
fn common_misspellings_are_corrected() {
    let cases = [
        ("GOTRUE_RATE_LIMIT_OAUTH_DYNAMIC_CLIENT_REGISTER", "GOTRUE_RATE_LIMIT_O_AUTH_DYNAMIC_CLIENT_REGISTER"),
        ("GOTRUE_EXTERNAL_REDIRECT_URL", "GOTRUE_EXTERNAL_REDIRECTURL"),
        ("GOTRUE_MFA_WEBAUTHN_ENROLL_ENABLED", "GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED"),
        ("GOTRUE_MAILER_URL_PATHS_INVITE", "GOTRUE_MAILER_URLPATHS_INVITE"),
        ("GOTRUE_RELOADING_POLLER_ENABLED", "GOTRUE_RELOADING_POLLERENABLED"),
        ("GOTRUE_DATABASE_URL", "GOTRUE_DB_DATABASE_URL"),
    ];
    for (wrong, right) in cases {
        assert_eq!(
            warnings(&[(wrong, "x")]),
            [format!("{wrong}: is not known and has no effect. Did you mean {right}?")]
        );
    }
}

#[test]
fn ineffective_variables_get_a_warning_with_the_reason() {
    let reported = warnings(&[("GOTRUE_DB_MIGRATIONS_PATH", "./migrations"), ("GOTRUE_JWT_VALIDMETHODS", "HS256")]);
    assert_eq!(
        reported,
        [
            "GOTRUE_DB_MIGRATIONS_PATH: has no effect: the migrations are built in",
            "GOTRUE_JWT_VALIDMETHODS: has no effect: the name is GOTRUE_JWT_VALID_METHODS",
        ]
    );
}

#[test]
fn poller_setting_alone_is_ineffective() {
    let why = "files are looked at only in the place of GOTRUE_RELOADING_NOTIFY_ENABLED, which is false";
    let both = [("GOTRUE_RELOADING_POLLERENABLED", "true"), ("GOTRUE_RELOADING_NOTIFY_ENABLED", "false")];
    assert_eq!(warnings(&both), [format!("GOTRUE_RELOADING_POLLERENABLED: has no effect: {why}")]);
    assert!(warnings(&both[..1]).is_empty());
}

#[test]
fn invalid_json_is_ignored() {
    let headers = "is not a JSON object of lists of texts and is left out of account";
    for name in ["GOTRUE_SMTP_HEADERS", "GOTRUE_MAILER_EMAIL_VALIDATION_SERVICE_HEADERS"] {
        for bad in ["x", "[]", "{\"a\":\"b\"}", "{\"a\":[1]}"] {
            assert_eq!(warnings(&[(name, bad)]), [format!("{name}: {headers}")], "{bad}");
        }
        assert!(warnings(&[(name, "")]).is_empty());
    }
    let reported = warnings(&[("GOTRUE_MAILER_EMAIL_VALIDATION_BLOCKED_MX", "mx.example.com")]);
    assert_eq!(
        reported,
        ["GOTRUE_MAILER_EMAIL_VALIDATION_BLOCKED_MX: is not a JSON list of texts and is left out of account"]
    );
}

#[test]
fn relying_party_requires_host_origins_and_name() {
    let half = [("GOTRUE_WEBAUTHN_RP_ID", "example.com"), ("GOTRUE_WEBAUTHN_RP_ORIGINS", "https://example.com")];
    assert!(warnings(&half).is_empty(), "no part needs it");
    for on in ["GOTRUE_PASSKEY_ENABLED", "GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED", "GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED"] {
        let given = [half[0], half[1], (on, "true")];
        let party = config(&given).policy.webauthn.relying_party.expect("one without a name to show");
        assert_eq!(party.display_name, "", "{on}");
        assert_eq!(config(&[half[0], (on, "true")]).policy.webauthn.relying_party, None, "{on}");
        assert!(warnings(&given)[0].starts_with("GOTRUE_WEBAUTHN_RP_DISPLAY_NAME: is empty: "), "{on}");
    }
}

#[test]
fn incomplete_sms_provider_is_disabled() {
    let reported = warnings(&[("GOTRUE_SMS_PROVIDER", "pigeon")]);
    assert!(reported[0].starts_with("GOTRUE_SMS_PROVIDER: \"pigeon\" is none of twilio, "), "{reported:?}");
    let given =
        [("GOTRUE_SMS_PROVIDER", "vonage"), ("GOTRUE_SMS_VONAGE_API_KEY", "k"), ("GOTRUE_SMS_VONAGE_FROM", "f")];
    assert_eq!(
        warnings(&given),
        ["GOTRUE_SMS_PROVIDER: \"vonage\" lacks GOTRUE_SMS_VONAGE_API_SECRET; no message can be sent"]
    );
    let sms = config(&given).policy.sms;
    assert_eq!((sms.provider, sms.provider_name.as_str()), (None, "vonage"));
}

#[test]
fn hook_without_uri_gets_a_warning() {
    let given = [("GOTRUE_HOOK_SEND_SMS_ENABLED", "true")];
    assert!(warnings(&given)[0].starts_with("GOTRUE_HOOK_SEND_SMS_URI: is empty: the hook is on"));
    let target = config(&given).policy.hooks.send_sms.map(|hook| hook.target);
    assert_eq!(target, Some(gotrue_rules::domain::policy::HookTarget::Missing));
}

#[test]
fn unknown_log_level_and_unsupported_exporter_get_warnings() {
    assert_eq!(
        warnings(&[("GOTRUE_LOG_LEVEL", "loud")]),
        ["GOTRUE_LOG_LEVEL: \"loud\" is none of error, warn, info, debug, trace; info is taken"]
    );
    assert!(warnings(&[("GOTRUE_METRICS_ENABLED", "true")]).is_empty(), "the default exporter is that of OTLP");
    let metrics = [("GOTRUE_METRICS_ENABLED", "true"), ("GOTRUE_METRICS_EXPORTER", "statsd")];
    assert!(warnings(&metrics)[0].starts_with("GOTRUE_METRICS_EXPORTER: "), "{:?}", warnings(&metrics));
}

#[test]
fn templates_with_unknown_variables_get_a_warning() {
    let bad = "{{ .Token }} is your code";
    let reported = |name: &str| {
        format!(
            "{name}: \"{bad}\" cannot be filled in (map has no entry for key: Token): there is only .Code; no message can be sent"
        )
    };
    let sms = ("GOTRUE_SMS_TEMPLATE", bad);
    assert!(warnings(&[sms]).is_empty(), "nothing sends it");
    let complete = [
        ("GOTRUE_SMS_PROVIDER", "vonage"),
        ("GOTRUE_SMS_VONAGE_API_KEY", "k"),
        ("GOTRUE_SMS_VONAGE_API_SECRET", "s"),
        ("GOTRUE_SMS_VONAGE_FROM", "Shop"),
    ];
    assert_eq!(warnings(&[&complete[..], &[sms]].concat()), [reported(sms.0)]);
    let phone = ("GOTRUE_MFA_PHONE_TEMPLATE", bad);
    assert_eq!(warnings(&[phone, ("GOTRUE_MFA_PHONE_VERIFY_ENABLED", "true")]), [reported(phone.0)]);
}

#[test]
fn role_of_new_users_has_no_space_around_it() {
    let given = [("GOTRUE_JWT_DEFAULT_GROUP_NAME", " authenticated\t")];
    assert_eq!(config(&given).policy.jwt.default_group, "authenticated");
}
