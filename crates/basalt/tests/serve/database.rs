//! The embedded database: creation, locking, restarts.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::support::{Basalt, TempFolder, eventually, is_alive, postgres_pid, run};

#[tokio::test]
async fn second_start_keeps_keys_and_accounts() {
    let scratch = TempFolder::new();
    let data = scratch.path("data");
    let first = Basalt::serve(&["--data", &data]);
    let account = json!({ "email": "a@example.com", "password": "a long password" });
    let (status, body) = first.auth("/signup", Some(account.clone())).await;
    assert_eq!(status, 200, "{body}");
    let keys = ["publishable_key", "secret_key", "anon_key", "service_role_key", "jwt_secret"];
    let before: Vec<String> = keys.iter().map(|key| first.text(key)).collect();
    first.signal(Signal::TERM);
    assert!(first.wait_for_exit());

    let second = Basalt::serve(&["--data", &data]);
    let after: Vec<String> = keys.iter().map(|key| second.text(key)).collect();
    assert_eq!(before, after);
    let (status, body) = second.auth("/token?grant_type=password", Some(account)).await;
    assert_eq!((status, &body["msg"] != "Invalid login credentials"), (200, true), "{body}");
}

#[test]
fn data_folder_is_locked() {
    let scratch = TempFolder::new();
    let data = scratch.path("data");
    let first = Basalt::serve(&["--data", &data]);
    let second = run(&["serve", "--port", "0", "--data", &data]);
    let complaint = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success());
    assert!(complaint.contains("another basalt (process ") && complaint.contains("--data DIR"), "{complaint}");
    drop(first);
}

#[test]
fn postgres_ends_with_killed_parent_and_next_start_succeeds() {
    let scratch = TempFolder::new();
    let data = scratch.path("data");
    let first = Basalt::serve(&["--data", &data]);
    let postgres = postgres_pid(&scratch.0.join("data")).expect("PostgreSQL runs");
    first.signal(Signal::KILL);
    assert!(!first.wait_for_exit());
    // Immediately, while PostgreSQL may still be shutting down.
    let second = Basalt::serve(&["--data", &data]);
    assert!(!is_alive(postgres));
    let left = postgres_pid(&scratch.0.join("data")).expect("PostgreSQL runs");
    second.signal(Signal::KILL);
    assert!(!second.wait_for_exit());
    eventually("PostgreSQL ends with its parent", || !is_alive(left));
}

#[tokio::test]
async fn killed_postgres_is_restarted() {
    let scratch = TempFolder::new();
    let server = Basalt::serve(&["--data", &scratch.path("data")]);
    let wrong = json!({ "email": "unknown@example.com", "password": "wrong password" });
    let ask = || server.auth("/token?grant_type=password", Some(wrong.clone()));
    assert_eq!(ask().await.0, 400);
    let postgres = postgres_pid(&scratch.0.join("data")).expect("PostgreSQL runs");
    kill_process(postgres, Signal::KILL).expect("killed");
    eventually("PostgreSQL is started again", || {
        postgres_pid(&scratch.0.join("data")).is_some_and(|again| again != postgres)
    });
    let mut tries = 0;
    while ask().await.0 != 400 {
        tries += 1;
        assert!(tries < 400, "the service does not recover");
        std::thread::sleep(std::time::Duration::from_millis(25));
    }
}

#[test]
fn stale_pid_file_does_not_prevent_start() {
    let scratch = TempFolder::new();
    let data = scratch.path("data");
    let first = Basalt::serve(&["--data", &data]);
    first.signal(Signal::TERM);
    assert!(first.wait_for_exit());
    // As after a crash of the machine, when another process has the same id.
    let file = scratch.0.join("data/postgres/cluster/postmaster.pid");
    fs::write(&file, format!("{}\n", std::process::id())).expect("write the file");
    drop(Basalt::serve(&["--data", &data]));
}

#[test]
fn root_puts_database_where_its_account_can_reach_it() {
    if !rustix::process::geteuid().is_root() {
        // Other accounts run PostgreSQL as themselves, which the other tests cover.
        return;
    }
    let scratch = TempFolder::new();
    fs::set_permissions(&scratch.0, Permissions::from_mode(0o700)).expect("closed");
    let server = Basalt::serve(&["--data", &scratch.path("data")]);
    let url = server.text("database_url");
    assert!(url.contains("@%2Fvar%2Flib%2Fbasalt%2F"), "{url}");
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit());
    let folder = url.split("basalt%2F").nth(1).and_then(|rest| rest.split("%2F").next()).expect("a name");
    fs::remove_dir_all(format!("/var/lib/basalt/{folder}")).expect("removed");
}

#[test]
fn secret_files_are_readable_by_owner_only() {
    let scratch = TempFolder::new();
    let server = Basalt::serve(&["--data", &scratch.path("data")]);
    for name in ["keys.json", "running.json", "lock", "postgres/password", "postgres"] {
        let mode = fs::metadata(scratch.0.join("data").join(name)).expect(name).permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
    drop(server);
}
