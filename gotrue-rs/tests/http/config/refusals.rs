//! Errors in settings that prevent the start.

use gotrue_rs::config::{Vars, load};

use super::{RSA_KEY, complaints, config, loaded, variables};

const SMALL_KEY: &str = include_str!("saml_1024.txt");
const ODD_KEY: &str = include_str!("saml_exponent_3.txt");
const PKCS8_KEY: &str = include_str!("saml_pkcs8.txt");
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

/// Asserts that each value is refused with this message.
fn refuses(name: &str, cases: &[(&str, &str)]) {
    for (value, complaint) in cases {
        let reported = complaints(&[(name, value)]);
        assert_eq!(reported.len(), 1, "{name}={value}: {reported:?}");
        assert!(
            reported[0].starts_with(&format!("{name}: {complaint}. Example: {name}=")),
            "{name}={value}: {}",
            reported[0]
        );
    }
}

#[test]
fn problem_names_variable_value_format_and_example() {
    let reported = complaints(&[("GOTRUE_JWT_EXP", "abc")]);
    assert_eq!(reported, ["GOTRUE_JWT_EXP: \"abc\" is not a whole number of seconds. Example: GOTRUE_JWT_EXP=900"]);
}

#[test]
fn malformed_values_are_refused() {
    refuses(
        "GOTRUE_DISABLE_SIGNUP",
        &[("yes", "\"yes\" is neither true nor false"), ("", "an empty text is neither true nor false")],
    );
    refuses(
        "GOTRUE_JWT_EXP",
        &[("1.5", "\"1.5\" is not a whole number of seconds"), ("", "an empty text is not a whole number of seconds")],
    );
    refuses("GOTRUE_MAILER_OTP_EXP", &[("-1", "\"-1\" is not a whole number of seconds from 0 up")]);
    refuses("GOTRUE_RATE_LIMIT_OTP", &[("", "an empty text is not a number"), ("10/1m", "\"10/1m\" is not a number")]);
    refuses(
        "GOTRUE_RATE_LIMIT_EMAIL_SENT",
        &[
            ("", "an empty text is neither a number (so many an hour) nor number/duration"),
            ("10/min", "\"10/min\" is neither a number (so many an hour) nor number/duration"),
        ],
    );
    refuses(
        "GOTRUE_SMTP_MAX_FREQUENCY",
        &[
            ("60", "\"60\" is not a duration such as 1h30m, 90s or 500ms"),
            ("", "an empty text is not a duration such as 1h30m, 90s or 500ms"),
        ],
    );
    refuses(
        "GOTRUE_SMS_TEST_OTP",
        &[("15550100001", "\"15550100001\" is not a list of name:value pairs between commas")],
    );
    refuses("GOTRUE_SMTP_PORT", &[("70000", "\"70000\" is not a whole number from 0 to 65535")]);
    refuses(
        "PORT",
        &[("http", "\"http\" is not a port from 0 to 65535"), ("", "an empty text is not a port from 0 to 65535")],
    );
    refuses("GOTRUE_INTERNAL_HTTP_TIMEOUT", &[("10", "\"10\" is not a duration such as 10s")]);
    refuses(
        "GOTRUE_SMS_TEST_OTP_VALID_UNTIL",
        &[("tomorrow", "\"tomorrow\" is not a time such as 2030-01-31T12:00:00Z")],
    );
    refuses("GOTRUE_TRACING_ENABLED", &[("perhaps", "\"perhaps\" is neither true nor false")]);
    refuses("BASALT_PASSWORD_HASH", &[("md5", "\"md5\" is neither bcrypt nor argon2id")]);
    refuses("BASALT_LOG_FORMAT", &[("xml", "\"xml\" is neither json nor text")]);
}

#[test]
fn required_variables_must_be_set() {
    let problems = load(&Vars::default()).unwrap_err();
    let names: Vec<_> = problems.iter().map(|problem| problem.name.as_str()).collect();
    assert_eq!(names, ["API_EXTERNAL_URL", "GOTRUE_SITE_URL", "GOTRUE_DB_DRIVER", "DATABASE_URL", "GOTRUE_JWT_SECRET"]);
    let text = problems[3].to_string();
    assert!(text.starts_with("DATABASE_URL: is not set. URL of the database."), "{text}");
    assert!(text.ends_with(" Example: DATABASE_URL=postgres://user:password@localhost:5432/postgres"), "{text}");
}

#[test]
fn all_problems_are_reported_together() {
    let reported = complaints(&[
        ("GOTRUE_JWT_EXP", "x"),
        ("GOTRUE_SMTP_PORT", "y"),
        ("GOTRUE_SESSIONS_TIMEBOX", "0s"),
        ("GOTRUE_SECURITY_CAPTCHA_ENABLED", "1"),
    ]);
    assert_eq!(reported.len(), 4, "{reported:?}");
}

#[test]
fn jwt_secret_may_be_empty_only_with_jwt_keys() {
    refuses("GOTRUE_JWT_SECRET", &[("", "is empty, and GOTRUE_JWT_KEYS holds no key in its place")]);
    assert_eq!(complaints(&[("GOTRUE_JWT_SECRET", ""), ("GOTRUE_JWT_KEYS", "[]")]).len(), 1);
    let keys = r#"[{"kty":"oct","kid":"a","k":"c2VjcmV0","key_ops":["sign","verify"]}]"#;
    assert_eq!(config(&[("GOTRUE_JWT_SECRET", ""), ("GOTRUE_JWT_KEYS", keys)]).jwt.keys.len(), 1);
}

#[test]
fn jwt_keys_must_contain_a_signing_key() {
    for none in ["null", "[]"] {
        assert_eq!(config(&[("GOTRUE_JWT_KEYS", none)]).jwt.keys.len(), 0, "{none}");
    }
    let refused = [
        ("", "an empty text is not a JSON list of JSON web keys (EOF"),
        ("{}", "the value (2 characters, not shown) is not a JSON list of JSON web keys ("),
        (r#"[{"k":"x"}]"#, "the value (11 characters, not shown) has a key (number 1) whose `kty` is none of"),
        (r#"[{"kty":"oct","k":"x"}]"#, "the value (23 characters, not shown) has 0 keys whose `key_ops` hold `sign`"),
        (
            r#"[{"kty":"oct","kid":"a","key_ops":["sign"]},{"kty":"EC","kid":"b","key_ops":["sign"]}]"#,
            "the value (86 characters, not shown) has 2 keys whose `key_ops` hold `sign`",
        ),
    ];
    for (value, start) in refused {
        let reported = complaints(&[("GOTRUE_JWT_KEYS", value)]);
        assert!(reported[0].starts_with(&format!("GOTRUE_JWT_KEYS: {start}")), "{reported:?}");
    }
    let twice = r#"[{"kty":"EC","kid":"a","key_ops":["sign"]},{"kty":"oct","kid":"a","k":"YQ","key_ops":["sign"]}]"#;
    let keys = config(&[("GOTRUE_JWT_KEYS", twice)]).jwt.keys;
    assert_eq!((keys.len(), keys[0]["kty"].as_str()), (1, Some("oct")));
}

#[test]
fn public_urls_must_be_absolute() {
    let wrong = "is neither an absolute URL nor an absolute path";
    refuses(
        "API_EXTERNAL_URL",
        &[("api.example.com", &format!("\"api.example.com\" {wrong}")), ("", &format!("an empty text {wrong}"))],
    );
    refuses("GOTRUE_CUSTOM_OAUTH_EXTERNAL_URL", &[("api", &format!("\"api\" {wrong}"))]);
    assert_eq!(config(&[("GOTRUE_CUSTOM_OAUTH_EXTERNAL_URL", "")]).policy.custom_oauth.external_url, None);
    let off = [("GOTRUE_SAML_EXTERNAL_URL", "sso")];
    assert!(loaded(&off).is_ok(), "not looked at while SAML is off");
    let on = [off[0], ("GOTRUE_SAML_ENABLED", "true"), ("GOTRUE_SAML_PRIVATE_KEY", RSA_KEY)];
    assert_eq!(
        complaints(&on),
        [format!(
            "GOTRUE_SAML_EXTERNAL_URL: \"sso\" {wrong}. Example: GOTRUE_SAML_EXTERNAL_URL=https://sso.example.com"
        )]
    );
}

#[test]
fn only_postgres_with_schema_auth_is_accepted() {
    refuses("GOTRUE_DB_DRIVER", &[("mysql", "\"mysql\" is not postgres, the one kind of database served")]);
    assert!(loaded(&[("GOTRUE_DB_DRIVER", "")]).is_ok());
    refuses("DB_NAMESPACE", &[("public", "\"public\" is not auth, the one schema served")]);
    refuses(
        "DATABASE_URL",
        &[
            ("", "an empty text is not a URL of a PostgreSQL database (relative URL without a base)"),
            (
                "mysql://u:hidden@h/d",
                "the value (20 characters, not shown) is not a URL of a PostgreSQL database: it must start with postgres:// or postgresql://",
            ),
        ],
    );
}

#[test]
fn autoconfirm_and_unverified_sign_in_exclude_each_other() {
    let reported =
        complaints(&[("GOTRUE_MAILER_AUTOCONFIRM", "true"), ("GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS", "true")]);
    let expected = "GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: is true together with GOTRUE_MAILER_AUTOCONFIRM; only one of them may be";
    assert!(reported.len() == 1 && reported[0].starts_with(expected), "{reported:?}");
}

#[test]
fn captcha_requires_known_provider_and_secret() {
    let on = ("GOTRUE_SECURITY_CAPTCHA_ENABLED", "true");
    let reported =
        complaints(&[on, ("GOTRUE_SECURITY_CAPTCHA_PROVIDER", "friendly"), ("GOTRUE_SECURITY_CAPTCHA_SECRET", "s")]);
    assert!(
        reported[0].starts_with("GOTRUE_SECURITY_CAPTCHA_PROVIDER: \"friendly\" is neither hcaptcha nor turnstile."),
        "{reported:?}"
    );
    let reported = complaints(&[on, ("GOTRUE_SECURITY_CAPTCHA_SECRET", "  ")]);
    assert!(
        reported[0]
            .starts_with("GOTRUE_SECURITY_CAPTCHA_SECRET: is empty, and GOTRUE_SECURITY_CAPTCHA_ENABLED is true."),
        "{reported:?}"
    );
    assert!(loaded(&[("GOTRUE_SECURITY_CAPTCHA_PROVIDER", "friendly")]).is_ok(), "not looked at while it is off");
}

#[test]
fn hook_uris_are_validated_even_if_disabled() {
    refuses(
        "GOTRUE_HOOK_SEND_SMS_URI",
        &[
            ("ftp://x.example/", "starts with none of https://, http:// and pg-functions://"),
            ("http://x.example/", "is neither https nor on localhost, 127.0.0.1, ::1 or host.docker.internal"),
            ("hook", "starts with none of https://, http:// and pg-functions://"),
            ("http://[", "is not an address"),
            (
                "pg-functions://postgres/public",
                "does not name schema and function: pg-functions://database/schema/function",
            ),
            (
                "pg-functions://postgres/public/my-hook",
                "does not name schema and function by letters, digits and `_`, at most 63 of them, no digit first",
            ),
            (
                "pg-functions://postgres/1public/hook",
                "does not name schema and function by letters, digits and `_`, at most 63 of them, no digit first",
            ),
        ],
    );
    for uri in [
        "https://x.example/hook",
        "http://localhost:8000/hook",
        "http://127.0.0.1/",
        "http://[::1]:1/",
        "http://host.docker.internal/",
        "PG-FUNCTIONS://postgres/public/my_hook",
    ] {
        assert!(loaded(&[("GOTRUE_HOOK_AFTER_USER_CREATED_URI", uri)]).is_ok(), "{uri}");
    }
    let long = format!("pg-functions://postgres/public/{}", "f".repeat(64));
    assert_eq!(complaints(&[("GOTRUE_HOOK_SEND_SMS_URI", &long)]).len(), 1);
}

#[test]
fn hook_secrets_are_validated() {
    let uri = ("GOTRUE_HOOK_SEND_EMAIL_URI", "https://x.example/hook");
    let good = format!("v1,whsec_{}", "a".repeat(32));
    let pair = format!("v1a,whpk_{0}:whsk_{0}", "a".repeat(44));
    for secrets in [good.clone(), format!("{good}|{pair}"), String::new(), "|".to_owned(), format!("{good}!")] {
        assert!(loaded(&[uri, ("GOTRUE_HOOK_SEND_EMAIL_SECRETS", &secrets)]).is_ok(), "{secrets}");
    }
    let short = format!("v1,whsec_{}", "a".repeat(31));
    let half = format!("v1a,whpk_{0}:whsk_{1}", "a".repeat(44), "a".repeat(43));
    for secrets in [short, half, format!("{good}|plain"), "v2,whsec_".to_owned()] {
        let reported = complaints(&[uri, ("GOTRUE_HOOK_SEND_EMAIL_SECRETS", &secrets)]);
        assert!(reported[0].starts_with("GOTRUE_HOOK_SEND_EMAIL_SECRETS: has a secret (number "), "{reported:?}");
        assert!(!reported[0].contains(&secrets));
    }
    let function = ("GOTRUE_HOOK_SEND_EMAIL_URI", "pg-functions://postgres/public/hook");
    assert!(loaded(&[function, ("GOTRUE_HOOK_SEND_EMAIL_SECRETS", "plain")]).is_ok(), "a function needs no secret");
}

#[test]
fn saml_requires_a_supported_rsa_key() {
    let on = ("GOTRUE_SAML_ENABLED", "true");
    let cases = [
        ("", "is not an RSA key of at least 2048 bits in PKCS#1 DER (not shown)"),
        ("§", "is not base64 (not shown)"),
        (SMALL_KEY, "is not an RSA key of at least 2048 bits in PKCS#1 DER (not shown)"),
        (PKCS8_KEY, "is not an RSA key of at least 2048 bits in PKCS#1 DER (not shown)"),
        (ODD_KEY, "is an RSA key whose exponent is not 65537 (not shown)"),
    ];
    for (key, complaint) in cases {
        let reported = complaints(&[on, ("GOTRUE_SAML_PRIVATE_KEY", key)]);
        assert!(reported[0].starts_with(&format!("GOTRUE_SAML_PRIVATE_KEY: {complaint}")), "{reported:?}");
    }
    let good = ("GOTRUE_SAML_PRIVATE_KEY", RSA_KEY);
    let reported = complaints(&[on, good, ("GOTRUE_SAML_PRIVATE_KEY_NEXT", SMALL_KEY)]);
    assert!(reported[0].starts_with("GOTRUE_SAML_PRIVATE_KEY_NEXT: is not an RSA key"), "{reported:?}");
    let reported = complaints(&[on, good, ("GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD", "-1s")]);
    assert!(
        reported[0].starts_with("GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD: is a duration below zero."),
        "{reported:?}"
    );
    let wrapped = format!("{}\n{}", &RSA_KEY[..64], &RSA_KEY[64..]);
    assert!(loaded(&[on, ("GOTRUE_SAML_PRIVATE_KEY", &wrapped)]).is_ok());
    let off = config(&[("GOTRUE_SAML_PRIVATE_KEY", "§"), ("GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD", "-1s")]);
    assert!(off.policy.saml.private_key.is_empty(), "not looked at while it is off");
}

#[test]
fn encryption_keys_must_be_complete_and_consistent() {
    let [encrypt, id, key, keys] = ["_ENCRYPT", "_ENCRYPTION_KEY_ID", "_ENCRYPTION_KEY", "_DECRYPTION_KEYS"]
        .map(|end| format!("GOTRUE_SECURITY_DB_ENCRYPTION{end}"));
    let good = [(encrypt.as_str(), "true"), (&id, "a"), (&key, KEY), (&keys, &format!("a:{KEY}"))];
    assert!(loaded(&good).is_ok());
    let other = KEY.replace("AAEC", "ZAEC");
    let cases = [
        (&id, "", "_ENCRYPTION_KEY_ID: is empty, and encryption is on"),
        (&id, &"x".repeat(81), "_ENCRYPTION_KEY_ID: has more than 80 characters"),
        (&key, "AAEC", "_ENCRYPTION_KEY: is not 32 bytes in base64url without padding"),
        (&key, "", "_ENCRYPTION_KEY: is not 32 bytes in base64url without padding"),
        (&keys, "", "_DECRYPTION_KEYS: does not hold the encrypting key under its id \"a\""),
        (&keys, &format!("b:{KEY}"), "_DECRYPTION_KEYS: does not hold the encrypting key under its id \"a\""),
        (&keys, &format!("a:{other}"), "_DECRYPTION_KEYS: does not hold the encrypting key under its id \"a\""),
        (&keys, &format!("a:{KEY},b:short"), "_DECRYPTION_KEYS: holds under the id \"b\" no 32 bytes"),
    ];
    for (name, value, complaint) in cases {
        let reported = complaints(&[good[0], good[1], good[2], good[3], (name, value)]);
        assert!(reported[0].starts_with(&format!("GOTRUE_SECURITY_DB_ENCRYPTION{complaint}")), "{reported:?}");
    }
    assert_eq!(complaints(&[(&keys, "a:short")]).len(), 1, "decrypting keys are checked also while encryption is off");
    assert!(loaded(&[(&key, "short")]).is_ok(), "the encrypting key is not");
}

#[test]
fn leaked_password_filter_size_is_validated() {
    let on = ("GOTRUE_PASSWORD_HIBP_BLOOM_ENABLED", "true");
    let share = "GOTRUE_PASSWORD_HIBP_BLOOM_FALSE_POSITIVES";
    for wrong in ["0", "1", "-0.5", "7"] {
        let reported = complaints(&[on, (share, wrong)]);
        assert!(reported[0].starts_with(&format!("{share}: is not between 0 and 1")), "{reported:?}");
        assert!(loaded(&[(share, wrong)]).is_ok(), "not looked at while it is off");
    }
    let items = "GOTRUE_PASSWORD_HIBP_BLOOM_ITEMS";
    let reported = complaints(&[on, (items, "10000000000")]);
    assert!(reported[0].starts_with(&format!("{items}: needs more than 512 MiB of memory")), "{reported:?}");
    assert!(loaded(&[on, (items, "100000000")]).is_ok());
}

#[test]
fn session_limits_must_be_positive() {
    for name in ["GOTRUE_SESSIONS_TIMEBOX", "GOTRUE_SESSIONS_INACTIVITY_TIMEOUT", "GOTRUE_SESSIONS_ALLOW_LOW_AAL"] {
        let wrong = "is not a duration above zero such as 1h30m, 90s or 500ms";
        refuses(
            name,
            &[
                ("0s", &format!("\"0s\" {wrong}")),
                ("-1h", &format!("\"-1h\" {wrong}")),
                ("", &format!("an empty text {wrong}")),
            ],
        );
    }
}

#[test]
fn refresh_token_versions_and_percentages_are_validated() {
    refuses(
        "GOTRUE_SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION",
        &[("3", "\"3\" is not a whole number from 0 to 2"), ("-1", "\"-1\" is not a whole number from 0 to 2")],
    );
    refuses(
        "GOTRUE_SECURITY_REFRESH_TOKEN_UPGRADE_PERCENTAGE",
        &[("101", "\"101\" is not a whole number of percent from 0 to 100")],
    );
}

#[test]
fn message_templates_are_validated_if_enabled() {
    let bad = "{{ .Code";
    let sms = ("GOTRUE_SMS_TEMPLATE", bad);
    assert!(loaded(&[sms]).is_ok(), "nothing sends it");
    let reported = complaints(&[sms, ("GOTRUE_SMS_PROVIDER", "twilio")]);
    assert!(reported[0].starts_with("GOTRUE_SMS_TEMPLATE: \"{{ .Code\" is not a Go template: "), "{reported:?}");
    let phone = ("GOTRUE_MFA_PHONE_TEMPLATE", bad);
    assert!(loaded(&[phone]).is_ok(), "nothing sends it");
    for on in ["GOTRUE_MFA_PHONE_ENROLL_ENABLED", "GOTRUE_MFA_PHONE_VERIFY_ENABLED"] {
        let reported = complaints(&[phone, (on, "true")]);
        assert!(
            reported[0].starts_with("GOTRUE_MFA_PHONE_TEMPLATE: \"{{ .Code\" is not a Go template: "),
            "{reported:?}"
        );
    }
}

#[test]
fn redirect_allow_list_patterns_are_validated() {
    for (list, bad) in [("http://a/**,http://[b", "http://[b"), ("[z-a]", "[z-a]")] {
        let reported = complaints(&[("GOTRUE_URI_ALLOW_LIST", list)]);
        let start = format!("GOTRUE_URI_ALLOW_LIST: {list:?} holds {bad:?}, which is not a pattern: ");
        assert!(reported.len() == 1 && reported[0].starts_with(&start), "{reported:?}");
    }
    assert!(loaded(&[("GOTRUE_URI_ALLOW_LIST", "http://a/**,myapp://[!a-z]?*,")]).is_ok());
}

#[test]
fn linking_domains_are_pairs() {
    refuses(
        "GOTRUE_EXPERIMENTAL_PROVIDER_LINKING_DOMAINS",
        &[("a=b,c", "\"a=b,c\" is not a list of provider=domain pairs between commas: \"c\" is none")],
    );
}

#[test]
fn secrets_are_never_shown() {
    let given = variables(&[
        ("GOTRUE_JWT_KEYS", "top-secret"),
        ("DATABASE_URL", "top-secret"),
        ("GOTRUE_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS", "top-secret"),
        ("GOTRUE_SAML_ENABLED", "true"),
        ("GOTRUE_SAML_PRIVATE_KEY", "top-secret"),
        ("GOTRUE_HOOK_SEND_SMS_URI", "https://x.example"),
        ("GOTRUE_HOOK_SEND_SMS_SECRETS", "top-secret"),
    ]);
    let problems = load(&Vars::from_map(given)).unwrap_err();
    assert_eq!(problems.len(), 5, "{problems:?}");
    assert!(!format!("{problems:?}").contains("top-secret"), "{problems:?}");
    let fine =
        config(&[("GOTRUE_JWT_SECRET", "top-secret"), ("GOTRUE_SMTP_HOST", "h"), ("GOTRUE_SMTP_PASS", "top-secret")]);
    assert!(!format!("{fine:?}").contains("top-secret"));
}
