//! `basalt gotrue --config-dir`: settings are reloaded while it serves.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sqlx::{Connection, PgConnection};

use super::support::{Basalt, TempFolder, basalt, eventually};

/// A `basalt gotrue` process that watches a folder.
struct ReloadingServer {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    address: String,
    client: reqwest::Client,
}

impl ReloadingServer {
    fn start(database: &Basalt, folder: &TempFolder, variables: &[(&str, &str)]) -> Self {
        let needed = [
            ("GOTRUE_DB_DRIVER", "postgres".to_owned()),
            ("DATABASE_URL", database.text("database_url")),
            ("GOTRUE_SITE_URL", "http://localhost:3000".to_owned()),
            ("API_EXTERNAL_URL", "http://localhost:9999".to_owned()),
            ("GOTRUE_JWT_SECRET", database.text("jwt_secret")),
            ("GOTRUE_API_HOST", "127.0.0.1".to_owned()),
            ("PORT", "0".to_owned()),
            ("GOTRUE_RELOADING_GRACE_PERIOD_INTERVAL", "50ms".to_owned()),
        ];
        let mut child = basalt()
            .args(["gotrue", "--config-dir", &folder.path(""), "serve"])
            .envs(needed)
            .envs(variables.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let log = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                written.lock().expect("the log lock").push(line);
            }
        });
        let mut it = Self { child, log, address: String::new(), client: database.client.clone() };
        let address = |line: &String| Some(serde_json::from_str::<Value>(line).ok()?["address"].as_str()?.to_owned());
        eventually("the address is logged", || it.lines().iter().any(|line| address(line).is_some()));
        it.address = it.lines().iter().find_map(address).expect("found");
        it
    }

    fn lines(&self) -> Vec<String> {
        self.log.lock().expect("the log lock").clone()
    }

    fn has_logged(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }

    async fn disable_signup(&self) -> bool {
        let answer = self.client.get(format!("http://{}/settings", self.address)).send().await.expect("an answer");
        answer.json::<Value>().await.expect("JSON")["disable_signup"].as_bool().expect("a switch")
    }

    async fn wait_for_disable_signup(&self, disabled: bool) {
        let started = Instant::now();
        while self.disable_signup().await != disabled {
            assert!(started.elapsed() < Duration::from_secs(20), "{:?}", self.lines());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it lives");
    }
}

impl Drop for ReloadingServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn changed_file_is_reloaded_and_invalid_file_is_ignored() {
    let (database, folder) = (Basalt::serve(&["--ephemeral"]), TempFolder::new());
    folder.write("a.env", "GOTRUE_DISABLE_SIGNUP=false\n");
    let mut server = ReloadingServer::start(&database, &folder, &[]);
    assert!(!server.disable_signup().await);

    folder.write("a.env", "GOTRUE_DISABLE_SIGNUP=true\n");
    server.wait_for_disable_signup(true).await;

    folder.write("b.env", "GOTRUE_DISABLE_SIGNUP=false\nGOTRUE_JWT_EXP=soon\n");
    eventually("the error is logged", || {
        server.has_logged("settings are invalid") && server.has_logged("GOTRUE_JWT_EXP")
    });
    assert!(server.disable_signup().await);
    folder.write("b.env", "GOTRUE_DISABLE_SIGNUP=false\nno sense at all\n");
    eventually("the line is logged", || server.has_logged("line 2 has no"));
    assert!(server.disable_signup().await);

    folder.write("b.json", "{\"GOTRUE_DISABLE_SIGNUP\":\"false\",\"PORT\":\"1\"}");
    server.wait_for_disable_signup(false).await;
    assert!(server.has_logged("GOTRUE_API_HOST or PORT") && server.has_logged("takes effect at the next start"));

    server.signal(Signal::TERM);
    assert!(server.child.wait().expect("a status").success(), "{:?}", server.lines());
}

#[tokio::test]
async fn enabled_recovery_codes_get_their_tables_without_a_restart() {
    let (database, folder) = (Basalt::serve(&["--ephemeral"]), TempFolder::new());
    let mut db = PgConnection::connect(&database.text("database_url")).await.expect("connected");
    let drop = "DROP TABLE auth.mfa_recovery_codes, auth.mfa_recovery_code_sets";
    sqlx::raw_sql(drop).execute(&mut db).await.expect("the tables of the embedded database");
    folder.write("a.env", "GOTRUE_DISABLE_SIGNUP=false\n");
    let server = ReloadingServer::start(&database, &folder, &[]);
    assert!(!has_recovery_code_tables(&mut db).await);
    folder.write("a.env", "GOTRUE_DISABLE_SIGNUP=true\nGOTRUE_MFA_RECOVERY_CODES_VERIFY_ENABLED=true\n");
    server.wait_for_disable_signup(true).await;
    assert!(has_recovery_code_tables(&mut db).await);
}

async fn has_recovery_code_tables(db: &mut PgConnection) -> bool {
    let sql = "SELECT to_regclass('auth.mfa_recovery_code_sets') IS NOT NULL
                  AND to_regclass('auth.mfa_recovery_codes') IS NOT NULL";
    sqlx::query_scalar(sql).fetch_one(db).await.expect("a row")
}

#[tokio::test]
async fn created_or_replaced_folder_is_detected() {
    let (database, folder) = (Basalt::serve(&["--ephemeral"]), TempFolder::new());
    let parent = TempFolder::new();
    let server = ReloadingServer::start(&database, &without_folder(&folder), &[]);
    eventually("it is logged", || server.has_logged("is not watched until it exists"));
    std::fs::create_dir(&folder.0).expect("a folder");
    folder.write("a.env", "GOTRUE_DISABLE_SIGNUP=true\n");
    server.wait_for_disable_signup(true).await;

    parent.write("a.env", "GOTRUE_DISABLE_SIGNUP=false\n");
    std::fs::rename(&folder.0, parent.path("old")).expect("moved");
    std::fs::create_dir(&folder.0).expect("a folder");
    std::fs::copy(parent.path("a.env"), folder.path("a.env")).expect("copied");
    server.wait_for_disable_signup(false).await;
}

/// Removes the folder, so that it does not exist at the start.
fn without_folder(folder: &TempFolder) -> TempFolder {
    std::fs::remove_dir(&folder.0).expect("removed");
    TempFolder(folder.0.clone())
}

#[tokio::test]
async fn signal_reloads_settings_when_enabled() {
    let (database, folder) = (Basalt::serve(&["--ephemeral"]), TempFolder::new());
    let by_signal = [("GOTRUE_RELOADING_NOTIFY_ENABLED", "false"), ("GOTRUE_RELOADING_SIGNAL_ENABLED", "true")];
    let server = ReloadingServer::start(&database, &folder, &by_signal);
    folder.write("a.env", "GOTRUE_DISABLE_SIGNUP=true\n");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!server.disable_signup().await, "no reload without a signal");
    server.signal(Signal::USR1);
    server.wait_for_disable_signup(true).await;
}

#[tokio::test]
async fn polling_requires_notify() {
    let (database, folder) = (Basalt::serve(&["--ephemeral"]), TempFolder::new());
    let no_user = [("GOTRUE_RELOADING_NOTIFY_ENABLED", "false"), ("GOTRUE_RELOADING_POLLERENABLED", "true")];
    let server = ReloadingServer::start(&database, &folder, &no_user);
    assert!(server.has_logged("GOTRUE_RELOADING_POLLERENABLED: has no effect"));
    eventually("it is logged", || server.has_logged("reloading is off"));
}

#[tokio::test]
async fn pool_size_follows_percentage_and_sql_log_omits_values() {
    let (database, folder) = (Basalt::serve(&["--ephemeral"]), TempFolder::new());
    let wanted = [("GOTRUE_DB_CONN_PERCENTAGE", "20"), ("GOTRUE_LOG_SQL", "statement")];
    let server = ReloadingServer::start(&database, &folder, &wanted);
    let line = server.lines().into_iter().find(|line| line.contains("sized the pool")).expect("the size is logged");
    let line: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(line["most"].as_u64(), line["allowed"].as_u64().map(|allowed| allowed / 5), "{line}");

    let url = format!("http://{}/recover", server.address);
    let body = serde_json::json!({ "email": "unknown@example.com" });
    server.client.post(url).json(&body).send().await.expect("an answer");
    eventually("statements are logged", || server.has_logged("\"statement\":\"users."));
    assert!(!server.has_logged("unknown@example.com"), "values are never logged");
}
