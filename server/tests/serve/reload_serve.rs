//! `basalt serve` reloads its configuration on SIGHUP and when the file changes.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::support::{Basalt, TempFolder};

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
