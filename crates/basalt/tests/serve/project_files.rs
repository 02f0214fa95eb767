//! Where `basalt` finds a project's configuration and variables, and `basalt init`.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::support::{Basalt, TempFolder, basalt};

/// Creates folders and files below the scratch folder.
fn write_files(scratch: &TempFolder, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = scratch.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }
}

fn run_in(folder: &Path, arguments: &[&str]) -> Output {
    basalt().env_remove("SUPABASE_ENV").current_dir(folder).args(arguments).output().expect("the program starts")
}

/// Returns the minimum password length of the project, which `config.toml` takes from a variable.
fn password_length(folder: &Path, environment: Option<&str>) -> String {
    let mut command = basalt();
    command.current_dir(folder).env_remove("SUPABASE_ENV").env_remove("PROJECT_LENGTH");
    if let Some(environment) = environment {
        command.env("SUPABASE_ENV", environment);
    }
    let output = command.arg("check").output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    // The value is no number, so the message shows it.
    text.split("\"length-").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or(&text).to_owned()
}

#[test]
fn configuration_is_found_from_a_subfolder() {
    let scratch = TempFolder::new();
    write_files(&scratch, &[("supabase/config.toml", "[api]\nport = 70000\n"), ("app/src/main.ts", "")]);
    for folder in ["", "app", "app/src", "supabase/functions/hello"] {
        fs::create_dir_all(scratch.0.join(folder)).expect("folders");
        let output = run_in(&scratch.0.join(folder), &["check"]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains("line 2: api.port must be a port"), "{folder}: {text}");
    }
}

#[test]
fn data_folder_of_a_found_project_lies_beside_its_configuration_and_is_excluded_from_git() {
    let scratch = TempFolder::new();
    write_files(&scratch, &[("supabase/config.toml", ""), ("app/main.ts", "")]);
    let server = Basalt::start(basalt().current_dir(scratch.0.join("app")), &[]);
    let exclusion = fs::read_to_string(scratch.0.join("supabase/.basalt/.gitignore")).expect("a file");
    assert_eq!(exclusion, "*\n");
    let status = run_in(&scratch.0, &["status", "--json"]);
    let status: Value = serde_json::from_slice(&status.stdout).expect("JSON");
    assert_eq!(status["url"], server.announcement["url"]);
}

#[test]
fn variables_come_from_the_files_of_the_cli_in_its_order() {
    let scratch = TempFolder::new();
    let config = "[auth.email]\nmax_frequency = \"env(PROJECT_LENGTH)\"\n";
    // From the last in the order to the first: each added file takes precedence.
    let files = [
        ".env",
        ".env.development",
        ".env.local",
        ".env.development.local",
        "supabase/.env",
        "supabase/.env.development",
        "supabase/.env.local",
        "supabase/.env.development.local",
    ];
    write_files(&scratch, &[("supabase/config.toml", config)]);
    for file in files {
        write_files(&scratch, &[(file, &format!("PROJECT_LENGTH=length-{file}\n"))]);
        assert_eq!(password_length(&scratch.0, None), file);
    }
    // The environment `test` has no .env.local.
    assert_eq!(password_length(&scratch.0, Some("test")), "supabase/.env");
    assert_eq!(password_length(&scratch.0, Some("production")), "supabase/.env.local");
    let output = basalt().current_dir(&scratch.0).env("PROJECT_LENGTH", "1s").arg("check").output().expect("it runs");
    assert!(output.status.success(), "the environment takes precedence");
}

#[test]
fn database_url_of_the_cli_files_is_not_used() {
    let scratch = TempFolder::new();
    let url = "DATABASE_URL=postgres://application@127.0.0.1:9/application\n";
    write_files(&scratch, &[("supabase/config.toml", ""), (".env.local", url), ("supabase/.env", url)]);
    let server = Basalt::start(basalt().current_dir(&scratch.0), &["--ephemeral"]);
    assert!(server.text("database_url").contains("basalt-once-"), "the embedded database");
    drop(server);
    let server = Basalt::start(basalt().current_dir(&scratch.0), &[]);
    assert!(server.text("database_url").contains("run"), "{}", server.text("database_url"));
}

#[test]
fn invalid_file_of_variables_is_reported_by_name_and_line() {
    let scratch = TempFolder::new();
    write_files(&scratch, &[("supabase/config.toml", ""), ("supabase/.env.local", "A=1\nno value\n")]);
    let output = run_in(&scratch.0, &["check"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("supabase/.env.local: line 2"), "{text}");
}

#[tokio::test]
async fn test_server_needs_neither_the_mail_server_nor_tls_of_the_project() {
    let scratch = TempFolder::new();
    let config = "[api.tls]\nenabled = true\n[auth.email.smtp]\nhost = \"smtp.example.com\"\nport = 587\nuser = \"app\"\n\
                  pass = \"env(PROJECT_SMTP_PASSWORD)\"\nadmin_email = \"app@example.com\"\n";
    write_files(&scratch, &[("supabase/config.toml", config)]);
    let output = run_in(&scratch.0, &["serve", "--port", "0", "--ephemeral"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("line 2: api.tls.enabled needs api.tls.cert_path"), "{text}");
    let public = format!("[api]\nexternal_url = \"https://api.example.com\"\n{config}");
    write_files(&scratch, &[("public/config.toml", &public)]);
    let output = run_in(&scratch.0, &["check", "--config", "public/config.toml"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        text.contains("line 9: auth.email.smtp.pass needs the environment variable PROJECT_SMTP_PASSWORD"),
        "{text}"
    );
    let server = Basalt::start(basalt().current_dir(&scratch.0), &["--test"]);
    assert_eq!(server.auth("/health", None).await.0, 200);
}

#[tokio::test]
async fn init_writes_a_configuration_that_serves_a_status_page() {
    let scratch = TempFolder::new();
    let output = run_in(&scratch.0, &["init"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!String::from_utf8_lossy(&output.stdout).contains(".basalt"), "{output:?}");
    assert!(run_in(&scratch.0, &["check"]).status.success());
    let server = Basalt::start(basalt().current_dir(&scratch.0), &["--ephemeral"]);
    let page = server.client.get(server.url("/")).send().await.expect("an answer");
    assert_eq!(page.status(), 200);
    let page = page.text().await.expect("text");
    for served in ["Basalt is running", "/auth/v1", "/rest/v1", "/storage/v1", "/functions/v1", "\"/_dev\""] {
        assert!(page.contains(served), "{served}: {page}");
    }
    let missing = server.client.get(server.url("/nowhere")).send().await.expect("an answer");
    assert_eq!(missing.status(), 404);
    let missing = missing.text().await.expect("text");
    assert!(missing.contains("There is no page at this path") && !missing.contains("is running"), "{missing}");
    assert_eq!(server.auth("/health", None).await.0, 200);
}

#[test]
fn init_says_what_becomes_of_an_earlier_database() {
    let scratch = TempFolder::new();
    std::fs::create_dir(scratch.0.join(".basalt")).expect("a folder");
    let output = run_in(&scratch.0, &["init"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("mv .basalt supabase/.basalt"), "{text}");
    // Beside a configuration of the same folder it stays in use.
    let output = run_in(&scratch.0, &["init", "--config", "other.toml"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && !text.contains("mv "), "{text}");
}

#[tokio::test]
async fn init_with_shop_writes_a_configuration_that_serves_the_shop() {
    let scratch = TempFolder::new();
    assert!(run_in(&scratch.0, &["init", "--shop"]).status.success());
    let server = Basalt::start(basalt().current_dir(&scratch.0), &["--ephemeral"]);
    let page = server.client.get(server.url("/")).send().await.expect("an answer").text().await.expect("text");
    assert!(page.contains(&server.text("publishable_key")), "{page}");
    // Visitors without an account may send submissions.
    let submission = server.client.post(server.url("/functions/v1/send-submission")).json(&serde_json::json!({}));
    assert_eq!(submission.send().await.expect("an answer").status(), 400);
}

#[test]
fn init_replaces_no_file() {
    let scratch = TempFolder::new();
    write_files(&scratch, &[("supabase/config.toml", "# mine\n")]);
    for arguments in [&["init"][..], &["init", "--shop"], &["init", "--config", "supabase/config.toml"]] {
        let output = run_in(&scratch.0, arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains("exists already"), "{text}");
    }
    assert_eq!(fs::read_to_string(scratch.0.join("supabase/config.toml")).expect("a file"), "# mine\n");
    let own = TempFolder::new();
    own.write("config.toml", "");
    assert!(!run_in(&own.0, &["init"]).status.success(), "config.toml would take precedence");
    assert!(!own.0.join("supabase").exists());
}
