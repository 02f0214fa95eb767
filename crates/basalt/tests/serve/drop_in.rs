//! `basalt gotrue`, configured by environment variables.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use sqlx::{Connection as _, PgConnection};

use super::support::{Basalt, basalt};

#[tokio::test]
async fn gotrue_serves_auth_api_at_root() {
    let database = Basalt::serve(&["--ephemeral"]);
    let variables = [
        ("GOTRUE_DB_DRIVER", "postgres".to_owned()),
        ("DATABASE_URL", database.text("database_url")),
        ("GOTRUE_SITE_URL", "http://localhost:3000".to_owned()),
        ("API_EXTERNAL_URL", "http://localhost:9999".to_owned()),
        ("GOTRUE_JWT_SECRET", database.text("jwt_secret")),
        ("GOTRUE_API_HOST", "127.0.0.1".to_owned()),
        ("PORT", "0".to_owned()),
    ];
    let migrated = basalt().args(["gotrue", "migrate"]).envs(variables.clone()).output().expect("it runs");
    assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));

    let mut child = basalt().arg("gotrue").envs(variables).stderr(Stdio::piped()).spawn().expect("the program starts");
    let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let address = lines
        .map_while(Result::ok)
        .find_map(|line| serde_json::from_str::<serde_json::Value>(&line).ok()?["address"].as_str().map(str::to_owned))
        .expect("the address is logged");
    let health = database.client.get(format!("http://{address}/health")).send().await.expect("an answer");
    assert_eq!(health.status(), 200);
    let shop = database.client.get(format!("http://{address}/")).send().await.expect("an answer");
    assert_eq!((shop.status().as_u16(), shop.text().await.expect("text").as_str()), (404, "404 page not found\n"));
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it lives");
    assert!(child.wait().expect("a status").success());
}

#[tokio::test]
async fn serve_uses_external_database() {
    let first = Basalt::serve(&["--ephemeral"]);
    let second = Basalt::serve(&["--ephemeral", "--database-url", &first.text("database_url")]);
    assert_eq!(second.text("database_url"), first.text("database_url"));
    let account = serde_json::json!({ "email": "a@example.com", "password": "a long password" });
    assert_eq!(first.auth("/signup", Some(account.clone())).await.0, 200);
    assert_eq!(second.auth("/token?grant_type=password", Some(account)).await.0, 200);
}

#[test]
fn invalid_settings_are_reported_with_name_and_example() {
    let output = basalt().arg("gotrue").env_clear().env("GOTRUE_JWT_EXP", "soon").output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    for expected in ["GOTRUE_JWT_EXP", "\"soon\"", "Example: ", "DATABASE_URL", "GOTRUE_SITE_URL"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn log_file_that_cannot_be_opened_does_not_prevent_the_start() {
    let output = basalt()
        .args(["gotrue", "migrate"])
        .env_clear()
        .env("GOTRUE_DB_DRIVER", "postgres")
        .env("DATABASE_URL", "postgres://user@127.0.0.1:1/postgres")
        .env("GOTRUE_DB_START_TIMEOUT", "1s")
        .env("GOTRUE_SITE_URL", "http://localhost:3000")
        .env("API_EXTERNAL_URL", "http://localhost:9999")
        .env("GOTRUE_JWT_SECRET", "at-least-32-characters-of-your-own")
        .env("GOTRUE_LOG_FILE", "/nonexistent/folder/auth.log")
        .output()
        .expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("log file cannot be opened, logging to standard error"), "{text}");
    assert!(!text.contains("opening the log file"), "{text}");
}

#[test]
fn version_is_printed() {
    let output = super::support::run(&["gotrue", "version"]);
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("basalt "));
}

#[tokio::test]
async fn newer_schema_is_served_and_one_that_lacks_something_is_refused_by_name() {
    const NEWER: &str = "
        CREATE TABLE auth.scim_users (id uuid PRIMARY KEY, resource jsonb NOT NULL);
        ALTER TABLE auth.one_time_tokens ADD COLUMN expires_at timestamptz, ADD COLUMN link_token_hash text;
        ALTER TABLE auth.mfa_factors DROP CONSTRAINT mfa_factors_last_challenged_at_key;
        INSERT INTO auth.schema_migrations VALUES ('20260831180000'), ('20261007120000')";
    let database = Basalt::serve(&["--ephemeral"]);
    let url = database.text("database_url");
    let mut db = PgConnection::connect(&url).await.expect("connected");
    sqlx::raw_sql(NEWER).execute(&mut db).await.expect("the test's SQL is right");
    let migrate = || {
        let mut command = basalt();
        command
            .args(["gotrue", "migrate"])
            .env("GOTRUE_DB_DRIVER", "postgres")
            .env("DATABASE_URL", &url)
            .env("GOTRUE_SITE_URL", "http://localhost:3000")
            .env("API_EXTERNAL_URL", "http://localhost:9999")
            .env("GOTRUE_MFA_RECOVERY_CODES_ENROLL_ENABLED", "true")
            .env("GOTRUE_JWT_SECRET", database.text("jwt_secret"));
        let output = command.output().expect("it runs");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };

    let (is_served, log) = migrate();
    assert!(is_served && log.contains("migrated by a newer Supabase Auth"), "{log}");
    assert!(log.contains("20260831180000, 20261007120000"), "{log}");
    let second = Basalt::serve(&["--ephemeral", "--database-url", &url]);
    let account = serde_json::json!({ "email": "a@example.com", "password": "a long password" });
    assert_eq!(second.auth("/signup", Some(account.clone())).await.0, 200);
    assert_eq!(second.auth("/token?grant_type=password", Some(account)).await.0, 200);

    let change = "ALTER TABLE auth.users ADD COLUMN tenant uuid NOT NULL DEFAULT gen_random_uuid();
                  ALTER TABLE auth.users ALTER COLUMN tenant DROP DEFAULT";
    sqlx::raw_sql(change).execute(&mut db).await.expect("the test's SQL is right");
    let (is_served, log) = migrate();
    assert!(!is_served && log.contains("does not know in users.tenant"), "{log}");
}
