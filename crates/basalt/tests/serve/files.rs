//! Files on disk are accessible by their owner only and contain no user data beyond the database.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::Signal;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::support::{Basalt, TempFolder, run};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("metadata").permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("set the permissions");
}

#[test]
fn start_removes_excess_permissions() {
    let scratch = TempFolder::new();
    let (data, folder) = (scratch.path("data"), scratch.0.join("data"));
    let first = Basalt::serve(&["--data", &data]);
    let key = first.text("secret_key");
    first.signal(Signal::TERM);
    assert!(first.wait_for_exit());
    let files = ["keys.json", "postgres/password", "lock"];
    set_mode(&folder, 0o777);
    set_mode(&folder.join("postgres"), 0o755);
    for file in &files[..2] {
        set_mode(&folder.join(file), 0o666);
    }
    fs::write(folder.join("running.json"), "{}").expect("written");
    set_mode(&folder.join("running.json"), 0o644);

    let second = Basalt::serve(&["--data", &data]);
    assert_eq!(second.text("secret_key"), key, "the keys stay");
    // Under root, PostgreSQL's account has to traverse the folder.
    assert_eq!(mode(&folder) & 0o066, 0);
    assert_eq!(mode(&folder.join("postgres")) & 0o077, 0);
    for file in files.iter().chain(&["running.json"]) {
        assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
    }
}

#[test]
fn existing_folder_is_restricted() {
    let scratch = TempFolder::new();
    let folder = scratch.0.join("data");
    fs::create_dir(&folder).expect("a folder");
    set_mode(&folder, 0o777);
    let server = Basalt::serve(&["--data", &scratch.path("data")]);
    assert_eq!(mode(&folder) & 0o066, 0);
    drop(server);
}

#[test]
fn status_restricts_permissions_of_keys() {
    let scratch = TempFolder::new();
    let data = scratch.path("data");
    drop(Basalt::serve(&["--data", &data]));
    let keys = scratch.0.join("data/keys.json");
    set_mode(&keys, 0o644);
    assert_eq!(run(&["status", "--data", &data]).status.code(), Some(3), "no server runs");
    let lock = std::fs::File::open(format!("{data}/lock")).expect("the lock of the folder");
    lock.lock().expect("locked, as by a start");
    let _ = fs::remove_file(scratch.0.join("data/running.json"));
    let starting = run(&["status", "--data", &data]);
    assert_eq!(starting.status.code(), Some(3), "no server accepts requests");
    assert!(String::from_utf8_lossy(&starting.stdout).contains("Basalt is starting or stopping."), "{starting:?}");
    drop(lock);
    assert_eq!(mode(&keys), 0o600);
}

#[tokio::test]
async fn postgres_log_contains_no_statement_values() {
    let scratch = TempFolder::new();
    let server = Basalt::serve(&["--data", &scratch.path("data")]);
    let mut db = PgConnection::connect(&server.text("database_url")).await.expect("connected");
    let made =
        sqlx::query("CREATE TABLE people (email text PRIMARY KEY, age int CHECK (age > 0))").execute(&mut db).await;
    made.expect("a table");
    let insert = "INSERT INTO people (email) VALUES ($1)";
    let bound = [insert, insert, "SELECT $1::text::uuid", "SELECT $1::text::jsonb", "SELECT ($1::text || '1')::int"];
    let mut failures = 0;
    for sql in bound {
        failures += usize::from(sqlx::query(sql).bind("bound@example.com").execute(&mut db).await.is_err());
    }
    for sql in [
        "INSERT INTO people VALUES ('bound@example.com', 1)",
        "INSERT INTO people VALUES ('check@example.com', -1)",
        "SELECT 'literal@example.com'::uuid",
        "SELECT * FROM \"table@example.com\"",
        "DO $$ BEGIN RAISE WARNING 'warned@example.com'; RAISE EXCEPTION 'raised@example.com'; END $$",
        "SELECT 'unterminated@example.com",
    ] {
        failures += usize::from(sqlx::query(sql).execute(&mut db).await.is_err());
    }
    assert_eq!(failures, 10, "all but the first insertion");
    let body = json!({"email": "signed-up@example.com", "password": "a long password"});
    assert_eq!(server.auth("/signup", Some(body)).await.0, 200);
    drop(db);
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit());

    let log = fs::read_to_string(scratch.0.join("data/postgres/postgres.log")).expect("a log");
    assert!(log.contains("database system is shut down"), "this is PostgreSQL's log: {log}");
    assert!(!log.contains("example.com") && !log.contains("INSERT"), "{log}");
}
