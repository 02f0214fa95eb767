//! Options of all commands, completions, manual pages, `basalt check` and the start with invalid configurations.

use serde_json::Value;

use super::support::{TempFolder, basalt, run};

#[test]
fn check_reports_problems_with_line() {
    let scratch = TempFolder::new();
    let config = scratch.write(
        "config.toml",
        "[auth]\nsite_url = \"nonsense\"\njwt_expiri = 5\n[auth.email]\nmax_frequency = \"often\"\n",
    );
    let output = run(&["check", "--config", &config]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(text.contains("line 3: auth.jwt_expiri is not known; did you mean auth.jwt_expiry?"), "{text}");

    let config = scratch.write("config.toml", "[auth]\njwt_expiry = 60\n[auth.email]\nmax_frequency = \"often\"\n");
    let output = run(&["check", "--config", &config]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("line 4: auth.email.max_frequency: "), "{text}");
}

#[test]
fn text_that_is_not_toml_is_one_problem_of_its_line() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "[auth]\n[auth\n");
    let output = run(&["check", "--config", &config]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.matches("this is not TOML").count() == 1, "{text}");
    let output = run(&["check", "--config", &config, "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&report["config"], &report["problems"][0]["line"]), (&config.as_str().into(), &2.into()), "{report}");
    let text = report["problems"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with("this is not TOML: ") && !text.contains('\n'), "{report}");

    let empty = TempFolder::new();
    let output = basalt().current_dir(&empty.0).args(["check", "--json"]).output().expect("the program starts");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&report["config"], &report["is_valid"]), (&Value::Null, &true.into()), "{report}");
}

#[test]
fn check_rejects_published_secret_for_a_public_site() {
    let scratch = TempFolder::new();
    let secret = "super-secret-jwt-token-with-at-least-32-characters-long";
    let settings = format!("[auth]\njwt_secret = \"{secret}\"\nsite_url = \"https://example.com\"\n");
    let config = scratch.write("config.toml", &settings);
    let output = run(&["check", "--config", &config]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("auth.jwt_secret"), "{text}");
    assert!(!text.contains(secret), "the secret must not be printed");
}

#[test]
fn all_settings_of_a_drop_in_that_cannot_be_used_are_reported_at_once() {
    let cases = [
        (
            "storage",
            &[("STORAGE_BACKEND", "s3"), ("SERVER_PORT", "http"), ("DATABASE_URL", "postgres://ann:hunter2@[db")][..],
            &[
                "AUTH_JWT_SECRET is missing: set ",
                "DATABASE_URL: ",
                "STORAGE_S3_BUCKET is missing: set ",
                "SERVER_PORT: \"http\" ",
            ][..],
        ),
        (
            "postgrest",
            &[
                ("PGRST_DB_URI", "postgres://ann:hunter2@[db"),
                ("PGRST_DB_TX_END", "perhaps"),
                ("PGRST_JWT_SECRET", "short"),
                ("PGRST_LOG_LEVEL", "loud"),
            ],
            &["Set db-tx-end to ", "Set jwt-secret to ", "Set log-level to ", "db-uri: "],
        ),
    ];
    for (command, variables, wanted) in cases {
        let output = basalt().arg(command).envs(variables.iter().copied()).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{command}: {text}");
        for problem in wanted {
            let count = text.lines().filter(|line| line.starts_with("  ") && line.contains(problem)).count();
            assert_eq!(count, 1, "{command}, {problem}: {text}");
        }
        assert_eq!(text.lines().filter(|line| line.starts_with("  ")).count(), wanted.len(), "{command}: {text}");
        assert!(!text.contains("hunter2"), "{command}: {text}");
    }
}

#[test]
fn shipped_configuration_is_valid() {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config.toml");
    let output = run(&["check", "--config", config]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn invalid_mail_template_fails_check_and_serve() {
    let scratch = TempFolder::new();
    scratch.write("magic.html", "<h1>Hello</h1>\n<p>{{ .Tokn }}</p>\n");
    let config = scratch.write("config.toml", "[auth.email.template.magic_link]\ncontent_path = \"./magic.html\"\n");
    for command in [&["check", "--config", &config][..], &["serve", "--ephemeral", "--port", "0", "--config", &config]]
    {
        let output = run(command);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && text.contains("/magic.html:2: unknown variable .Tokn; known are"),
            "{text}"
        );
    }
}

#[test]
fn check_reports_unreachable_mail_templates() {
    let scratch = TempFolder::new();
    let text = "[auth.email.template.invite]\ncontent_path = \"http://127.0.0.1:9/invite.html\"\n";
    let config = scratch.write("config.toml", text);
    let output = run(&["check", "--config", &config]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && text.contains("the invite mail: fetching http://127.0.0.1:9/invite.html"),
        "{text}"
    );
}

#[test]
fn shared_options_work_before_and_after_the_command() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "[auth]\njwt_expiri = 5\n");
    for arguments in [
        &["--config", &config, "--json", "check"][..],
        &["check", "--config", &config, "--json"],
        &["--json", "check", "--config", &config],
    ] {
        let output = run(arguments);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(output.status.code(), Some(1), "{report}");
        assert_eq!((&report["is_valid"], &report["problems"][0]["line"]), (&false.into(), &2.into()), "{report}");
    }
    let data = scratch.path("data");
    for arguments in [
        &["--data", &data, "users", "--config", &config, "list"][..],
        &["users", "list", "--data", &data, "--config", &config],
        &["users", "--data", &data, "list", "--config", &config],
    ] {
        let text = String::from_utf8_lossy(&run(arguments).stderr).into_owned();
        assert!(text.contains("jwt_expiri is not known"), "{arguments:?}: {text}");
    }
}

#[test]
fn command_refuses_an_option_that_it_cannot_use() {
    for (arguments, refusal) in [
        (&["init", "--data", "x"][..], "`basalt init` cannot use --data"),
        (&["--json", "init"], "`basalt init` cannot use --json"),
        (&["--database-url", "postgresql://x", "check"], "`basalt check` cannot use --database-url"),
        (&["storage", "--config", "x"], "`basalt storage` cannot use --config"),
        (&["--data", "x", "serve", "--test"], "--test and --ephemeral use a temporary folder"),
        (&["db", "migrate", "--include-seed"], "--include-seed is for another database"),
    ] {
        let output = run(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(refusal), "{arguments:?}: {text}");
    }
}

#[test]
fn completions_and_manual_pages_name_commands_and_options() {
    for (shell, wanted) in [("bash", "complete -F"), ("zsh", "#compdef basalt"), ("fish", "complete -c basalt")] {
        let script = String::from_utf8(run(&["completions", shell]).stdout).expect("text");
        for wanted in [wanted, "submissions", "database-url", "anonymise"] {
            assert!(script.contains(wanted), "{shell}: {wanted}");
        }
    }
    let scratch = TempFolder::new();
    let folder = scratch.path("man1");
    assert!(run(&["manual", &folder]).status.success());
    let read = |page: &str| std::fs::read_to_string(format!("{folder}/{page}")).expect(page);
    assert!(read("basalt.1").contains("basalt\\-users(1)"), "{}", read("basalt.1"));
    let page = read("basalt-users-import.1");
    assert!(page.contains("dry\\-run") && page.contains("basalt users import users.jsonl"), "{page}");
}
