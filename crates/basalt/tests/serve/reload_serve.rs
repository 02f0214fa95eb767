//! `basalt serve` reloads its configuration on SIGHUP and when the file changes.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::support::{Basalt, TempFolder, eventually};

async fn wait_for_disable_signup(server: &Basalt, expected: bool) {
    let started = Instant::now();
    loop {
        let (_, settings) = server.auth("/settings", None).await;
        if settings["disable_signup"] == json!(expected) {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "{settings}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn change_and_signal_reload_and_invalid_settings_change_nothing() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "[auth]\nenable_signup = true\n");
    let server = Basalt::serve(&["--ephemeral", "--config", &config]);
    wait_for_disable_signup(&server, false).await;
    scratch.write("config.toml", "[auth]\nenable_signup = false\n");
    wait_for_disable_signup(&server, true).await;

    scratch.write("config.toml", "[auth]\nenable_signup = true\njwt_expiry = \"soon\"\n");
    server.signal(Signal::HUP);
    tokio::time::sleep(Duration::from_secs(3)).await;
    wait_for_disable_signup(&server, true).await;

    scratch.write("config.toml", "[auth]\nenable_signup = true\n");
    server.signal(Signal::HUP);
    wait_for_disable_signup(&server, false).await;
    // Keys stay those of the start.
    assert_eq!(server.auth("/health", None).await.0, 200);
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit());
}

#[tokio::test]
async fn interrupted_write_changes_nothing() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "[auth]\nenable_signup = false\njwt_expiry = 1800\n");
    let server = Basalt::serve(&["--ephemeral", "--config", &config]);
    wait_for_disable_signup(&server, true).await;
    // Valid files, of which the first enables sign-up and the second ends tokens after 18 seconds.
    for (count, rest) in ["", "[auth]\nenable_signup = false\njwt_expiry = 18"].into_iter().enumerate() {
        scratch.write("config.toml", rest);
        server.signal(Signal::HUP);
        eventually("the file is refused", || server.log().matches("ends within a line").count() > count);
        assert!(!server.log().contains("settings reloaded"), "{}", server.log());
        wait_for_disable_signup(&server, true).await;
    }
    // The last lines were deleted on purpose.
    scratch.write("config.toml", "[auth]\n");
    wait_for_disable_signup(&server, false).await;
}

#[tokio::test]
async fn external_database_gets_tables_of_recovery_codes_that_a_reload_enables() {
    let database = Basalt::serve(&["--ephemeral"]);
    let own = database.text("database_url");
    let mut db = PgConnection::connect(&own).await.expect("connected");
    sqlx::query("CREATE DATABASE application").execute(&mut db).await.expect("a database");
    let url = own.strip_suffix("/postgres").map(|rest| format!("{rest}/application")).expect("a URL");
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "[auth]\nenable_signup = true\n");
    let server = Basalt::serve(&["--ephemeral", "--config", &config, "--database-url", &url]);
    wait_for_disable_signup(&server, false).await;
    let mut db = PgConnection::connect(&url).await.expect("connected");
    let count = "SELECT count(*) FROM pg_tables WHERE schemaname = 'auth' AND tablename LIKE 'mfa_recovery_code%'";
    assert_eq!(sqlx::query_scalar::<_, i64>(count).fetch_one(&mut db).await.expect("a row"), 0);
    let enabled = "[auth]\nenable_signup = false\n[auth.mfa.recovery_codes]\nenroll_enabled = true\n";
    scratch.write("config.toml", enabled);
    server.signal(Signal::HUP);
    wait_for_disable_signup(&server, true).await;
    assert_eq!(sqlx::query_scalar::<_, i64>(count).fetch_one(&mut db).await.expect("a row"), 2);
}

#[tokio::test]
async fn settings_that_need_a_restart_are_named() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "[auth]\nenable_signup = true\n");
    let server = Basalt::serve(&["--ephemeral", "--config", &config]);
    wait_for_disable_signup(&server, false).await;
    let changed =
        "[auth]\nenable_signup = false\n[auth.oauth_server]\nenabled = true\n[storage.buckets.files]\npublic = true\n";
    scratch.write("config.toml", changed);
    server.signal(Signal::HUP);
    wait_for_disable_signup(&server, true).await;
    eventually("the settings are named", || server.log().contains("settings reloaded"));
    let log = server.log();
    for setting in ["[auth.oauth_server], for the page /_dev/consent", "`basalt storage seed` creates new buckets"] {
        let is_named = |line: &str| line.contains(setting) && line.contains("takes effect at the next start");
        assert!(log.lines().any(is_named), "{setting}: {log}");
    }
    let missing = server.client.get(server.url("/_dev/nowhere")).send().await.expect("an answer");
    let text = missing.text().await.expect("text");
    assert!(text.contains("/_dev lists the pages") && text.contains("after a start with"), "{text}");
}
