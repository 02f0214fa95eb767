//! What does not stop the start, and yet is said.

use gotrue_rs::config::Loudness;

use super::config;

/// The warnings about these variables.
fn warnings(more: &[(&str, &str)]) -> Vec<String> {
    let notices = config(more).notices;
    notices.iter().filter(|notice| notice.loudness == Loudness::Warning).map(ToString::to_string).collect()
}

#[test]
fn nothing_is_said_of_the_usual() {
    assert!(warnings(&[]).is_empty());
}

#[test]
fn an_unknown_variable_is_told_apart_from_a_misspelt_one() {
    let notices =
        config(&[("GOTRUE_SITE_URLS", "x"), ("GOTRUE_WHATEVER_ELSE_THERE_MAY_BE", "x"), ("HOME_OFFICE", "x")]).notices;
    let said: Vec<_> =
        notices.iter().map(|notice| (notice.name.as_str(), notice.text.as_str(), notice.loudness)).collect();
    let misspelt = "is not known and has no effect. Did you mean GOTRUE_SITE_URL?";
    assert!(said.contains(&("GOTRUE_SITE_URLS", misspelt, Loudness::Warning)), "{said:?}");
    let unknown = ("GOTRUE_WHATEVER_ELSE_THERE_MAY_BE", "is not known and has no effect", Loudness::Debug);
    assert!(said.contains(&unknown), "{said:?}");
    assert!(!said.iter().any(|(name, ..)| *name == "HOME_OFFICE"), "{said:?}");
}

#[test]
fn names_that_are_easy_to_get_wrong_are_put_right() {
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
fn what_has_no_effect_says_why() {
    let said = warnings(&[("GOTRUE_DB_MIGRATIONS_PATH", "./migrations"), ("GOTRUE_JWT_VALIDMETHODS", "HS256")]);
    assert_eq!(
        said,
        [
            "GOTRUE_DB_MIGRATIONS_PATH: has no effect: the migrations are built in",
            "GOTRUE_JWT_VALIDMETHODS: has no effect: it is spelt GOTRUE_JWT_VALID_METHODS",
        ]
    );
}

#[test]
fn a_poller_alone_has_no_effect() {
    let why = "files are looked at only in the place of GOTRUE_RELOADING_NOTIFY_ENABLED, which is false";
    let both = [("GOTRUE_RELOADING_POLLERENABLED", "true"), ("GOTRUE_RELOADING_NOTIFY_ENABLED", "false")];
    assert_eq!(warnings(&both), [format!("GOTRUE_RELOADING_POLLERENABLED: has no effect: {why}")]);
    assert!(warnings(&both[..1]).is_empty());
}

#[test]
fn bad_json_is_left_out_of_account() {
    let headers = "is not a JSON object of lists of texts and is left out of account";
    for name in ["GOTRUE_SMTP_HEADERS", "GOTRUE_MAILER_EMAIL_VALIDATION_SERVICE_HEADERS"] {
        for bad in ["x", "[]", "{\"a\":\"b\"}", "{\"a\":[1]}"] {
            assert_eq!(warnings(&[(name, bad)]), [format!("{name}: {headers}")], "{bad}");
        }
        assert!(warnings(&[(name, "")]).is_empty());
    }
    let said = warnings(&[("GOTRUE_MAILER_EMAIL_VALIDATION_BLOCKED_MX", "mx.example.com")]);
    assert_eq!(
        said,
        ["GOTRUE_MAILER_EMAIL_VALIDATION_BLOCKED_MX: is not a JSON list of texts and is left out of account"]
    );
}

#[test]
fn a_relying_party_needs_a_host_and_pages_and_to_make_keys_a_name() {
    let half = [("GOTRUE_WEBAUTHN_RP_ID", "example.com"), ("GOTRUE_WEBAUTHN_RP_ORIGINS", "https://example.com")];
    assert!(warnings(&half).is_empty(), "nobody needs it");
    for on in ["GOTRUE_PASSKEY_ENABLED", "GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED", "GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED"] {
        let given = [half[0], half[1], (on, "true")];
        let party = config(&given).policy.webauthn.relying_party.expect("one without a name to show");
        assert_eq!(party.display_name, "", "{on}");
        assert_eq!(config(&[half[0], (on, "true")]).policy.webauthn.relying_party, None, "{on}");
        assert!(warnings(&given)[0].starts_with("GOTRUE_WEBAUTHN_RP_DISPLAY_NAME: is empty: "), "{on}");
    }
}

#[test]
fn a_sender_that_cannot_send_is_none() {
    let said = warnings(&[("GOTRUE_SMS_PROVIDER", "pigeon")]);
    assert!(said[0].starts_with("GOTRUE_SMS_PROVIDER: \"pigeon\" is none of twilio, "), "{said:?}");
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
fn a_hook_without_an_address_is_on_and_useless() {
    let given = [("GOTRUE_HOOK_SEND_SMS_ENABLED", "true")];
    assert!(warnings(&given)[0].starts_with("GOTRUE_HOOK_SEND_SMS_URI: is empty: the hook is on"));
    let target = config(&given).policy.hooks.send_sms.map(|hook| hook.target);
    assert_eq!(target, Some(gotrue_rules::domain::policy::HookTarget::Missing));
}

#[test]
fn an_unknown_level_and_an_unserved_exporter_are_told() {
    assert_eq!(
        warnings(&[("GOTRUE_LOG_LEVEL", "loud")]),
        ["GOTRUE_LOG_LEVEL: \"loud\" is none of error, warn, info, debug, trace; info is taken"]
    );
    assert!(
        warnings(&[("GOTRUE_METRICS_ENABLED", "true")])[0]
            .starts_with("GOTRUE_METRICS_EXPORTER: only `prometheus` is served")
    );
}

#[test]
fn texts_that_name_what_there_is_not_are_told_with_their_setting() {
    let bad = "{{ .Token }} is your code";
    let said = |name: &str| {
        format!(
            "{name}: \"{bad}\" cannot be filled in (map has no entry for key: Token): there is only .Code; no message can be sent"
        )
    };
    let sms = ("GOTRUE_SMS_TEMPLATE", bad);
    assert!(warnings(&[sms]).is_empty(), "nobody sends it");
    let complete = [
        ("GOTRUE_SMS_PROVIDER", "vonage"),
        ("GOTRUE_SMS_VONAGE_API_KEY", "k"),
        ("GOTRUE_SMS_VONAGE_API_SECRET", "s"),
        ("GOTRUE_SMS_VONAGE_FROM", "Shop"),
    ];
    assert_eq!(warnings(&[&complete[..], &[sms]].concat()), [said(sms.0)]);
    let phone = ("GOTRUE_MFA_PHONE_TEMPLATE", bad);
    assert_eq!(warnings(&[phone, ("GOTRUE_MFA_PHONE_VERIFY_ENABLED", "true")]), [said(phone.0)]);
}
