//! Tests of the conversion of `config.toml` to settings.

use std::path::Path;

use foundation::limits::Bucket;
use foundation::limits_policy::TargetLimits;
use gotrue_rules::domain::policy::Policy;
use proptest::prelude::*;

use super::{ConfigFile, ServerFacts, Settings};

fn read(text: &str) -> Result<ConfigFile, Vec<String>> {
    let environment = |name: &str| match name {
        "SECRET" => Ok(Some("from the environment".to_owned())),
        "UNREADABLE" => Err("UNREADABLE_FILE: is in the file /a, which is empty".to_owned()),
        _ => Ok(None),
    };
    ConfigFile::read(Path::new("config.toml"), text, &environment)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

fn settings(text: &str) -> Settings {
    let file = read(text).expect("a file without problems");
    file.settings(&ServerFacts { api_url: "http://127.0.0.1:54321", folder: Path::new("/nowhere") })
}

fn setting(text: &str, name: &str) -> Option<String> {
    settings(text).vars.get(&format!("GOTRUE_{name}")).cloned()
}

#[test]
fn variable_in_an_unusable_file_is_a_problem_of_its_line() {
    let problems = read("[auth]\n[auth.email.smtp]\npass = \"env(UNREADABLE)\"").expect_err("a problem");
    let expected =
        "line 3: auth.email.smtp.pass has no value: UNREADABLE_FILE: is in the file /a, which is empty".to_owned();
    assert!(problems.contains(&expected), "{problems:?}");
}

#[test]
fn keys_map_to_settings() {
    let cases = [
        ("", "SITE_URL", Some("http://127.0.0.1:54321")),
        ("", "API_API_EXTERNAL_URL", Some("http://127.0.0.1:54321/auth/v1")),
        ("", "MAILER_URLPATHS_INVITE", Some("http://127.0.0.1:54321/auth/v1/verify")),
        ("", "MAILER_AUTOCONFIRM", Some("true")),
        ("", "SECURITY_REFRESH_TOKEN_REUSE_INTERVAL", Some("10")),
        ("", "SESSIONS_TIMEBOX", None),
        ("", "RATE_LIMIT_EMAIL_SENT", Some("360000")),
        ("[auth]\nsite_url = \"https://shop.example\"", "SITE_URL", Some("https://shop.example")),
        ("[auth.passkey]\nenabled = true", "PASSKEY_ENABLED", Some("true")),
        ("[auth]\nexternal_url = \"https://a.example/auth/\"", "JWT_ISSUER", Some("https://a.example/auth")),
        ("[auth]\nadditional_redirect_urls = [\"a://b\", \"c://d\"]", "URI_ALLOW_LIST", Some("a://b,c://d")),
        ("[auth]\nenable_signup = false", "DISABLE_SIGNUP", Some("true")),
        ("[auth]\njwt_expiry = 0x10", "JWT_EXP", Some("16")),
        ("[auth.email]\nenable_confirmations = true", "MAILER_AUTOCONFIRM", Some("false")),
        ("", "SMS_AUTOCONFIRM", Some("false")),
        ("[auth.sms]\nenable_signup = true", "SMS_AUTOCONFIRM", Some("false")),
        ("[auth.sms]\nenable_confirmations = false", "SMS_AUTOCONFIRM", Some("true")),
        ("auth.email.otp_expiry = 60", "MAILER_OTP_EXP", Some("60")),
        ("[auth.email.smtp]\nhost = \"h\"", "SMTP_HOST", Some("h")),
        ("[auth.email.smtp]\nhost = \"h\"", "RATE_LIMIT_EMAIL_SENT", Some("2")),
        ("[auth.email.smtp]\nenabled = false\nhost = \"h\"", "SMTP_HOST", None),
        ("[local_smtp]\nadmin_email = \"a@b.c\"", "SMTP_ADMIN_EMAIL", Some("a@b.c")),
        ("[auth.sessions]\ntimebox = \"24h\"", "SESSIONS_TIMEBOX", Some("24h")),
        ("[auth.sessions]\ntimebox = \"0s\"", "SESSIONS_TIMEBOX", None),
        ("[auth.sms.vonage]\nenabled = true\nfrom = \"x\"", "SMS_PROVIDER", Some("vonage")),
        ("[auth.sms.vonage]\nenabled = true\nfrom = \"x\"", "SMS_VONAGE_FROM", Some("x")),
        ("[auth.sms.test_otp]\n4152127777 = \"123456\"\n41 = \"1\"", "SMS_TEST_OTP", Some("41:1,4152127777:123456")),
        (
            "[auth.external.github]\nenabled = true",
            "EXTERNAL_GITHUB_REDIRECT_URI",
            Some("http://127.0.0.1:54321/auth/v1/callback"),
        ),
        (
            "[auth.external.github]\nenabled = true\nsecret = \"env(SECRET)\"",
            "EXTERNAL_GITHUB_SECRET",
            Some("from the environment"),
        ),
        ("[auth.external.github]\nenabled = false\nurl = \"x\"", "EXTERNAL_GITHUB_URL", None),
        ("[auth.hook.send_sms]\nenabled = true\nuri = \"https://h\"", "HOOK_SEND_SMS_URI", Some("https://h")),
        ("[auth.mfa.web_authn]\nverify_enabled = true", "MFA_WEB_AUTHN_VERIFY_ENABLED", Some("true")),
        ("[auth.web3.solana]\nenabled = true", "EXTERNAL_WEB3_SOLANA_ENABLED", Some("true")),
        (
            "[basalt.saml]\nenabled = true\nprivate_key = \"env(SECRET)\"",
            "SAML_PRIVATE_KEY",
            Some("from the environment"),
        ),
        ("[basalt.database]\nmax_connections = 12", "DB_MAX_POOL_SIZE", Some("12")),
        ("[basalt.saml]\nenabled = false\nprivate_key = \"x\"", "SAML_PRIVATE_KEY", None),
        (
            "[auth]\npassword_requirements = \"letters_digits\"",
            "PASSWORD_REQUIRED_CHARACTERS",
            Some("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:0123456789"),
        ),
    ];
    for (text, name, expected) in cases {
        assert_eq!(setting(text, name).as_deref(), expected, "{name} of {text}");
    }
}

#[test]
fn webauthn_relying_party_defaults_to_site() {
    let cases = [
        ("", "WEBAUTHN_RP_ID", Some("localhost")),
        ("", "WEBAUTHN_RP_ORIGINS", Some("http://localhost:54321")),
        (
            "[auth]\nsite_url = \"http://127.0.0.1:3000\"",
            "WEBAUTHN_RP_ORIGINS",
            Some("http://localhost:3000,http://localhost:54321"),
        ),
        ("[auth]\nsite_url = \"https://shop.example/start\"", "WEBAUTHN_RP_ID", Some("shop.example")),
        ("[auth]\nsite_url = \"https://shop.example/start\"", "WEBAUTHN_RP_ORIGINS", Some("https://shop.example")),
        ("[auth]\nsite_url = \"https://shop.example\"", "WEBAUTHN_RP_DISPLAY_NAME", Some("shop.example")),
        ("[auth]\nsite_url = \"http://192.0.2.7:80\"", "WEBAUTHN_RP_ID", None),
        ("[auth.webauthn]\nrp_id = \"example\"", "WEBAUTHN_RP_ID", Some("example")),
        ("[auth.webauthn]\nrp_origins = [\"https://a.example\"]", "WEBAUTHN_RP_ORIGINS", Some("https://a.example")),
    ];
    for (text, name, expected) in cases {
        assert_eq!(setting(text, name).as_deref(), expected, "{name} of {text}");
    }
}

#[test]
fn all_problems_are_reported_with_line() {
    let text = "[api]\nexternal_url = \"https://api.example.com\"\n[auth]\nsite_ulr = \"x\"\njwt_expiry = \"soon\"\n\n[auth.captcha]\nsecret = \"env(MISSING)\"\n\
                enabled = true\n\nprovider = \"mine\"\n[storag]\n";
    let problems = read(text).expect_err("problems");
    assert_eq!(
        problems,
        [
            "line 4: auth.site_ulr is not known; did you mean auth.site_url?",
            "line 5: auth.jwt_expiry must be a whole number, such as 3600",
            "line 8: auth.captcha.secret needs the environment variable MISSING, which is not set: set it, or add it to a .env \
             file of the project",
            "line 11: auth.captcha.provider must be one of \"hcaptcha\", \"turnstile\"",
            "line 12: storag is not known; did you mean storage?",
        ]
    );
}

#[test]
fn values_of_inline_tables_and_lists_are_reported_with_their_own_line() {
    let text = "api = { port = \"many\", max_rowz = 5 }\n[auth]\nadditional_redirect_urls = [\n  \"https://a.example\",\n  7,\n]\n\
                external = { github = { enabled = \"yes\" } }\n[[auth.hook]]\nenabled = true\n[[storage.buckets.a]]\n\
                public = true\n[auth.email]\nsmtp = [{ host = \"h\" }]\n";
    let problems = read(text).expect_err("problems");
    assert_eq!(
        problems,
        [
            "line 1: api.max_rowz is not known; did you mean api.max_rows?",
            "line 1: api.port must be a whole number, such as 3600",
            "line 5: auth.additional_redirect_urls must be a list of texts, such as [\"https://example.com\"]",
            "line 7: auth.external.github.enabled must be true or false",
            "line 8: auth.hook must be a table, [auth.hook]",
            "line 10: storage.buckets.a must be a table, [storage.buckets.a]",
            "line 13: auth.email.smtp must be a table, [auth.email.smtp]",
        ]
    );
}

#[test]
fn missing_keys_have_the_line_of_their_table() {
    let file = read("[auth]\nsite_url = \"http://a\"\n[auth.external]\ngithub = { enabled = false }\n").expect("valid");
    assert_eq!(file.find_line("auth.site_url"), Some(2));
    assert_eq!(file.find_line("auth.jwt_expiry"), Some(1));
    assert_eq!(file.find_line("auth.external.github.client_id"), Some(4));
    assert_eq!(file.find_line("storage.enabled"), None);
}

#[test]
fn invalid_toml_is_reported_with_line() {
    let problems = read("[auth]\nsite_url = \n").expect_err("problems");
    assert!(problems[0].starts_with("line 2: this is not TOML: "), "{problems:?}");
    // It is not closed, and a key of that name is there already.
    let problems = read("[auth]\n[auth\n").expect_err("a problem");
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn unset_variable_of_disabled_table_is_of_no_interest() {
    for (table, key) in
        [("auth.sms.twilio", "auth_token"), ("auth.external.apple", "secret"), ("auth.captcha", "secret")]
    {
        let file = read(&format!("[{table}]\n{key} = \"env(MISSING)\"")).expect("no problem");
        assert_eq!(file.notices(), []);
    }
    assert!(read("[studio]\nopenai_api_key = \"env(MISSING)\"").expect("no problem").notices().is_empty());
}

#[test]
fn unset_relying_party_is_needed_by_passkeys_alone() {
    let text = "[auth.webauthn]\nrp_id = \"env(UNSET_RP_ID)\"\nrp_origins = [\"env(UNSET_ORIGIN)\"]\n";
    let file = read(text).expect("it is read");
    assert_eq!(file.notices().len(), 2, "{:?}", file.notices());
    for switch in ["[auth.passkey]\nenabled = true", "[auth.mfa.web_authn]\nverify_enabled = true"] {
        assert!(read(&format!("{text}{switch}\n")).is_err(), "{switch}");
    }
}

#[test]
fn unset_port_and_site_have_their_defaults() {
    let text = "project_id = \"env(A)\"\n[api]\nport = \"env(B)\"\n[db]\nport = \"env(C)\"\n[inbucket]\nsmtp_port = \"env(D)\"\n\
                [auth]\nsite_url = \"env(E)\"\nadditional_redirect_urls = [\"env(F)\"]";
    let file = read(text).expect("no problem");
    assert_eq!(file.port(), 54321);
    let notices: Vec<String> = file.notices().iter().map(ToString::to_string).collect();
    assert!(
        notices.contains(&"line 3: api.port: the environment variable B is not set: it has its default".to_owned())
    );
    assert_eq!(notices.len(), 6, "{notices:?}");
}

#[test]
fn items_of_a_list_whose_variables_are_set_are_kept() {
    let text = "project_id = \"shop\"\n[auth]\nadditional_redirect_urls = [\n  \"https://a.example\",\n  \"env(F)\",\n  \"https://b.example\",\n]";
    let file = read(text).expect("no problem");
    assert_eq!(file.project_id(), Some("shop"));
    assert_eq!(read("project_id = \"a\\nb\"").expect("no problem").project_id(), None);
    assert_eq!(settings(text).vars["GOTRUE_URI_ALLOW_LIST"], "https://a.example,https://b.example");
    let notices: Vec<String> = file.notices().iter().map(ToString::to_string).collect();
    assert_eq!(
        notices,
        [
            "line 5: auth.additional_redirect_urls: the environment variable F is not set: this item of the list is left out"
        ]
    );
}

#[test]
fn unset_variables_of_development_are_notices() {
    let text = "[auth]\npublishable_key = \"env(A)\"\njwt_secret = \"env(B)\"\n[auth.captcha]\nenabled = true\n\
                provider = \"turnstile\"\nsecret = \"env(C)\"\n[auth.email.smtp]\nhost = \"h\"\npass = \"env(D)\"\n";
    let settings = settings(text);
    assert!(settings.problems.is_empty(), "{:?}", settings.problems);
    assert!(!settings.vars.contains_key("GOTRUE_SECURITY_CAPTCHA_ENABLED"));
    assert!(!settings.vars.contains_key("GOTRUE_SMTP_HOST"));
    let mut notices: Vec<String> = read(text).expect("no problem").notices().iter().map(ToString::to_string).collect();
    notices.sort();
    assert_eq!(
        notices,
        [
            "line 10: auth.email.smtp.pass: the environment variable D is not set: [auth.email.smtp] is disabled, and no mail is \
             sent to a mail server",
            "line 2: auth.publishable_key: the environment variable A is not set: a generated one is used",
            "line 3: auth.jwt_secret: the environment variable B is not set: a generated one is used",
            "line 7: auth.captcha.secret: the environment variable C is not set: [auth.captcha] is disabled, and nothing asks for a \
             CAPTCHA",
        ]
    );
    for public in [
        "[api]\nexternal_url = \"https://api.example.com\"\n",
        "[basalt]\nhost = \"0.0.0.0\"\n",
        "[basalt]\ntrusted_proxies = [\"10.0.0.1\"]\n",
    ] {
        let problems = read(&format!("{public}{text}")).expect_err("a server for other machines needs them");
        assert_eq!(problems.len(), 3, "{problems:?}");
    }
}

#[test]
fn unknown_key_is_a_problem_only_if_another_one_may_be_meant() {
    let text = "[auth.new_feature]\nenabled = true\n[db.new]\na = 1\n[storage]\nnew_limit = 5\n[entirely_new]\n";
    let notices: Vec<String> = read(text).expect("no problem").notices().iter().map(ToString::to_string).collect();
    let expected = |place: &str| format!("{place} is not known to this version of Basalt and has no effect");
    let expected: Vec<String> =
        ["line 1: auth.new_feature:", "line 3: db.new:", "line 6: storage.new_limit:", "line 7: entirely_new:"]
            .map(expected)
            .to_vec();
    let mut sorted = notices;
    sorted.sort();
    assert_eq!(sorted, expected);
    assert!(read("[auth]\nenable_singup = false").expect_err("a typing error")[0].contains("did you mean"));
    assert_eq!(
        read("[basalt]\nentirely_new = 1").expect_err("a problem"),
        ["line 2: basalt.entirely_new is not known"]
    );
}

#[test]
fn disabled_auth_is_a_notice() {
    let notices = read("[auth]\nenabled = false").expect("no problem").notices();
    assert_eq!(
        notices.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["line 2: auth.enabled: is false, and the auth API is served anyway: the other APIs verify its tokens"]
    );
}

#[test]
fn other_release_of_postgresql_is_a_notice() {
    let file = |text: &str| read(text).expect("no problem");
    let notice = file("[db]\nmajor_version = 17").describe_other_release(15).expect("a notice").to_string();
    assert!(notice.starts_with("line 2: db.major_version: PostgreSQL 17 is asked for, and 15 runs: "), "{notice}");
    assert!(!notice.contains("  "), "{notice}");
    assert_eq!(file("[db]\nmajor_version = 15").describe_other_release(15), None);
    assert_eq!(file("[db]\nmajor_version = \"env(A)\"").describe_other_release(15), None);
    assert_eq!(file("").describe_other_release(15), None);
}

#[test]
fn unset_variable_disables_its_provider() {
    let text = "[auth.external.github]\nenabled = true\nclient_id = \"env(MISSING)\"\nsecret = \"env(MISSING_TOO)\"\n\
                [auth.external.google]\nenabled = true\nclient_id = \"x\"\n\
                [auth.sms.twilio]\nenabled = true\nauth_token = \"env(MISSING)\"";
    let settings = settings(text);
    assert!(settings.problems.is_empty(), "{:?}", settings.problems);
    for (name, expected) in [
        ("EXTERNAL_GITHUB_ENABLED", None),
        ("EXTERNAL_GITHUB_REDIRECT_URI", None),
        ("EXTERNAL_GOOGLE_ENABLED", Some("true")),
        ("SMS_PROVIDER", None),
    ] {
        assert_eq!(setting(text, name).as_deref(), expected, "{name}");
    }
    let notices: Vec<String> = read(text).expect("no problem").notices().iter().map(ToString::to_string).collect();
    assert_eq!(
        notices,
        [
            "line 3: auth.external.github.client_id: the environment variable MISSING is not set: [auth.external.github] is disabled",
            "line 4: auth.external.github.secret: the environment variable MISSING_TOO is not set: [auth.external.github] is \
             disabled",
            "line 10: auth.sms.twilio.auth_token: the environment variable MISSING is not set: [auth.sms.twilio] is disabled",
        ]
    );
}

#[test]
fn unset_variable_of_mail_server_is_a_problem_unless_the_mail_server_is_disabled() {
    let text = "[api]\nexternal_url = \"https://a.example\"\n[auth.email.smtp]\nhost = \"h\"\npass = \"env(MISSING)\"";
    let mut file = read(text).expect("a problem of the settings");
    let facts = ServerFacts { api_url: "http://127.0.0.1:54321", folder: Path::new("/nowhere") };
    assert!(file.settings(&facts).problems[0].to_string().starts_with("line 5: auth.email.smtp.pass needs"));
    file.disable_mail_server_and_tls();
    let settings = file.settings(&facts);
    assert!(settings.problems.is_empty() && !settings.vars.contains_key("GOTRUE_SMTP_HOST"));
}

#[test]
fn port_of_the_database_is_read() {
    assert_eq!(read("[db]\nport = 54322").expect("no problem").database_port(), Some(54_322));
    assert_eq!(read("[db]\nport = 0").expect("no problem").database_port(), Some(0));
    assert_eq!(read("").expect("no problem").database_port(), None);
    for (port, complaint) in [
        ("70000", "line 2: db.port must be a port, from 0 (any that is free) to 65535"),
        ("-1", "line 2: db.port must be a whole number, such as 3600"),
        ("\"postgres\"", "line 2: db.port must be a whole number, such as 3600"),
    ] {
        assert_eq!(read(&format!("[db]\nport = {port}")).expect_err("a problem"), [complaint]);
    }
}

#[test]
fn migrations_and_seeds_have_the_defaults_of_the_cli() {
    let file = |text: &str| read(text).expect("no problem");
    assert!(file("").has_migrations() && file("[db.migrations]\nschema_paths = []").has_migrations());
    assert!(!file("[db.migrations]\nenabled = false").has_migrations());
    assert_eq!(file("").seed_patterns(), ["seed.sql"]);
    assert_eq!(file("[db.seed]\nsql_paths = [\"./a.sql\", \"./b/*.sql\"]").seed_patterns(), ["./a.sql", "./b/*.sql"]);
    assert!(file("[db.seed]\nenabled = false\nsql_paths = [\"./a.sql\"]").seed_patterns().is_empty());
}

#[test]
fn shop_is_served_if_its_table_exists() {
    assert!(!read("").expect("no problem").has_shop());
    assert!(read("[basalt.shop]").expect("no problem").has_shop());
    assert!(read("[basalt.shop]\nowner = \"a@example.com\"").expect("no problem").has_shop());
}

#[test]
fn incomplete_parts_are_expected_failures() {
    let failures = |text: &str| -> Vec<String> {
        read(text).expect("no problem").expected_failures().iter().map(ToString::to_string).collect()
    };
    assert_eq!(failures(""), Vec::<String>::new());
    assert_eq!(
        failures(
            "[auth.external.github]\nenabled = true\nclient_id = \"\"\n[auth.external.google]\nenabled = true\nclient_id = \"x\""
        ),
        [
            "line 2: auth.external.github: has no client_id: every sign-in with it fails",
            "line 2: auth.external.github: has no secret: every sign-in with it fails",
        ]
    );
    let phone = failures("[auth.sms]\nenable_signup = true");
    assert!(phone[0].starts_with("line 2: auth.sms.enable_signup: is on, but there is no provider"), "{phone:?}");
    assert!(failures("[auth.sms]\nenable_signup = true\n[auth.sms.test_otp]\n1 = \"2\"").is_empty());
    let zero = failures("[auth.rate_limit]\nsign_in_sign_ups = 0\ntoken_refresh = 5");
    assert_eq!(zero.len(), 1, "{zero:?}");
}

#[test]
fn limits_and_pauses_mean_what_the_cli_documents() {
    let policy = |text: &str| {
        let mut policy = Policy::default();
        read(text).expect("no problem").apply_limits(&mut policy);
        policy
    };
    assert_eq!(policy(""), Policy::default());
    let limited = policy("[auth.rate_limit]\nsign_in_sign_ups = 5\ntoken_verifications = 0\nweb3 = 100");
    let bucket = |count: f64| Bucket { burst: count, ..Bucket::per_five_minutes(count) };
    assert_eq!((limited.limits.otp, limited.limits.verify), (bucket(5.0), bucket(0.0)));
    assert_eq!(limited.limits.web3, bucket(100.0));
    assert_eq!(limited.limits.token_refresh, Policy::default().limits.token_refresh);
    assert!(limited.limits.are_sign_ins_counted_as_sign_ups);
    let without_pauses = policy(
        "[auth.email]\nmax_frequency = \"0s\"\n[auth.sms]\nmax_frequency = \"0\"\n[auth.mfa.phone]\nmax_frequency = \"0m\"",
    );
    assert!(without_pauses.mail.max_frequency.is_zero() && without_pauses.sms.max_frequency.is_zero());
    assert!(without_pauses.mfa.phone.max_frequency.is_zero());
}

#[test]
fn unsupported_tables_are_listed_unless_disabled() {
    let file = read("[studio]\nenabled = true\n[studio.inner]\nenabled = true\n[realtime]\nenabled = false\n");
    let reported = file.expect("no problem").unsupported_tables_notice().expect("one sentence");
    assert_eq!(reported, "not served by Basalt, and left aside: [studio] (the dashboard)");
    assert_eq!(read("[db]\nport = 54322\n").expect("no problem").unsupported_tables_notice(), None);
}

#[test]
fn secrets_of_the_vault_are_those_that_have_a_value() {
    let file = read("[db.vault]\nplain = \"a\"\nknown = \"env(SECRET)\"\nempty = \"\"\nunset = \"env(MISSING)\"")
        .expect("no problem");
    let names: Vec<&str> = file.vault_secrets().iter().map(|secret| secret.name).collect();
    assert_eq!(names, ["known", "plain"]);
    assert_eq!(file.unsupported_tables_notice(), None);
    let notices: Vec<String> = file.notices().iter().map(ToString::to_string).collect();
    assert!(
        matches!(notices.as_slice(), [one] if one.contains("MISSING is not set: the vault does not get this secret")),
        "{notices:?}"
    );
}

#[test]
fn unsupported_or_invalid_values_are_rejected() {
    assert_eq!(settings("[api.tls]\nenabled = true").problems.len(), 1);
    assert_eq!(settings("[api.tls]\nenabled = true\ncert_path = \"a.pem\"").problems.len(), 1);
    assert_eq!(settings("[api.tls]\nenabled = true\ncert_path = \"a.pem\"\nkey_path = \"b.pem\"").problems.len(), 0);
    assert!(read("[basalt]\ndemo_keys = true\nhost = \"0.0.0.0\"").is_err());
    assert!(read("[basalt]\ndemo_keys = true\n[api]\nexternal_url = \"https://example.com\"").is_err());
    assert!(
        read("[basalt]\ndemo_keys = true\n[auth]\njwt_secret = \"a-secret-of-my-own-with-40-characters-xx\"").is_err()
    );
    let published = "[auth]\njwt_secret = \"super-secret-jwt-token-with-at-least-32-characters-long\"";
    for (text, has_demo_keys) in [
        (published.to_owned(), true),
        (format!("{published}\nsecret_key = \"sb_secret_N7UND0UgjKTVK-Uodkm0Hg_xSvEMPvz\""), true),
        (format!("{published}\nsecret_key = \"sb_secret_0123456789abcdefghijkl\""), false),
        (format!("{published}\n[basalt]\nhost = \"0.0.0.0\""), false),
        (format!("{published}\n[basalt]\ndemo_keys = false"), false),
        (format!("{published}\nsite_url = \"https://example.com\""), false),
        (format!("{published}\n[api]\nexternal_url = \"https://example.com\""), false),
        (format!("{published}\n[basalt]\ntrusted_proxies = [\"127.0.0.1\"]"), false),
        (published.replace("super-secret", "your-super-secret"), false),
    ] {
        let file = read(&text).expect("it is read");
        assert_eq!(file.basalt.has_demo_keys, has_demo_keys, "{text}");
        assert_eq!(file.configured_key("jwt_secret").is_none(), has_demo_keys, "{text}");
    }
    assert!(read("[api]\nport = 70000").is_err());
    assert!(read("[basalt]\nhost = \"everywhere\"").is_err());
    assert!(read("[basalt]\ntrusted_proxies = [\"10.0.0.0/99\"]").is_err());
    assert!(read("[basalt.rate_limit]\nmessages = 1000001").is_err());
    assert!(read("[basalt.shop]\nnotices_an_hour = 1001").is_err());
    assert!(read("[basalt]\ndevelopment_pages = \"perhaps\"").is_err());
    assert!(read("auth = 5").is_err());
    assert!(read("[[auth.email]]\n").is_err());
}

#[test]
fn target_limits_are_read_from_file() {
    let limits = |text: &str| read(text).expect("no problem").basalt.limits;
    assert_eq!(limits(""), TargetLimits::recommended());
    let set = limits("[basalt.rate_limit]\nwrong_passwords = 6\nmessages = 0\n");
    let expected =
        TargetLimits { wrong_passwords: Some(Bucket::for_target(6.0)), messages: None, ..TargetLimits::recommended() };
    assert_eq!(set, expected);
}

#[test]
fn merged_settings_have_the_lines_of_the_file() {
    let read = |text: &str| ConfigFile::read(Path::new("config.toml"), text, &|_| Ok(None)).expect("it is valid");
    let original = read("# A comment.\n[auth]\nenabled = false\nsite_url = \"http://a\"\n[auth.email]\n[other]\n");
    let mut merged = read("[auth]\nenabled = false\njwt_expiry = 60\nsite_url = \"http://b\"\n[auth.email]\n[other]\n");
    merged.take_lines(&original);
    assert_eq!(merged.find_line("auth.email"), Some(5));
    // Neither of these has the value of the file: the line of their table is the nearest.
    assert_eq!((merged.find_line("auth.site_url"), merged.find_line("auth.jwt_expiry")), (Some(2), Some(2)));
    let names: Vec<String> = merged.notices().into_iter().map(|notice| notice.name).collect();
    assert_eq!(names, ["line 6: other", "line 3: auth.enabled"]);
}

#[test]
fn setting_has_origin_key_and_line() {
    let settings = settings("[auth]\n\nsite_url = \"http://a\"\n[auth.hook.send_sms]\nenabled = true\nuri = \"x\"");
    assert_eq!(settings.origin("GOTRUE_SITE_URL"), Some(("auth.site_url", Some(3))));
    assert_eq!(settings.origin("GOTRUE_HOOK_SEND_SMS_URI"), Some(("auth.hook.send_sms.uri", Some(6))));
    assert_eq!(settings.origin("GOTRUE_JWT_AUD"), None);
}

#[test]
fn all_settings_are_known_to_auth_server() {
    let known = gotrue_rs::config::settings::names();
    let text = "[auth.external.azure]\nenabled = true\n[auth.email.notification.email_changed]\nenabled = true\n\
                [auth.hook.send_sms]\nenabled = true\n[auth.web3.ethereum]\nenabled = true\n\
                [auth.email.template.magic_link]\nsubject = \"x\"\n[auth.sms.test_otp]\n1 = \"2\"";
    let names: Vec<String> = settings(text).vars.into_keys().chain(super::keys::plain_settings()).collect();
    let unknown: Vec<&String> = names.iter().filter(|name| !known.contains_key(*name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn functions_require_token_by_default() {
    let functions =
        read("[functions.a]\nverify_jwt = false\n[functions.b]\nenabled = false\n").expect("fine").functions();
    assert!(functions["a"].enabled && !functions["a"].verify_jwt);
    assert!(!functions["b"].enabled && functions["b"].verify_jwt);
}

proptest! {
    #[test]
    fn arbitrary_text_does_not_panic(text in "\\PC*") {
        let _ = read(&text);
    }

    #[test]
    fn arbitrary_toml_does_not_panic(lines in proptest::collection::vec(toml_line(), 0..30)) {
        if let Ok(file) = read(&lines.join("\n")) {
            let _ = file.settings(&ServerFacts { api_url: "http://x", folder: Path::new("/") });
            let _ = (file.functions(), file.unsupported_tables_notice(), file.port());
        }
    }
}

/// Generates lines that are typical of such a file.
fn toml_line() -> impl Strategy<Value = String> {
    let name = "(auth|api|email|smtp|hook|external|functions|basalt|enabled|port|x|env|test_otp|template|\"a.b\")";
    let path = proptest::collection::vec(name, 1..4).prop_map(|parts| parts.join("."));
    let value = prop_oneof![
        Just("true".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        "\"[a-z(),]{0,9}\"",
        Just("[]".to_owned()),
        Just("[\"a\", 1]".to_owned()),
        Just("{}".to_owned()),
        Just("1979-05-27".to_owned()),
        Just("nan".to_owned()),
    ];
    (any::<u8>(), path, value).prop_map(|(kind, path, value)| match kind % 4 {
        0 => format!("[{path}]"),
        1 => format!("[[{path}]]"),
        _ => format!("{path} = {value}"),
    })
}

#[test]
fn missing_saml_key_has_origin_of_saml_switch() {
    let settings = settings("[basalt.saml]\nenabled = true");
    assert_eq!(settings.origin("GOTRUE_SAML_PRIVATE_KEY"), Some(("basalt.saml.private_key", Some(2))));
}

#[test]
fn development_provider_replaces_unconfigured_providers_only() {
    let names = |text: &str| read(text).map(|file| file.basalt.stands_in_for);
    assert_eq!(names("").expect("a file"), Vec::<String>::new());
    assert_eq!(names("[basalt.provider]\nstands_in_for = [\"google\"]").expect("a file"), ["google"]);
    assert!(names("[basalt.provider]\nstands_in_for = [\"gogle\"]").is_err());
    assert!(names("[basalt.provider]\nstands_in_for = [\"google\"]\n[auth.external.google]\nenabled = true").is_err());
}
