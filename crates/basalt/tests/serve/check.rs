//! `basalt check`: all problems at once, and what will fail later.

use std::fs;

use super::support::{TempFolder, basalt, run};

/// Returns exit success, standard output and standard error of `basalt check`.
fn check(scratch: &TempFolder, config: &str) -> (bool, String, String) {
    let file = scratch.write("config.toml", config);
    let output = run(&["check", "--config", &file]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn problems_of_all_phases_are_reported_by_line() {
    let scratch = TempFolder::new();
    scratch.write("wrong.html", "{{ .Tokn }}");
    let config = "[db]\nport = 70000\n[auth]\nexternal_url = \"https://auth.example.com\"\nsite_url = \"nonsense\"\njwt_expiri = 5\n[auth.email]\nmax_frequency = \"often\"\n\
                  [auth.email.template.invite]\ncontent_path = \"./wrong.html\"\n[auth.hook.send_email]\nenabled = true\n\
                  uri = \"ftp://example.com\"\n[auth.captcha]\nenabled = true\nsecret = \"env(MISSING_SECRET)\"\n\
                  [basalt]\nhost = \"everywhere\"\n";
    let (is_usable, _, errors) = check(&scratch, config);
    assert!(!is_usable);
    for expected in [
        "line 2: db.port must be a port",
        "line 5: auth.site_url is not a URL with a scheme",
        "line 6: auth.jwt_expiri is not known; did you mean auth.jwt_expiry?",
        "line 8: auth.email.max_frequency: ",
        "/wrong.html:1: unknown variable .Tokn",
        "line 13: auth.hook.send_email.uri: ",
        "line 16: auth.captcha.secret needs the environment variable MISSING_SECRET, which is not set",
        "line 18: basalt.host must be an address of this machine",
    ] {
        assert!(errors.contains(expected), "{expected} is missing: {errors}");
    }
    assert!(!errors.contains("GOTRUE_") && errors.matches("auth.captcha.secret").count() == 1, "{errors}");
    let lines: Vec<usize> =
        errors.lines().filter_map(|line| line.trim().strip_prefix("line ")?.split(':').next()?.parse().ok()).collect();
    assert!(lines.is_sorted(), "{errors}");
    let serve = run(&["serve", "--port", "0", "--ephemeral", "--config", &scratch.path("config.toml")]);
    assert!(
        String::from_utf8_lossy(&serve.stderr).contains("line 8: auth.email.max_frequency: "),
        "serve reports them too"
    );
}

#[test]
fn missing_configuration_names_the_command_that_writes_one() {
    let output = run(&["check", "--config", &TempFolder::new().path("nope.toml")]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("nope.toml: `basalt init` writes"), "{text}");
}

#[test]
fn values_out_of_bounds_are_refused_with_an_example() {
    let cases = [
        ("[auth]\njwt_expiry = 9223372036854775807", "auth.jwt_expiry must be at most 315360000 seconds", "3600"),
        ("[auth]\nminimum_password_length = 73", "auth.minimum_password_length must be at most 72", "8"),
        ("[auth]\nsite_url = \"\"", "auth.site_url is empty", "https://shop.example.com"),
        ("[auth]\nsite_url = \"shop.example\"", "auth.site_url is not a URL with a scheme", "https://shop.example.com"),
        ("[auth]\nsite_url = \"127.0.0.1:3000\"", "auth.site_url is not a URL with a scheme", "https://"),
        ("[auth]\nsite_url = \"localhost:3000\"", "auth.site_url is not a URL with a scheme", "https://"),
        ("[auth]\nsite_url = \"javascript:alert(1)\"", "auth.site_url has a scheme of scripts", "my-app://"),
        ("[auth]\nsite_url = \"data:text/html,x\"", "auth.site_url has a scheme of scripts", "my-app://"),
        ("[auth]\nsite_url = \"VBScript:x\"", "auth.site_url has a scheme of scripts", "my-app://"),
        ("[auth]\nsite_url = \"https://a:b@example.com\"", "auth.site_url has a user name", "my-app://"),
        ("[auth]\nsite_url = \"https://a.example\\r\\nx\"", "auth.site_url has a control character", "my-app://"),
        ("[auth]\nexternal_url = \"ftp://example.com\"", "auth.external_url is not an http", "/auth/v1"),
        ("[auth]\nexternal_url = \"https://example.com/?a=b\"", "auth.external_url has a query", "/auth/v1"),
        ("[api]\nexternal_url = \"javascript:alert(1)\"", "api.external_url is not an http", "https://api.example.com"),
        ("[api]\nexternal_url = \"example.com\"", "api.external_url is not an http", "https://api.example.com"),
        ("[api]\nexternal_url = \"https://u@example.com\"", "api.external_url has a user", "https://api.example.com"),
        ("[api]\nexternal_url = \"https://example.com#a\"", "api.external_url has a query", "https://api.example.com"),
        ("[basalt.shop]\nowner = \"a@example.com\\r\\nBcc: b@example.com\"", "must be an e-mail", "owner@example.com"),
        ("[basalt.shop]\nowner = \"@\"", "basalt.shop.owner must be an e-mail address", "owner@example.com"),
        ("[basalt.database]\nfailover_wait = \"1000h\"", "basalt.database.failover_wait must be at most", "5s"),
    ];
    let scratch = TempFolder::new();
    for (config, wrong, example) in cases {
        let (is_usable, _, errors) = check(&scratch, config);
        assert!(!is_usable && errors.contains("line 2: "), "{config}: {errors}");
        assert!(errors.contains(wrong) && errors.contains(example), "{config}: {errors}");
    }
    for config in [
        "[auth]\njwt_expiry = 315360000\nminimum_password_length = 72\nsite_url = \"my-app://start\"",
        "[api]\nexternal_url = \"https://example.com/base/\"",
        "[basalt.shop]\nowner = \"owner+shop@example.com\"",
    ] {
        let (is_usable, _, errors) = check(&scratch, config);
        assert!(is_usable, "{config}: {errors}");
    }
}

#[test]
fn catalogue_problems_are_reported_by_file_and_line() {
    let scratch = TempFolder::new();
    scratch.write("catalogue.toml", "[[template]]\nid = 4\nprice = 700\ncolour = \"red\"\n");
    let (is_usable, _, errors) = check(&scratch, "[basalt.shop]\n");
    assert!(!is_usable);
    for expected in [
        "catalogue.toml:3: template 4: price must be a dollar sign and an amount",
        "catalogue.toml:4: template 4: colour is not known; known are id, title",
    ] {
        assert!(errors.contains(expected), "{expected} is missing: {errors}");
    }
    assert!(check(&scratch, "").0, "without the shop the file is not read");
    scratch.write("catalogue.toml", "[[template]]\nid = 4\nprice = \"$650\"\n");
    assert!(check(&scratch, "[basalt.shop]\n").0);
}

#[test]
fn what_will_fail_later_is_listed() {
    let scratch = TempFolder::new();
    for folder in ["migrations", "functions/hello", "functions/_shared", "functions/goodbye"] {
        fs::create_dir_all(scratch.0.join(folder)).expect("folders");
    }
    let created =
        "CREATE OR REPLACE FUNCTION public.my_claims(event jsonb) RETURNS jsonb LANGUAGE sql AS $$ SELECT event $$;";
    fs::write(scratch.0.join("migrations/1_claims.sql"), created).expect("a file");
    let config = "[auth.external.github]\nenabled = true\nsecret = \"x\"\n\
                  [auth.external.google]\nenabled = true\nclient_id = \"env(MISSING_ID)\"\n\
                  [auth.hook.custom_access_token]\nenabled = true\nuri = \"pg-functions://postgres/public/my_claims\"\n\
                  [auth.hook.before_user_created]\nenabled = true\nuri = \"pg-functions://postgres/public/missing\"\n\
                  [auth.sms]\nenable_signup = true\n[auth.rate_limit]\ntoken_refresh = 0\n\
                  [functions.configured]\nverify_jwt = false\n[db.seed]\nsql_paths = [\"./seeds/*.sql\"]\n";
    let (is_usable, lines, errors) = check(&scratch, config);
    assert!(is_usable, "{errors}");
    for expected in [
        "line 2: auth.external.github: has no client_id: every sign-in with it fails",
        "line 6: auth.external.google.client_id: the environment variable MISSING_ID is not set: [auth.external.google] is disabled",
        "auth.hook.before_user_created.uri: calls public.missing, which does not exist in the database",
        "line 14: auth.sms.enable_signup: is on, but there is no provider",
        "line 16: auth.rate_limit.token_refresh: is 0, which allows none at all",
        "not served by Basalt: the functions configured, goodbye, hello\n",
        "db.seed.sql_paths: \"./seeds/*.sql\" matches no file",
    ] {
        assert!(lines.contains(expected), "{expected} is missing: {lines}");
    }
    assert!(!lines.contains("my_claims") && !lines.contains("GOTRUE_"), "{lines}");
}

#[test]
fn folder_of_migrations_that_is_not_read_is_named() {
    let scratch = TempFolder::new();
    fs::create_dir_all(scratch.0.join("supabase/migrations")).expect("a folder");
    let (is_usable, printed, errors) = check(&scratch, "[auth.oauth_server]\nenabled = true\n");
    assert!(is_usable, "{errors}");
    assert!(printed.contains("supabase/migrations: is not read: migrations are in migrations"), "{printed}");
    assert!(
        printed.contains("auth.oauth_server.enabled") && printed.contains("`basalt keys add signing`"),
        "{printed}"
    );
}

#[test]
fn serve_names_keys_of_the_configuration_in_its_log() {
    let scratch = TempFolder::new();
    let config = "[auth.hook.send_sms]\nenabled = true\nuri = \"\"\n[auth.sms.vonage]\nenabled = true\n\
                  [auth.passkey]\nenabled = true\n[auth]\nsite_url = \"http://192.0.2.7\"\nsigning_keys_path = \"./keys.json\"\n";
    let file = scratch.write("config.toml", config);
    scratch.write("keys.json", "[]");
    let output = run(&["check", "--config", &file]);
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(lines.contains("line 3: auth.hook.send_sms.uri: is empty"), "{lines}");
    assert!(lines.contains("auth.sms: \"vonage\" lacks auth.sms.vonage.api_key"), "{lines}");
    assert!(lines.contains("auth.webauthn.rp_"), "{lines}");
    assert!(!lines.contains("GOTRUE_"), "{lines}");
    scratch.write("keys.json", "[{\"kty\": \"EC\"}]");
    let output = basalt().args(["serve", "--ephemeral", "--port", "0", "--config", &file]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("auth.signing_keys_path"), "{text}");
    assert!(!text.contains("GOTRUE_"), "{text}");
}

#[test]
fn public_shop_without_seller_is_named_and_unusable_terms_are_problems() {
    let scratch = TempFolder::new();
    let public = "[auth]\nsite_url = \"https://shop.example.com\"\n[api]\nexternal_url = \"https://shop.example.com\"\n\
                  [basalt.shop]\nowner = \"owner@example.com\"\naddress = \"1 Mill Lane, Bath\"\n[basalt.shop.payment]\n\
                  allow_placeholder_links = true\n";
    let (is_usable, lines, errors) = check(&scratch, public);
    let warning = "a public shop tells its buyers who sells and on what terms, set under [basalt.shop.seller]: ";
    assert!(
        is_usable && lines.contains(&format!("{warning}address, email, terms, privacy, refunds")),
        "{lines}{errors}"
    );

    scratch.write("terms.md", "# Terms");
    let some = "[basalt.shop.seller]\nemail = \"help@example.com\"\nterms = \"terms.md\"\n";
    let (is_usable, lines, errors) = check(&scratch, &format!("{public}{some}"));
    assert!(is_usable && lines.contains(&format!("{warning}privacy, refunds\n")), "{lines}{errors}");
    let (_, lines, _) = check(&scratch, "[basalt.shop]\n");
    assert!(!lines.contains(warning), "a shop on this machine needs none: {lines}");

    scratch.write("privacy.md", "[here](javascript:alert(1))");
    let faulty = format!("{public}{some}privacy = \"privacy.md\"\nrefunds = \"missing.md\"\n");
    let (is_usable, _, errors) = check(&scratch, &faulty);
    assert!(!is_usable, "{errors}");
    assert!(
        errors.contains("basalt.shop.seller.privacy: privacy.md has a link to \"javascript:alert(1)\""),
        "{errors}"
    );
    assert!(errors.contains("basalt.shop.seller.refunds: missing.md cannot be read: "), "{errors}");
}

#[test]
fn mail_that_is_discarded_names_the_public_site() {
    let scratch = TempFolder::new();
    let (is_usable, lines, errors) = check(&scratch, "[auth]\nsite_url = \"https://shop.example.com\"\n");
    assert!(is_usable, "{errors}");
    assert!(lines.contains("mail is discarded because auth.site_url is https://shop.example.com"), "{lines}");
    assert!(lines.contains("; for development set auth.site_url to an address of this machine"), "{lines}");
    for config in ["", "[auth]\nsite_url = \"https://shop.example.com\"\n[basalt]\ndevelopment_pages = true\n"] {
        let (_, lines, _) = check(&scratch, config);
        assert!(!lines.contains("mail is discarded"), "{lines}");
    }
}

#[test]
fn space_for_stored_files_is_named_without_creating_them() {
    let scratch = TempFolder::new();
    let (is_usable, lines, errors) = check(&scratch, "");
    assert!(is_usable && lines.contains("\nstored files take 0 bytes; "), "{lines}{errors}");
    assert!(!scratch.0.join(".basalt").exists());
    for config in ["[storage]\nenabled = false\n", "[basalt.upstreams]\nstorage = \"http://127.0.0.1:5000\"\n"] {
        let (_, lines, errors) = check(&scratch, config);
        assert!(!lines.contains("stored files"), "{config}: {lines}{errors}");
    }
}
