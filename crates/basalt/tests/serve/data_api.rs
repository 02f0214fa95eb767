//! `basalt postgrest`, configured by a file and by environment variables.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::{Connection, Executor, PgConnection};

use super::support::{Basalt, TempFolder, basalt, eventually, free_port};

/// A process of `basalt postgrest`, ended with the value.
struct DataApi {
    child: Child,
    url: String,
    admin: String,
}

impl DataApi {
    /// Starts it over the database and waits until it is ready.
    async fn start(database: &Basalt, settings: &str) -> Self {
        Self::start_with(database, settings, Stdio::null()).await
    }

    /// The same with its log in a file.
    async fn start_with(database: &Basalt, settings: &str, log: Stdio) -> Self {
        let (port, admin) = (free_port(), free_port());
        let folder = TempFolder::new();
        let text = format!(
            "db-uri = \"{}\"\nserver-host = \"127.0.0.1\"\nserver-port = {port}\nadmin-server-port = {admin}\n{settings}\n",
            database.text("database_url")
        );
        let file = folder.write("postgrest.conf", &text);
        let mut command = basalt();
        command.args(["postgrest", &file]).env("PGRST_DB_ANON_ROLE", "reader").stderr(log);
        let child = command.spawn().expect("the program starts");
        let api =
            Self { child, url: format!("http://127.0.0.1:{port}"), admin: format!("http://127.0.0.1:{admin}/ready") };
        let started = Instant::now();
        while !matches!(database.client.get(&api.admin).send().await, Ok(answer) if answer.status() == 200) {
            assert!(started.elapsed() < Duration::from_secs(20), "it becomes ready");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        api
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it lives");
    }

    async fn get(&self, database: &Basalt, path: &str) -> (u16, Value) {
        let answer = database.client.get(format!("{}{path}", self.url)).send().await.expect("an answer");
        (answer.status().as_u16(), answer.json().await.expect("JSON"))
    }
}

impl Drop for DataApi {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A database with a role for anonymous requests and a table that it may read.
async fn database() -> (Basalt, PgConnection) {
    let database = Basalt::serve(&["--ephemeral"]);
    let mut connection = PgConnection::connect(&database.text("database_url")).await.expect("a connection");
    connection
        .execute(
            "CREATE ROLE reader; CREATE TABLE public.boats (id int PRIMARY KEY, name text);
             INSERT INTO public.boats VALUES (1, 'Aurora'), (2, 'Brise'); GRANT SELECT ON public.boats TO reader",
        )
        .await
        .expect("the table");
    (database, connection)
}

#[tokio::test]
async fn postgrest_serves_tables_and_ends_on_sigterm() {
    let (database, _connection) = database().await;
    let mut api = DataApi::start(&database, "db-channel-enabled = false").await;
    let read = api.get(&database, "/boats?select=name&id=eq.2").await;
    assert_eq!(read, (200, json!([{"name": "Brise"}])));
    let (status, error) = api.get(&database, "/boots").await;
    assert_eq!((status, error["hint"].as_str()), (404, Some("Perhaps you meant the table 'public.boats'")));
    // `->>` as command-line clients send it, with a second request on the same connection.
    let address = api.url.trim_start_matches("http://");
    let mut raw = std::net::TcpStream::connect(address).expect("a connection");
    let request = format!("GET /boats?select=name->>x&id=eq.1 HTTP/1.1\r\nHost: {address}\r\n\r\n");
    for _ in 0..2 {
        std::io::Write::write_all(&mut raw, request.as_bytes()).expect("it is sent");
        let mut answer = vec![0; 4096];
        let length = std::io::Read::read(&mut raw, &mut answer).expect("an answer");
        let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let large = database.client.post(format!("{}/boats", api.url)).body(vec![b' '; 70 * 1024 * 1024]);
    if let Ok(refused) = large.send().await {
        assert_eq!(refused.status(), 413);
    }
    api.signal(Signal::TERM);
    assert!(api.child.wait().expect("a status").success());
}

#[tokio::test]
async fn sigusr1_reads_the_schema_anew() {
    let (database, mut connection) = database().await;
    let api = DataApi::start(&database, "db-channel-enabled = false").await;
    connection
        .execute("CREATE TABLE public.quays (id int); GRANT SELECT ON public.quays TO reader")
        .await
        .expect("the table");
    assert_eq!(api.get(&database, "/quays").await.0, 404);
    api.signal(Signal::USR1);
    let started = Instant::now();
    while api.get(&database, "/quays").await != (200, json!([])) {
        assert!(started.elapsed() < Duration::from_secs(10), "the schema is read");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn notification_reads_the_schema_anew() {
    let (database, mut connection) = database().await;
    let api = DataApi::start(&database, "").await;
    connection
        .execute("CREATE TABLE public.locks (id int); GRANT SELECT ON public.locks TO reader")
        .await
        .expect("the table");
    let started = Instant::now();
    while api.get(&database, "/locks").await != (200, json!([])) {
        // The listener may not listen yet.
        connection.execute("NOTIFY pgrst, 'reload schema'").await.expect("a notification");
        assert!(started.elapsed() < Duration::from_secs(10), "the schema is read");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn unusable_settings_are_reported() {
    let folder = TempFolder::new();
    let file = folder.write("postgrest.conf", "jwt-secret = \"short\"\n");
    let output = basalt().args(["postgrest", &file]).output().expect("the program starts");
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("The JWT secret must be at least 32 characters long."), "{text}");
    let missing = basalt().args(["postgrest", "/nonexistent.conf"]).output().expect("the program starts");
    assert!(!missing.status.success());
    assert!(String::from_utf8_lossy(&missing.stderr).contains("/nonexistent.conf"));
}

/// The output of `basalt postgrest` with these arguments, which must succeed.
fn print(arguments: &[&str]) -> String {
    let mut command = basalt();
    let output = command.arg("postgrest").args(arguments).env("PGRST_DB_ANON_ROLE", "reader").output();
    let output = output.expect("the program ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[tokio::test]
async fn settings_and_schema_are_printed_and_nothing_is_served() {
    let (database, mut connection) = database().await;
    let settings = "ALTER ROLE CURRENT_USER SET pgrst.db_max_rows = '17'";
    connection.execute(settings).await.expect("the setting");
    let folder = TempFolder::new();
    let text = format!("db-uri = \"{}\"\ndb-schemas = \"public\"\n", database.text("database_url"));
    let file = folder.write("postgrest.conf", &text);
    let dumped = print(&["--dump-config", &file]);
    // The database wins over the environment, which wins over the file.
    for line in ["db-max-rows = 17", "db-anon-role = \"reader\"", "db-schemas = \"public\"", "server-port = 3000"] {
        assert!(dumped.lines().any(|dumped_line| dumped_line == line), "{line}\n{dumped}");
    }
    let schema: Value = serde_json::from_str(&print(&["--dump-schema", &file])).expect("JSON");
    assert!(schema["dbTables"].as_array().expect("tables").contains(&json!("public.boats")), "{schema}");
    connection.execute("ALTER ROLE CURRENT_USER RESET pgrst.db_max_rows").await.expect("the setting");
}

#[test]
fn example_is_a_file_of_the_defaults() {
    let folder = TempFolder::new();
    let example = print(&["--example"]);
    let file = folder.write("example.conf", &example.replace("# db-anon-role = \"\"", "db-anon-role = \"web\""));
    let dumped = basalt()
        .args(["postgrest", "--dump-config", &file])
        .env("PGRST_DB_CONFIG", "false")
        .output()
        .expect("the program ends");
    let dumped = String::from_utf8(dumped.stdout).expect("text");
    assert!(dumped.contains("db-anon-role = \"web\"\n") && dumped.contains("db-pool = 10\n"), "{dumped}");
    let refused = basalt().args(["postgrest", "--example", "--ready"]).output().expect("the program ends");
    assert!(!refused.status.success());
}

#[test]
fn settings_are_printed_with_a_connection_string_that_is_none() {
    for config in ["true", "false"] {
        let mut command = basalt();
        let variables = [("PGRST_DB_URI", "tmp_db"), ("PGRST_DB_CONFIG", config)];
        let output = command.args(["postgrest", "--dump-config"]).envs(variables).output().expect("the program ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("db-uri = \"tmp_db\"\n"));
    }
    let output = basalt().arg("postgrest").env("PGRST_DB_URI", "tmp_db").output().expect("the program ends");
    assert!(!output.status.success());
}

#[tokio::test]
async fn readiness_is_that_of_the_administration_port() {
    let (database, _connection) = database().await;
    let api = DataApi::start(&database, "").await;
    let check = |admin: &str, host: &str| {
        let mut command = basalt();
        command.args(["postgrest", "--ready"]).env("PGRST_SERVER_HOST", host).env("PGRST_ADMIN_SERVER_PORT", admin);
        let output = command.output().expect("the program ends");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.success(), text)
    };
    let port = api.admin.trim_start_matches("http://127.0.0.1:").trim_end_matches("/ready").to_owned();
    assert_eq!(check(&port, "127.0.0.1"), (true, format!("OK: {}\n", api.admin)));
    let closed = free_port().to_string();
    let refused = format!("ERROR: connection refused to http://127.0.0.1:{closed}/ready\n");
    assert_eq!(check(&closed, "127.0.0.1"), (false, refused));
    let refused = format!("ERROR: connection refused to http://[::1]:{closed}/ready\n");
    assert_eq!(check(&closed, "::1"), (false, refused));
    for (admin, host, hint) in [("", "127.0.0.1", "admin-server-port"), (&port, "*4", "update your server-host")] {
        let (succeeded, text) = check(admin, host);
        assert!(!succeeded && text.contains(hint), "{text}");
    }
}

#[tokio::test]
async fn probes_are_500_while_the_api_accepts_no_connections() {
    let (database, _connection) = database().await;
    let folder = TempFolder::new();
    let socket = PathBuf::from(folder.path("api.sock"));
    let api = DataApi::start(&database, &format!("server-unix-socket = \"{}\"", socket.display())).await;
    let probe = async |name: &str| {
        let url = api.admin.replace("/ready", name);
        database.client.get(url).send().await.expect("an answer").status().as_u16()
    };
    assert_eq!((probe("/live").await, probe("/ready").await), (200, 200));
    std::fs::remove_file(&socket).expect("the socket");
    assert_eq!((probe("/live").await, probe("/ready").await), (500, 500));
    assert_eq!(probe("/metrics").await, 200);
}

#[tokio::test]
async fn statements_are_logged_with_the_requests_of_the_level() {
    let (database, _connection) = database().await;
    for (settings, of_success, of_refusal) in [
        ("log-level = \"warn\"\nlog-query = true", false, true),
        ("log-level = \"info\"\nlog-query = true", true, true),
        ("log-level = \"crit\"\nlog-query = true", false, false),
        ("log-level = \"info\"\nlog-query = false", false, false),
    ] {
        let folder = TempFolder::new();
        let log = PathBuf::from(folder.path("log"));
        let file = std::fs::File::create(&log).expect("a file");
        let mut api = DataApi::start_with(&database, settings, file.into()).await;
        assert_eq!(api.get(&database, "/boats?select=name&name=eq.Aurora").await.0, 200);
        assert_eq!(api.get(&database, "/boats?select=id&id=eq.Brise").await.0, 400);
        api.signal(Signal::TERM);
        assert!(api.child.wait().expect("a status").success());
        let log = std::fs::read_to_string(&log).expect("text").replace("\\\"", "\"");
        let has = |part: &str| log.lines().any(|line| line.contains("statement of a request") && line.contains(part));
        assert_eq!(has("\"boats\".\"name\""), of_success, "{settings}: {log}");
        assert_eq!(has("\"boats\".\"id\""), of_refusal, "{settings}: {log}");
        assert!(!log.contains("Aurora") && !log.contains("Brise"), "{settings}: {log}");
    }
}

/// The answer to a request over a Unix domain socket.
fn get_over_socket(path: &Path, target: &str) -> Option<String> {
    let mut stream = UnixStream::connect(path).ok()?;
    write!(stream, "GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    Some(answer)
}

#[tokio::test]
async fn unix_socket_is_served_with_its_mode_in_place_of_the_port() {
    let (database, _connection) = database().await;
    let folder = TempFolder::new();
    let socket = PathBuf::from(folder.path("api.sock"));
    // A socket that an earlier process left behind.
    drop(UnixListener::bind(&socket).expect("a socket"));
    let settings = format!("server-unix-socket = \"{}\"\nserver-unix-socket-mode = \"600\"", socket.display());
    let mut api = DataApi::start(&database, &settings).await;
    let mode = std::fs::metadata(&socket).expect("the socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let answer = get_over_socket(&socket, "/boats?select=name&id=eq.1").expect("a connection");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("[{\"name\":\"Aurora\"}]"), "{answer}");
    assert!(database.client.get(&api.url).send().await.is_err(), "the port is not served");
    api.signal(Signal::TERM);
    assert!(api.child.wait().expect("a status").success());
    assert!(get_over_socket(&socket, "/boats").is_none());
}

#[test]
fn file_in_place_of_the_unix_socket_is_kept() {
    let folder = TempFolder::new();
    let file = folder.write("notes.txt", "kept");
    let output = basalt()
        .args(["postgrest"])
        .env("PGRST_SERVER_UNIX_SOCKET", &file)
        .env("PGRST_DB_URI", "postgresql://nobody@127.0.0.1:1/none")
        .output()
        .expect("the program ends");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("no socket"), "{text}");
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "kept");
}

#[test]
fn process_ends_without_automatic_recovery_when_the_database_is_not_reached() {
    let variables = [
        ("PGRST_DB_URI", "postgresql://nobody@127.0.0.1:1/none"),
        ("PGRST_DB_POOL_AUTOMATIC_RECOVERY", "false"),
        ("PGRST_SERVER_HOST", "127.0.0.1"),
        ("PGRST_SERVER_PORT", "0"),
    ];
    let output = basalt().arg("postgrest").envs(variables).output().expect("the program ends");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("db-pool-automatic-recovery"), "{text}");
    assert!(!text.contains("db-uri is not set"), "{text}");
}

#[tokio::test]
async fn repeated_host_is_accepted() {
    let (database, _connection) = database().await;
    let api = DataApi::start(&database, "").await;
    let mut raw = TcpStream::connect(api.url.trim_start_matches("http://")).expect("a connection");
    write!(raw, "GET /boats?id=eq.2 HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n").expect("it is sent");
    let mut answer = String::new();
    raw.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

#[test]
fn database_that_is_not_reached_is_named() {
    let folder = TempFolder::new();
    let log = folder.path("log");
    let mut command = basalt();
    command
        .arg("postgrest")
        .env("PGHOST", &folder.0)
        .env("PGRST_SERVER_HOST", "127.0.0.1")
        .env("PGRST_SERVER_PORT", "0");
    let child = command.stderr(std::fs::File::create(&log).expect("a file")).spawn().expect("the program starts");
    let _api = DataApi { child, url: String::new(), admin: String::new() };
    let socket = folder.path(".s.PGSQL.5432");
    eventually("setting and socket are named", || {
        let text = std::fs::read_to_string(&log).expect("a text");
        text.contains("db-uri is not set") && text.contains(&socket)
    });
}
