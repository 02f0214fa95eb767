//! What stops the start, and how it is said.

use gotrue_rs::config::{Vars, load};

use super::{RSA_KEY, complaints, config, loaded, variables};

const SMALL_KEY: &str = include_str!("saml_1024.txt");
const ODD_KEY: &str = include_str!("saml_exponent_3.txt");
const PKCS8_KEY: &str = include_str!("saml_pkcs8.txt");
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

/// Each text is refused alone, in these words.
fn refuses(name: &str, cases: &[(&str, &str)]) {
    for (value, complaint) in cases {
        let said = complaints(&[(name, value)]);
        assert_eq!(said.len(), 1, "{name}={value}: {said:?}");
        assert!(said[0].starts_with(&format!("{name}: {complaint}. Example: {name}=")), "{name}={value}: {}", said[0]);
    }
}

#[test]
fn a_problem_says_name_value_form_and_example() {
    let said = complaints(&[("GOTRUE_JWT_EXP", "abc")]);
    assert_eq!(said, ["GOTRUE_JWT_EXP: \"abc\" is not a whole number of seconds. Example: GOTRUE_JWT_EXP=900"]);
}

#[test]
fn texts_of_the_wrong_form_are_refused() {
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
    assert_eq!(
        problems[3].to_string(),
        "DATABASE_URL: is not set. URL of the database. Example: DATABASE_URL=postgres://user:password@localhost:5432/postgres"
    );
}

#[test]
fn all_problems_are_told_at_once() {
    let said = complaints(&[
        ("GOTRUE_JWT_EXP", "x"),
        ("GOTRUE_SMTP_PORT", "y"),
        ("GOTRUE_SESSIONS_TIMEBOX", "0s"),
        ("GOTRUE_SECURITY_CAPTCHA_ENABLED", "1"),
    ]);
    assert_eq!(said.len(), 4, "{said:?}");
}

#[test]
fn the_secret_may_be_empty_only_beside_keys() {
    refuses("GOTRUE_JWT_SECRET", &[("", "is empty, and GOTRUE_JWT_KEYS holds no key in its place")]);
    assert_eq!(complaints(&[("GOTRUE_JWT_SECRET", ""), ("GOTRUE_JWT_KEYS", "[]")]).len(), 1);
    let keys = r#"[{"kty":"oct","kid":"a","k":"c2VjcmV0","key_ops":["sign","verify"]}]"#;
    assert_eq!(config(&[("GOTRUE_JWT_SECRET", ""), ("GOTRUE_JWT_KEYS", keys)]).jwt.keys.len(), 1);
}

#[test]
fn jwt_keys_are_a_list_of_keys_one_of_which_signs() {
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
        let said = complaints(&[("GOTRUE_JWT_KEYS", value)]);
        assert!(said[0].starts_with(&format!("GOTRUE_JWT_KEYS: {start}")), "{said:?}");
    }
    let twice = r#"[{"kty":"oct","kid":"a","key_ops":["sign"]},{"kty":"EC","kid":"a","key_ops":["sign"]}]"#;
    let keys = config(&[("GOTRUE_JWT_KEYS", twice)]).jwt.keys;
    assert_eq!((keys.len(), keys[0]["kty"].as_str()), (1, Some("EC")));
}

#[test]
fn public_addresses_are_absolute() {
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
fn only_postgres_and_its_schema_auth_are_served() {
    refuses("GOTRUE_DB_DRIVER", &[("mysql", "\"mysql\" is not postgres, the one kind of database served")]);
    assert!(loaded(&[("GOTRUE_DB_DRIVER", "")]).is_ok());
    refuses("DB_NAMESPACE", &[("public", "\"public\" is not auth, the one schema served")]);
    refuses(
        "DATABASE_URL",
        &[
            ("", "an empty text is not a URL of a PostgreSQL database (relative URL without a base)"),
            (
                "mysql://u:hidden@h/d",
                "the value (20 characters, not shown) is not a URL of a PostgreSQL database: it starts with postgres://",
            ),
        ],
    );
}

#[test]
fn confirming_at_once_and_unconfirmed_sign_ins_exclude_each_other() {
    let said =
        complaints(&[("GOTRUE_MAILER_AUTOCONFIRM", "true"), ("GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS", "true")]);
    let expected = "GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: is true together with GOTRUE_MAILER_AUTOCONFIRM; only one of them may be";
    assert!(said.len() == 1 && said[0].starts_with(expected), "{said:?}");
}

#[test]
fn a_captcha_needs_a_known_provider_and_a_secret() {
    let on = ("GOTRUE_SECURITY_CAPTCHA_ENABLED", "true");
    let said =
        complaints(&[on, ("GOTRUE_SECURITY_CAPTCHA_PROVIDER", "friendly"), ("GOTRUE_SECURITY_CAPTCHA_SECRET", "s")]);
    assert!(
        said[0].starts_with("GOTRUE_SECURITY_CAPTCHA_PROVIDER: \"friendly\" is neither hcaptcha nor turnstile."),
        "{said:?}"
    );
    let said = complaints(&[on, ("GOTRUE_SECURITY_CAPTCHA_SECRET", "  ")]);
    assert!(
        said[0].starts_with("GOTRUE_SECURITY_CAPTCHA_SECRET: is empty, and GOTRUE_SECURITY_CAPTCHA_ENABLED is true."),
        "{said:?}"
    );
    assert!(loaded(&[("GOTRUE_SECURITY_CAPTCHA_PROVIDER", "friendly")]).is_ok(), "not looked at while it is off");
}

#[test]
fn hook_addresses_are_checked_also_of_hooks_that_are_off() {
    refuses(
        "GOTRUE_HOOK_SEND_SMS_URI",
        &[
            ("ftp://x.example/", "\"ftp://x.example/\" starts with none of https://, http:// and pg-functions://"),
            (
                "http://x.example/",
                "\"http://x.example/\" is neither https nor on localhost, 127.0.0.1, ::1 or host.docker.internal",
            ),
            ("hook", "\"hook\" is not an address"),
            (
                "pg-functions://postgres/public",
                "\"pg-functions://postgres/public\" does not name schema and function: pg-functions://database/schema/function",
            ),
            (
                "pg-functions://postgres/public/my-hook",
                "\"pg-functions://postgres/public/my-hook\" does not name schema and function by letters, digits and `_`, at most 63 of them, no digit first",
            ),
            (
                "pg-functions://postgres/1public/hook",
                "\"pg-functions://postgres/1public/hook\" does not name schema and function by letters, digits and `_`, at most 63 of them, no digit first",
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
fn hook_secrets_have_a_form() {
    let uri = ("GOTRUE_HOOK_SEND_EMAIL_URI", "https://x.example/hook");
    let good = format!("v1,whsec_{}", "a".repeat(32));
    let pair = format!("v1a,whpk_{0}:whsk_{0}", "a".repeat(44));
    for secrets in [good.clone(), format!("{good}|{pair}"), String::new(), "|".to_owned(), format!("{good}!")] {
        assert!(loaded(&[uri, ("GOTRUE_HOOK_SEND_EMAIL_SECRETS", &secrets)]).is_ok(), "{secrets}");
    }
    let short = format!("v1,whsec_{}", "a".repeat(31));
    let half = format!("v1a,whpk_{0}:whsk_{1}", "a".repeat(44), "a".repeat(43));
    for secrets in [short, half, format!("{good}|plain"), "v2,whsec_".to_owned()] {
        let said = complaints(&[uri, ("GOTRUE_HOOK_SEND_EMAIL_SECRETS", &secrets)]);
        assert!(said[0].starts_with("GOTRUE_HOOK_SEND_EMAIL_SECRETS: has a secret (number "), "{said:?}");
        assert!(!said[0].contains(&secrets));
    }
    let function = ("GOTRUE_HOOK_SEND_EMAIL_URI", "pg-functions://postgres/public/hook");
    assert!(loaded(&[function, ("GOTRUE_HOOK_SEND_EMAIL_SECRETS", "plain")]).is_ok(), "a function needs no secret");
}

#[test]
fn saml_needs_a_usual_key() {
    let on = ("GOTRUE_SAML_ENABLED", "true");
    let cases = [
        ("", "is not an RSA key of at least 2048 bits in PKCS#1 DER (not shown)"),
        ("§", "is not base64 (not shown)"),
        (SMALL_KEY, "is not an RSA key of at least 2048 bits in PKCS#1 DER (not shown)"),
        (PKCS8_KEY, "is not an RSA key of at least 2048 bits in PKCS#1 DER (not shown)"),
        (ODD_KEY, "is an RSA key whose exponent is not 65537 (not shown)"),
    ];
    for (key, complaint) in cases {
        let said = complaints(&[on, ("GOTRUE_SAML_PRIVATE_KEY", key)]);
        assert!(said[0].starts_with(&format!("GOTRUE_SAML_PRIVATE_KEY: {complaint}")), "{said:?}");
    }
    let good = ("GOTRUE_SAML_PRIVATE_KEY", RSA_KEY);
    let said = complaints(&[on, good, ("GOTRUE_SAML_PRIVATE_KEY_NEXT", SMALL_KEY)]);
    assert!(said[0].starts_with("GOTRUE_SAML_PRIVATE_KEY_NEXT: is not an RSA key"), "{said:?}");
    let said = complaints(&[on, good, ("GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD", "-1s")]);
    assert!(said[0].starts_with("GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD: is a duration below zero."), "{said:?}");
    let wrapped = format!("{}\n{}", &RSA_KEY[..64], &RSA_KEY[64..]);
    assert!(loaded(&[on, ("GOTRUE_SAML_PRIVATE_KEY", &wrapped)]).is_ok());
    let off = config(&[("GOTRUE_SAML_PRIVATE_KEY", "§"), ("GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD", "-1s")]);
    assert!(off.policy.saml.private_key.is_empty(), "not looked at while it is off");
}

#[test]
fn encryption_keys_are_whole_and_fit_together() {
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
        let said = complaints(&[good[0], good[1], good[2], good[3], (name, value)]);
        assert!(said[0].starts_with(&format!("GOTRUE_SECURITY_DB_ENCRYPTION{complaint}")), "{said:?}");
    }
    assert_eq!(complaints(&[(&keys, "a:short")]).len(), 1, "decrypting keys are checked also while encryption is off");
    assert!(loaded(&[(&key, "short")]).is_ok(), "the encrypting key is not");
}

#[test]
fn the_filter_of_leaked_passwords_has_a_size_that_fits() {
    let on = ("GOTRUE_PASSWORD_HIBP_BLOOM_ENABLED", "true");
    let share = "GOTRUE_PASSWORD_HIBP_BLOOM_FALSE_POSITIVES";
    for wrong in ["0", "1", "-0.5", "7"] {
        let said = complaints(&[on, (share, wrong)]);
        assert!(said[0].starts_with(&format!("{share}: is not between 0 and 1")), "{said:?}");
        assert!(loaded(&[(share, wrong)]).is_ok(), "not looked at while it is off");
    }
    let items = "GOTRUE_PASSWORD_HIBP_BLOOM_ITEMS";
    let said = complaints(&[on, (items, "10000000000")]);
    assert!(said[0].starts_with(&format!("{items}: needs more than 512 MiB of memory")), "{said:?}");
    assert!(loaded(&[on, (items, "100000000")]).is_ok());
}

#[test]
fn limits_of_sessions_are_above_zero() {
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
fn refresh_tokens_have_versions_and_shares() {
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
fn texts_of_messages_must_be_templates_where_they_are_sent() {
    let bad = "{{ .Code";
    let sms = ("GOTRUE_SMS_TEMPLATE", bad);
    assert!(loaded(&[sms]).is_ok(), "nobody sends it");
    let said = complaints(&[sms, ("GOTRUE_SMS_PROVIDER", "twilio")]);
    assert!(said[0].starts_with("GOTRUE_SMS_TEMPLATE: \"{{ .Code\" is not a Go template: "), "{said:?}");
    let phone = ("GOTRUE_MFA_PHONE_TEMPLATE", bad);
    assert!(loaded(&[phone]).is_ok(), "nobody sends it");
    for on in ["GOTRUE_MFA_PHONE_ENROLL_ENABLED", "GOTRUE_MFA_PHONE_VERIFY_ENABLED"] {
        let said = complaints(&[phone, (on, "true")]);
        assert!(said[0].starts_with("GOTRUE_MFA_PHONE_TEMPLATE: \"{{ .Code\" is not a Go template: "), "{said:?}");
    }
}

#[test]
fn redirect_targets_are_patterns() {
    for (list, bad) in [("http://a/**,http://[b", "http://[b"), ("[z-a]", "[z-a]")] {
        let said = complaints(&[("GOTRUE_URI_ALLOW_LIST", list)]);
        let start = format!("GOTRUE_URI_ALLOW_LIST: {list:?} holds {bad:?}, which is not a pattern: ");
        assert!(said.len() == 1 && said[0].starts_with(&start), "{said:?}");
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
