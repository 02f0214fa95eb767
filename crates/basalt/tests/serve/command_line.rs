//! `basalt check` and the start with invalid configurations.

use super::support::{TempFolder, run};

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
fn check_rejects_published_secret() {
    let scratch = TempFolder::new();
    let secret = "super-secret-jwt-token-with-at-least-32-characters-long";
    let config = scratch.write("config.toml", &format!("[auth]\njwt_secret = \"{secret}\"\n"));
    let output = run(&["check", "--config", &config]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("auth.jwt_secret"), "{text}");
    assert!(!text.contains(secret), "the secret must not be printed");
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
