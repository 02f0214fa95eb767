//! `basalt serve` reads secrets from files and credentials.

use super::super::support::{Basalt, TempFolder, basalt};

#[test]
fn serve_reads_variables_of_its_configuration_from_files() {
    let folder = TempFolder::new();
    let secret = "a secret in a file, for the start of a server";
    let config =
        folder.write("config.toml", "[auth]\njwt_secret = \"env(THE_SECRET)\"\nsecret_key = \"env(THE_SECRET_KEY)\"\n");
    folder.write("basalt_THE_SECRET_KEY", "sb_secret_0123456789abcdefghijkl\n");
    let variables = [
        ("THE_SECRET_FILE", &*folder.write("secret", &format!("{secret}\n"))),
        ("CREDENTIALS_DIRECTORY", &folder.path("")),
    ];
    let server = Basalt::serve_with(&["--ephemeral", "--config", &config], &variables);
    assert_eq!(server.text("jwt_secret"), secret);
    assert_eq!(server.text("secret_key"), "sb_secret_0123456789abcdefghijkl");
}

#[test]
fn unusable_files_of_secrets_stop_the_start() {
    let folder = TempFolder::new();
    let data = folder.path("data");
    let config = folder.write("config.toml", "[auth]\njwt_secret = \"env(THE_SECRET)\"\n");
    let plain = folder.write("plain.toml", "");
    let missing = folder.path("missing");
    let secret = folder.write("secret", "a secret that no message shows, of some length");
    let start = |config: &str, variables: &[(&str, &str)]| {
        let arguments = ["serve", "--config", config, "--data", &data, "--port", "0"];
        let output = basalt().args(arguments).envs(variables.iter().copied()).output().expect("the program starts");
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let log = start(&config, &[("THE_SECRET_FILE", &missing)]);
    let expected = format!(
        "line 2: auth.jwt_secret has no value: THE_SECRET_FILE: is in the file {missing}, which does not exist"
    );
    assert!(log.contains(&expected), "{log}");
    let log = start(&config, &[("THE_SECRET_FILE", &secret), ("THE_SECRET", "another value")]);
    assert!(log.contains("THE_SECRET_FILE: is set, and so is THE_SECRET; remove one of the two"), "{log}");
    assert!(!log.contains("no message shows") && !log.contains("another value"), "{log}");
    let log = start(&plain, &[("DATABASE_URL_FILE", &missing)]);
    assert!(log.contains(&format!("DATABASE_URL_FILE: is in the file {missing}, which does not exist")), "{log}");
}
