//! What is kept on disk: for its owner alone, and without what users sent.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::Signal;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::support::{Basalt, Scratch, run};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

fn open_up(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("ours to change");
}

#[test]
fn rights_that_others_were_given_are_taken_away_at_the_next_start() {
    let scratch = Scratch::new();
    let (data, folder) = (scratch.path("data"), scratch.0.join("data"));
    let first = Basalt::serve(&["--data", &data]);
    let key = first.text("secret_key");
    first.signal(Signal::TERM);
    assert!(first.ends());
    let files = ["keys.json", "postgres/password", "lock"];
    open_up(&folder, 0o777);
    open_up(&folder.join("postgres"), 0o755);
    for file in &files[..2] {
        open_up(&folder.join(file), 0o666);
    }
    fs::write(folder.join("running.json"), "{}").expect("written");
    open_up(&folder.join("running.json"), 0o644);

    let second = Basalt::serve(&["--data", &data]);
    assert_eq!(second.text("secret_key"), key, "the keys stay");
    // Under root PostgreSQL's account walks through.
    assert_eq!(mode(&folder) & 0o066, 0);
    assert_eq!(mode(&folder.join("postgres")) & 0o077, 0);
    for file in files.iter().chain(&["running.json"]) {
        assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
    }
}

#[test]
fn a_folder_that_was_there_before_is_closed_to_others() {
    let scratch = Scratch::new();
    let folder = scratch.0.join("data");
    fs::create_dir(&folder).expect("a folder");
    open_up(&folder, 0o777);
    let server = Basalt::serve(&["--data", &scratch.path("data")]);
    assert_eq!(mode(&folder) & 0o066, 0);
    drop(server);
}

#[test]
fn status_closes_keys_that_are_open_to_others() {
    let scratch = Scratch::new();
    let data = scratch.path("data");
    drop(Basalt::serve(&["--data", &data]));
    let keys = scratch.0.join("data/keys.json");
    open_up(&keys, 0o644);
    assert!(run(&["status", "--data", &data]).status.success());
    assert_eq!(mode(&keys), 0o600);
}

#[tokio::test]
async fn the_databases_log_quotes_no_value_of_a_statement() {
    let scratch = Scratch::new();
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
    assert!(server.ends());

    let log = fs::read_to_string(scratch.0.join("data/postgres/postgres.log")).expect("a log");
    assert!(log.contains("database system is shut down"), "this is PostgreSQL's log: {log}");
    assert!(!log.contains("example.com") && !log.contains("INSERT"), "{log}");
}
