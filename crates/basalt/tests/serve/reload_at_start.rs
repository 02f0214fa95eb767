//! Settings files that change while a server starts: after they were read and before they are watched.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::support::{Basalt, TempFolder, basalt};

/// The key of the servers in this file.
const KEY: &str = "sb_publishable_frkXhNZyVybKcGFSdcGBTg_7ksClR54";

/// A database whose socket the server cannot find yet.
struct LateDatabase {
    database: Basalt,
    sockets: TempFolder,
}

impl LateDatabase {
    fn start() -> Self {
        Self { database: Basalt::serve(&["--ephemeral"]), sockets: TempFolder::new() }
    }

    /// Returns the URL of the database through the folder of the missing socket.
    fn url(&self) -> String {
        let [user, _] = self.parts();
        format!("{user}@{}:5432/postgres", self.sockets.path("").replace('/', "%2F"))
    }

    /// Lets the server find the socket.
    fn appear(&self) {
        let [_, host] = self.parts();
        let (folder, port) = host.split('/').next().and_then(|host| host.split_once(':')).expect("a host with a port");
        let socket = format!("{}/.s.PGSQL.{port}", folder.replace("%2F", "/"));
        symlink(socket, self.sockets.path(".s.PGSQL.5432")).expect("a link");
    }

    /// Returns what the URL of the database has before and after `@`.
    fn parts(&self) -> [String; 2] {
        let url = self.database.text("database_url");
        let (user, host) = url.split_once('@').expect("a user");
        [user, host].map(str::to_owned)
    }
}

/// A server that waits for its database: it has read its settings and does not watch them yet.
struct WaitingServer {
    child: Child,
    log: BufReader<Box<dyn Read + Send>>,
}

impl WaitingServer {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let stderr: Box<dyn Read + Send> = Box::new(child.stderr.take().expect("piped"));
        let mut server = Self { child, log: BufReader::new(stderr) };
        server.read_until("waiting for the database");
        server
    }

    /// Reads the log up to a line with this text, and returns the line.
    fn read_until(&mut self, text: &str) -> String {
        let mut seen = String::new();
        loop {
            let mut line = String::new();
            assert!(self.log.read_line(&mut line).expect("text") > 0, "ended without {text:?}: {seen}");
            if line.contains(text) {
                return line;
            }
            seen.push_str(&line);
        }
    }
}

impl Drop for WaitingServer {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Returns a configuration with this value of `enable_signup`.
fn write_settings(enable_signup: &str) -> String {
    format!("[auth]\npublishable_key = \"{KEY}\"\nenable_signup = {enable_signup}\n")
}

async fn wait_for_disable_signup(settings: &str) {
    let (started, mut seen) = (Instant::now(), Value::Null);
    while seen["disable_signup"] != true {
        assert!(started.elapsed() < Duration::from_secs(10), "the changed file was not read: {seen}");
        tokio::time::sleep(Duration::from_millis(50)).await;
        if let Ok(response) = reqwest::get(settings).await {
            seen = response.json().await.expect("JSON");
        }
    }
}

#[tokio::test]
async fn serve_reads_a_file_that_changed_during_the_start() {
    let (database, folder, port) = (LateDatabase::start(), TempFolder::new(), super::support::free_port());
    let config = folder.write("config.toml", &write_settings("true"));
    let arguments = ["serve", "--port", &port.to_string(), "--config", &config, "--database-url", &database.url()];
    let server = WaitingServer::start(basalt().args(arguments));
    folder.write("config.toml", &write_settings("false"));
    database.appear();
    wait_for_disable_signup(&format!("http://127.0.0.1:{port}/auth/v1/settings?apikey={KEY}")).await;
    drop(server);
}

#[tokio::test]
async fn serve_reads_a_variable_that_changed_during_the_start() {
    let (database, folder, port) = (LateDatabase::start(), TempFolder::new(), super::support::free_port());
    let config = folder.write("config.toml", &write_settings("\"env(OPEN)\""));
    folder.write(".env.local", "OPEN=true\n");
    let arguments = ["serve", "--port", &port.to_string(), "--config", &config, "--database-url", &database.url()];
    let server = WaitingServer::start(basalt().args(arguments));
    folder.write(".env.local", "OPEN=false\n");
    database.appear();
    wait_for_disable_signup(&format!("http://127.0.0.1:{port}/auth/v1/settings?apikey={KEY}")).await;
    drop(server);
}

#[tokio::test]
async fn gotrue_reads_a_file_that_changed_during_the_start() {
    for polls in ["false", "true"] {
        let (database, folder) = (LateDatabase::start(), TempFolder::new());
        folder.write("a.env", "GOTRUE_DISABLE_SIGNUP=false\n");
        let secret = database.database.text("jwt_secret");
        let variables = [
            ("GOTRUE_DB_DRIVER", "postgres"),
            ("DATABASE_URL", &database.url()),
            ("GOTRUE_SITE_URL", "http://localhost:3000"),
            ("API_EXTERNAL_URL", "http://localhost:9999"),
            ("GOTRUE_JWT_SECRET", &secret),
            ("GOTRUE_API_HOST", "127.0.0.1"),
            ("PORT", "0"),
            ("GOTRUE_RELOADING_GRACE_PERIOD_INTERVAL", "50ms"),
            ("GOTRUE_RELOADING_POLLERENABLED", polls),
        ];
        let mut server =
            WaitingServer::start(basalt().args(["gotrue", "--config-dir", &folder.path("")]).envs(variables));
        folder.write("a.env", "GOTRUE_DISABLE_SIGNUP=true\n");
        database.appear();
        let line: Value = serde_json::from_str(&server.read_until("serving the auth API")).expect("JSON");
        let address = line["address"].as_str().expect("an address");
        wait_for_disable_signup(&format!("http://{address}/settings")).await;
    }
}

#[tokio::test]
async fn serve_reads_the_new_version_of_a_mounted_config_map() {
    let folder = TempFolder::new();
    for (version, open) in [("..1", "true"), ("..2", "false")] {
        std::fs::create_dir(folder.path(version)).expect("a folder");
        folder.write(&format!("{version}/config.toml"), &write_settings(open));
    }
    symlink("..1", folder.path("..data")).expect("a link");
    symlink("..data/config.toml", folder.path("config.toml")).expect("a link");
    let server = Basalt::serve(&["--ephemeral", "--config", &folder.path("config.toml")]);
    assert_eq!(server.auth("/settings", None).await.1["disable_signup"], false);
    symlink("..2", folder.path("..data_tmp")).expect("a link");
    std::fs::rename(folder.path("..data_tmp"), folder.path("..data")).expect("renamed");
    wait_for_disable_signup(&server.url(&format!("/auth/v1/settings?apikey={KEY}"))).await;
}
