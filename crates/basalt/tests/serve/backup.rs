//! `basalt backup` and `basalt restore`, with a running server that writes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use platform::clock::{Clock, SystemClock};
use rustix::process::Signal;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::support::{Basalt, TempFolder, is_alive, postgres_pid, run, run_with};

const PASSWORD: &str = "a long password";
/// No limits, so that one client may write.
const CONFIG: &str = "[auth.rate_limit]\nsign_in_sign_ups = 1000000\n";

fn output_text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[track_caller]
fn run_successfully(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", output_text(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn run_failing(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", output_text(&output));
    output_text(&output)
}

/// A project whose server has written.
struct Shop {
    scratch: TempFolder,
    config: String,
}

impl Shop {
    fn new(config: &str) -> Self {
        let scratch = TempFolder::new();
        let config = scratch.write("config.toml", &format!("{CONFIG}{config}"));
        Self { scratch, config }
    }

    fn path(&self, name: &str) -> String {
        self.scratch.path(name)
    }

    fn serve(&self, data: &str) -> Basalt {
        Basalt::serve(&["--config", &self.config, "--data", &self.path(data)])
    }

    fn backup(&self, name: &str) -> Value {
        let file = self.path(name);
        let text =
            run_successfully(&["backup", &file, "--config", &self.config, "--data", &self.path("data"), "--json"]);
        serde_json::from_str(&text).expect("JSON")
    }

    fn restore(&self, name: &str, data: &str, rest: &[&str]) -> Vec<String> {
        let (file, data) = (self.path(name), self.path(data));
        let start = ["restore", &file, "--config", &self.config, "--data", &data];
        start.into_iter().chain(rest.iter().copied()).map(str::to_owned).collect()
    }
}

fn strs(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

async fn sign_up(server: &Basalt, name: &str) -> u16 {
    server.auth("/signup", Some(json!({ "email": format!("{name}@example.com"), "password": PASSWORD }))).await.0
}

async fn list_users(server: &Basalt) -> Vec<String> {
    let mut db = PgConnection::connect(&server.text("database_url")).await.expect("connected");
    let sql = "SELECT split_part(email, '@', 1) FROM auth.users ORDER BY 1";
    sqlx::query_scalar(sql).fetch_all(&mut db).await.expect("users")
}

fn stop(server: Basalt) {
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit());
}

/// Writes rows until `ended`; returns each with the time of its acknowledgement.
async fn write_rows(url: String, ended: &AtomicBool) -> Vec<(i32, DateTime<Utc>)> {
    let mut db = PgConnection::connect(&url).await.expect("connected");
    sqlx::query("CREATE TABLE written (n int PRIMARY KEY, filler text)").execute(&mut db).await.expect("a table");
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if ended.load(Ordering::Relaxed) {
            break;
        }
        let sql = "INSERT INTO written VALUES ($1, repeat('x', 4000))";
        sqlx::query(sql).bind(number).execute(&mut db).await.expect("written");
        acknowledged.push((number, SystemClock.now()));
    }
    acknowledged
}

/// Stores files in the bucket `papers` of a server.
struct FileClient {
    client: reqwest::Client,
    bucket: String,
    key: String,
}

impl FileClient {
    fn new(server: &Basalt) -> Self {
        let bucket = server.url("/storage/v1/object/papers");
        Self { client: server.client.clone(), bucket, key: server.text("secret_key") }
    }

    async fn store(&self, name: &str) {
        let request = self.client.post(format!("{}/{name}", self.bucket)).header("apikey", &self.key);
        let stored = request.body(format!("content of {name}")).send().await.expect("a response");
        assert_eq!(stored.status(), 200, "{name}");
    }

    /// Stores files until `ended`; returns the names with the time of their acknowledgement.
    async fn store_many(self, ended: &AtomicBool) -> Vec<(String, DateTime<Utc>)> {
        let mut acknowledged = Vec::new();
        while !ended.load(Ordering::Relaxed) {
            let name = format!("during-{}.txt", acknowledged.len());
            self.store(&name).await;
            acknowledged.push((name, SystemClock.now()));
        }
        acknowledged
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_files_are_restored_with_those_of_during_the_backup() {
    let shop = Shop::new("[storage.buckets.papers]\npublic = true\n");
    let server = shop.serve("data");
    let files = FileClient::new(&server);
    files.store("before.txt").await;
    let ended: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let storing = tokio::spawn(files.store_many(ended));
    let manifest = tokio::task::block_in_place(|| shop.backup("shop.tar.gz"));
    ended.store(true, Ordering::Relaxed);
    let acknowledged = storing.await.expect("names");
    stop(server);

    run_successfully(&strs(&shop.restore("shop.tar.gz", "restored", &[])));
    let restored = shop.serve("restored");
    let ended_at = DateTime::parse_from_rfc3339(manifest["ended_at"].as_str().expect("a time")).expect("a time");
    let during = acknowledged.into_iter().filter(|(_, at)| *at < ended_at).map(|(name, _)| name);
    let names: Vec<String> = during.chain(["before.txt".to_owned()]).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let path = format!("/storage/v1/object/public/papers/{name}");
        let answer = restored.client.get(restored.url(&path)).send().await.expect("a response");
        assert_eq!(answer.status(), 200, "{name}");
        assert_eq!(answer.text().await.expect("text"), format!("content of {name}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_acknowledged_during_backup_are_restored() {
    let shop = Shop::new("");
    let server = shop.serve("data");
    assert_eq!(sign_up(&server, "before").await, 200);
    let keys = server.text("secret_key");
    let ended: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let writing = tokio::spawn(write_rows(server.text("database_url"), ended));
    tokio::time::sleep(Duration::from_millis(300)).await;
    let manifest = tokio::task::block_in_place(|| shop.backup("shop.tar.gz"));
    ended.store(true, Ordering::Relaxed);
    let acknowledged = writing.await.expect("rows");
    stop(server);

    let file = shop.path("shop.tar.gz");
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    assert!(run_successfully(&["backup", "verify", &file]).contains("1 user, complete up to"));
    let text = run_successfully(&strs(&shop.restore("shop.tar.gz", "restored", &[])));
    assert!(text.contains("Restored 1 user into"), "{text}");
    let printed = run_successfully(&strs(&shop.restore("shop.tar.gz", "again", &["--json"])));
    let printed: Value = serde_json::from_str(&printed).expect("one JSON document");
    assert_eq!((&printed["users"], &printed["data"]), (&json!(1), &json!(shop.path("again"))), "{printed}");
    assert!(printed["backup"].is_object(), "{printed}");

    let restored = shop.serve("restored");
    assert_eq!(restored.text("secret_key"), keys);
    let body = json!({ "email": "before@example.com", "password": PASSWORD });
    assert_eq!(restored.auth("/token?grant_type=password", Some(body)).await.0, 200);
    let ended_at = DateTime::parse_from_rfc3339(manifest["ended_at"].as_str().expect("a time")).expect("a time");
    let during: Vec<i32> = acknowledged.iter().filter(|(_, at)| *at < ended_at).map(|(number, _)| *number).collect();
    assert!(during.len() > 20, "{} rows were written before the end of the backup", during.len());
    let mut db = PgConnection::connect(&restored.text("database_url")).await.expect("connected");
    let missing: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM unnest($1::int[]) AS n WHERE NOT EXISTS (SELECT FROM written w WHERE w.n = n)",
    )
    .bind(&during)
    .fetch_one(&mut db)
    .await
    .expect("counted");
    assert_eq!(missing, 0);
    stop(restored);
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_without_server_and_refusals() {
    let shop = Shop::new("");
    let nothing = run_failing(&["backup", &shop.path("b"), "--config", &shop.config, "--data", &shop.path("data")]);
    assert!(nothing.contains("has no embedded database"), "{nothing}");
    let server = shop.serve("data");
    assert_eq!(sign_up(&server, "ann").await, 200);
    stop(server);
    shop.backup("shop.tar.gz");
    let file = shop.path("shop.tar.gz");
    let pid = postgres_pid(&shop.scratch.0.join("data"));
    assert!(pid.is_none_or(|pid| !is_alive(pid)), "the database was stopped again");

    let again = run_failing(&["backup", &file, "--config", &shop.config, "--data", &shop.path("data")]);
    assert!(again.contains("a backup is written to a new file"), "{again}");
    let nowhere =
        run_failing(&["backup", &shop.path("none/b"), "--config", &shop.config, "--data", &shop.path("data")]);
    assert!(nowhere.contains("there is no folder ") && !nowhere.contains(".part"), "{nowhere}");
    let used = run_failing(&strs(&shop.restore("shop.tar.gz", "data", &[])));
    assert!(used.contains("is not empty"), "{used}");
    shop.scratch.write("note", "kept");
    fs::create_dir(shop.path("other")).expect("a folder");
    fs::write(shop.path("other/note"), "kept").expect("a file");
    assert!(run_failing(&strs(&shop.restore("shop.tar.gz", "other", &[]))).contains("is not empty"));
    assert_eq!(fs::read_to_string(shop.path("other/note")).expect("kept"), "kept");
    let arguments = shop.restore("shop.tar.gz", "new", &[]);
    let external = run_with(&strs(&arguments), &[("DATABASE_URL", "postgresql://localhost/x")]);
    assert!(output_text(&external).contains("DATABASE_URL names an external database"));
    assert!(!Path::new(&shop.path("new")).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_and_changed_backups_are_refused() {
    let shop = Shop::new("");
    let server = shop.serve("data");
    shop.backup("shop.tar.gz");
    stop(server);
    let bytes = fs::read(shop.path("shop.tar.gz")).expect("readable");
    let mut refused = 0;
    for at in [0, 20, bytes.len() / 3, bytes.len() / 2, bytes.len() - 2000, bytes.len() - 5] {
        let mut changed = bytes.clone();
        changed[at] ^= 0x55;
        fs::write(shop.path("changed"), changed).expect("written");
        fs::write(shop.path("cut"), &bytes[..at]).expect("written");
        for name in ["changed", "cut"] {
            let text = run_failing(&["backup", "verify", &shop.path(name)]);
            assert!(text.contains("cannot be used as a backup"), "{name} at {at}: {text}");
            refused += 1;
        }
    }
    let longer = [&bytes[..], b"more"].concat();
    fs::write(shop.path("longer"), longer).expect("written");
    run_failing(&["backup", "verify", &shop.path("longer")]);
    assert_eq!(refused, 12);
    let text = run_failing(&strs(&shop.restore("changed", "new", &[])));
    assert!(text.contains("cannot be used as a backup") && !Path::new(&shop.path("new")).exists(), "{text}");
    fs::create_dir(shop.path("empty")).expect("a folder");
    run_failing(&strs(&shop.restore("cut", "empty", &[])));
    assert_eq!(fs::read_dir(shop.path("empty")).expect("it is still there").count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn archive_restores_any_time_after_the_backup() {
    let shop = Shop::new("[basalt.database]\narchive = \"wal\"\narchive_interval = \"1s\"\n");
    let server = shop.serve("data");
    assert_eq!(sign_up(&server, "first").await, 200);
    let manifest = shop.backup("shop.tar.gz");
    assert_eq!(sign_up(&server, "second").await, 200);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let until = SystemClock.now().to_rfc3339();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(sign_up(&server, "third").await, 200);
    wait_for_archive(&server, &shop.scratch.0.join("wal")).await;
    assert_eq!(sign_up(&server, "fourth").await, 200);
    stop(server);

    let wal = shop.path("wal");
    for (data, rest, expected) in [
        ("base", &[][..], &["first"][..]),
        ("until", &["--archive", &wal, "--until", &until][..], &["first", "second"][..]),
        ("all", &["--archive", &wal][..], &["first", "fourth", "second", "third"][..]),
    ] {
        run_successfully(&strs(&shop.restore("shop.tar.gz", data, rest)));
        let config = shop.scratch.write("plain.toml", CONFIG);
        let restored = Basalt::serve(&["--config", &config, "--data", &shop.path(data)]);
        assert_eq!(list_users(&restored).await, expected, "{data}");
        assert_eq!(sign_up(&restored, "later").await, 200);
        stop(restored);
    }

    let ended_at = manifest["ended_at"].as_str().expect("a time");
    for (until, complaint) in [("2020-01-01T00:00:00Z", ended_at), ("2100-01-01T00:00:00Z", "restore without --until")]
    {
        let text = run_failing(&strs(&shop.restore("shop.tar.gz", "no", &["--archive", &wal, "--until", until])));
        assert!(text.contains(complaint) && !Path::new(&shop.path("no")).exists(), "{text}");
    }
    remove_first_after(&shop.scratch.0.join("wal"), manifest["last_segment"].as_str().expect("a name"));
    let text = run_failing(&strs(&shop.restore("shop.tar.gz", "no", &["--archive", &wal])));
    assert!(text.contains("so nothing after it can be recovered"), "{text}");

    // A restored database continues under a new timeline, and another database may not use the archive.
    let other = TempFolder::new();
    let config = other.write("config.toml", &format!("[basalt.database]\narchive = \"{wal}\"\n"));
    let text = run_failing(&["serve", "--port", "0", "--config", &config, "--data", &other.path("data")]);
    assert!(text.contains("is the archive of another database"), "{text}");
    let restored = shop.serve("all");
    stop(restored);
    let names = fs::read_dir(&wal).expect("readable").flatten().map(|entry| entry.file_name());
    assert!(names.into_iter().any(|name| name == "00000002.history.gz"));
    // Without the setting the log is no longer kept.
    let config = shop.scratch.write("plain.toml", CONFIG);
    let plain = Basalt::serve(&["--config", &config, "--data", &shop.path("all")]);
    let mut db = PgConnection::connect(&plain.text("database_url")).await.expect("connected");
    let slots: i64 =
        sqlx::query_scalar("SELECT count(*) FROM pg_replication_slots").fetch_one(&mut db).await.expect("counted");
    assert_eq!(slots, 0);
}

/// Waits until everything that is written now is in the archive.
async fn wait_for_archive(server: &Basalt, archive: &Path) {
    let mut db = PgConnection::connect(&server.text("database_url")).await.expect("connected");
    let name: String = sqlx::query_scalar("SELECT pg_walfile_name(pg_current_wal_insert_lsn())")
        .fetch_one(&mut db)
        .await
        .expect("a segment");
    let started = Instant::now();
    while !archive.join(format!("{name}.gz")).exists() {
        assert!(started.elapsed() < Duration::from_secs(20), "{name} is not archived");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Removes the first archived segment after the last one of a backup.
fn remove_first_after(archive: &Path, last: &str) {
    let mut names: Vec<String> = fs::read_dir(archive)
        .expect("readable")
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.len() == 27 && name.as_str() > last && !name.starts_with(last))
        .collect();
    names.sort_unstable();
    assert!(names.len() > 1, "{names:?}");
    fs::remove_file(archive.join(&names[0])).expect("removed");
}
