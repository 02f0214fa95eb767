//! What the command line says of configurations that cannot be used.

use super::support::{Scratch, run};

#[test]
fn check_tells_every_problem_with_its_line() {
    let scratch = Scratch::new();
    let config = scratch.write(
        "config.toml",
        "[auth]\nsite_url = \"nonsense\"\njwt_expiri = 5\n[auth.email]\nmax_frequency = \"often\"\n",
    );
    let told = run(&["check", "--config", &config]);
    let text = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(!told.status.success());
    assert!(text.contains("line 3: auth.jwt_expiri is not known; did you mean auth.jwt_expiry?"), "{text}");

    let config = scratch.write("config.toml", "[auth]\njwt_expiry = 60\n[auth.email]\nmax_frequency = \"often\"\n");
    let told = run(&["check", "--config", &config]);
    let text = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(text.contains("line 4: auth.email.max_frequency: "), "{text}");
}

#[test]
fn f5_check_refuses_the_secret_that_everybody_knows() {
    let scratch = Scratch::new();
    let secret = "super-secret-jwt-token-with-at-least-32-characters-long";
    let config = scratch.write("config.toml", &format!("[auth]\njwt_secret = \"{secret}\"\n"));
    let told = run(&["check", "--config", &config]);
    let text = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(!told.status.success() && text.contains("auth.jwt_secret"), "{text}");
    assert!(!text.contains(secret), "a secret is not repeated");
}

#[test]
fn the_repositorys_own_configuration_can_be_used() {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../config.toml");
    let told = run(&["check", "--config", config]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
}

#[test]
fn a_mail_with_a_mistake_is_told_by_check_and_stops_the_start() {
    let scratch = Scratch::new();
    scratch.write("magic.html", "<h1>Hello</h1>\n<p>{{ .Tokn }}</p>\n");
    let config = scratch.write("config.toml", "[auth.email.template.magic_link]\ncontent_path = \"./magic.html\"\n");
    for command in [&["check", "--config", &config][..], &["serve", "--ephemeral", "--port", "0", "--config", &config]]
    {
        let told = run(command);
        let text = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(!told.status.success() && text.contains("/magic.html:2: unknown variable .Tokn; known are"), "{text}");
    }
}

#[test]
fn check_tells_of_mails_that_cannot_be_fetched() {
    let scratch = Scratch::new();
    let text = "[auth.email.template.invite]\ncontent_path = \"http://127.0.0.1:9/invite.html\"\n";
    let config = scratch.write("config.toml", text);
    let told = run(&["check", "--config", &config]);
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(
        told.status.success() && text.contains("the invite mail: fetching http://127.0.0.1:9/invite.html"),
        "{text}"
    );
}
