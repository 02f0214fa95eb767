//! `basalt gotrue --config-dir`: settings read again while it serves.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::support::{Basalt, Scratch, basalt, eventually};

/// A drop-in that watches a folder.
struct Watching {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    address: String,
    client: reqwest::Client,
}

impl Watching {
    fn start(database: &Basalt, folder: &Scratch, variables: &[(&str, &str)]) -> Self {
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
                written.lock().expect("nobody panics").push(line);
            }
        });
        let mut it = Self { child, log, address: String::new(), client: database.client.clone() };
        let address = |line: &String| Some(serde_json::from_str::<Value>(line).ok()?["address"].as_str()?.to_owned());
        eventually("it says where it listens", || it.lines().iter().any(|line| address(line).is_some()));
        it.address = it.lines().iter().find_map(address).expect("found");
        it
    }

    fn lines(&self) -> Vec<String> {
        self.log.lock().expect("nobody panics").clone()
    }

    fn says(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }

    async fn disable_signup(&self) -> bool {
        let answer = self.client.get(format!("http://{}/settings", self.address)).send().await.expect("an answer");
        answer.json::<Value>().await.expect("JSON")["disable_signup"].as_bool().expect("a switch")
    }

    async fn comes_to(&self, disabled: bool) {
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

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_changed_file_holds_from_the_next_request_on_and_a_broken_one_changes_nothing() {
    let (database, folder) = (Basalt::serve(&["--ephemeral"]), Scratch::new());
    folder.write("a.env", "GOTRUE_DISABLE_SIGNUP=false\n");
    let mut server = Watching::start(&database, &folder, &[]);
    assert!(!server.disable_signup().await);

    folder.write("a.env", "GOTRUE_DISABLE_SIGNUP=true\n");
    server.comes_to(true).await;

    folder.write("b.env", "GOTRUE_DISABLE_SIGNUP=false\nGOTRUE_JWT_EXP=soon\n");
    eventually("it says why", || server.says("the settings in force stay") && server.says("GOTRUE_JWT_EXP"));
    assert!(server.disable_signup().await);
    folder.write("b.env", "GOTRUE_DISABLE_SIGNUP=false\nno sense at all\n");
    eventually("it says where", || server.says("line 2 has no"));
    assert!(server.disable_signup().await);

    folder.write("b.json", "{\"GOTRUE_DISABLE_SIGNUP\":\"false\",\"PORT\":\"1\"}");
    server.comes_to(false).await;
    assert!(server.says("GOTRUE_API_HOST or PORT changed; that takes effect at the next start"));

    server.signal(Signal::TERM);
    assert!(server.child.wait().expect("a status").success(), "{:?}", server.lines());
}

#[tokio::test]
async fn a_folder_that_comes_later_or_is_replaced_is_seen() {
    let (database, folder) = (Basalt::serve(&["--ephemeral"]), Scratch::new());
    let parent = Scratch::new();
    let server = Watching::start(&database, &parent_of(&folder), &[]);
    assert!(server.says("is not watched until it is there"));
    std::fs::create_dir(&folder.0).expect("a folder");
    folder.write("a.env", "GOTRUE_DISABLE_SIGNUP=true\n");
    server.comes_to(true).await;

    parent.write("a.env", "GOTRUE_DISABLE_SIGNUP=false\n");
    std::fs::rename(&folder.0, parent.path("old")).expect("moved");
    std::fs::create_dir(&folder.0).expect("a folder");
    std::fs::copy(parent.path("a.env"), folder.path("a.env")).expect("copied");
    server.comes_to(false).await;
}

/// The folder's place, with no folder there.
fn parent_of(folder: &Scratch) -> Scratch {
    std::fs::remove_dir(&folder.0).expect("removed");
    Scratch(folder.0.clone())
}

#[tokio::test]
async fn a_signal_has_the_files_read_where_it_is_wanted() {
    let (database, folder) = (Basalt::serve(&["--ephemeral"]), Scratch::new());
    let by_signal = [("GOTRUE_RELOADING_NOTIFY_ENABLED", "false"), ("GOTRUE_RELOADING_SIGNAL_ENABLED", "true")];
    let server = Watching::start(&database, &folder, &by_signal);
    folder.write("a.env", "GOTRUE_DISABLE_SIGNUP=true\n");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!server.disable_signup().await, "nobody asked");
    server.signal(Signal::USR1);
    server.comes_to(true).await;
}

#[tokio::test]
async fn files_are_looked_at_only_in_the_place_of_being_told() {
    let (database, folder) = (Basalt::serve(&["--ephemeral"]), Scratch::new());
    let nobody = [("GOTRUE_RELOADING_NOTIFY_ENABLED", "false"), ("GOTRUE_RELOADING_POLLERENABLED", "true")];
    let server = Watching::start(&database, &folder, &nobody);
    assert!(server.says("GOTRUE_RELOADING_POLLERENABLED: has no effect"));
    eventually("it says so", || server.says("its files are not read again"));
}

#[tokio::test]
async fn the_pool_is_a_share_of_what_the_database_allows_and_statements_are_logged_where_that_is_wanted() {
    let (database, folder) = (Basalt::serve(&["--ephemeral"]), Scratch::new());
    let wanted = [("GOTRUE_DB_CONN_PERCENTAGE", "20"), ("GOTRUE_LOG_SQL", "statement")];
    let server = Watching::start(&database, &folder, &wanted);
    let line = server.lines().into_iter().find(|line| line.contains("sized the pool")).expect("it says so");
    let line: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(line["most"].as_u64(), line["allowed"].as_u64().map(|allowed| allowed / 5), "{line}");

    let url = format!("http://{}/recover", server.address);
    let body = serde_json::json!({ "email": "nobody@example.com" });
    server.client.post(url).json(&body).send().await.expect("an answer");
    eventually("it names its statements", || server.says("\"statement\":\"users."));
    assert!(!server.says("nobody@example.com"), "values are never logged");
}
