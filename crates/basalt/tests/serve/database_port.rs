//! The TCP port of the database of test servers and during development.

use std::fs::{self, Permissions};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use platform::testing::find_postgres;
use rustix::process::Signal;
use sqlx::{Connection, PgConnection};

use super::support::{Basalt, TempFolder, eventually, free_port, run, run_with};

/// Creates a folder for `PG_BIN_DIR` in which `postgres` is a script.
///
/// The script runs `on_port` when it is started to listen on a TCP port; `$port` is the port, `$real` the real program,
/// and `$folder` this folder, to which every account may write. Other calls run the real program.
fn wrap_postgres(scratch: &TempFolder, on_port: &str) -> String {
    let real = find_postgres().expect("PostgreSQL is installed");
    let folder = scratch.0.join("bin");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, Permissions::from_mode(0o777)).expect("it is ours");
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).expect("a file");
        fs::set_permissions(folder.join(name), Permissions::from_mode(0o755)).expect("it is ours");
    };
    write("initdb", &format!("#!/bin/sh\nexec {}/initdb \"$@\"\n", real.display()));
    let script = format!(
        "#!/bin/sh\nreal={}/postgres\nfolder={}\ncase \"$*\" in\n*listen_addresses=127.0.0.1*)\n\
         port=$(echo \"$*\" | sed 's/.* -p \\([0-9]*\\) .*/\\1/')\necho \"$port\" >>\"$folder/ports\"\n{on_port};;\nesac\n\
         exec \"$real\" \"$@\"\n",
        real.display(),
        folder.display(),
    );
    write("postgres", &script);
    folder.display().to_string()
}

/// The ports with which PostgreSQL was started.
fn ports(folder: &str) -> Vec<u16> {
    let text = fs::read_to_string(PathBuf::from(folder).join("ports")).unwrap_or_default();
    text.lines().map(|line| line.parse().expect("a port")).collect()
}

#[test]
fn port_that_is_taken_meanwhile_is_replaced_by_another() {
    let scratch = TempFolder::new();
    let wait = "if [ \"$(wc -l <\"$folder/ports\")\" -eq 1 ]; then\n\
                while [ ! -e \"$folder/taken\" ]; do sleep 0.02; done\nfi\n";
    let folder = wrap_postgres(&scratch, wait);
    let taking = std::thread::spawn({
        let folder = folder.clone();
        move || {
            eventually("PostgreSQL is started", || !ports(&folder).is_empty());
            let listener = TcpListener::bind(("127.0.0.1", ports(&folder)[0])).expect("the port is still free");
            fs::write(PathBuf::from(&folder).join("taken"), "").expect("a file");
            listener
        }
    });
    let server = Basalt::serve_with(&["--test"], &[("PG_BIN_DIR", &folder)]);
    let _listener = taking.join().expect("the port was bound");
    let started = ports(&folder);
    assert_eq!(started.len(), 2, "{started:?}");
    assert_ne!(started[0], started[1]);
    let url = server.text("database_url_tcp");
    assert!(url.contains(&format!("@127.0.0.1:{}/", started[1])), "{url} {started:?}");
}

#[test]
fn configured_port_that_is_taken_is_named_with_its_setting() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = listener.local_addr().expect("an address").port().to_string();
    let output = run(&["serve", "--test", "--json", "--db-port", &port]);
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{log}");
    assert!(
        log.contains(&format!("another program has port {port} on 127.0.0.1")) && log.contains("--db-port"),
        "{log}"
    );
    assert!(!log.contains("TCP/IP sockets"), "{log}");
}

#[test]
fn start_that_fails_for_another_reason_is_not_repeated_with_other_ports() {
    let scratch = TempFolder::new();
    let folder = wrap_postgres(&scratch, "echo 'FATAL:  out of shared memory'; exit 1\n");
    let output = run_with(&["serve", "--test", "--json"], &[("PG_BIN_DIR", &folder)]);
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && log.contains("out of shared memory"), "{log}");
    let started = ports(&folder).len();
    // A copy of a prepared cluster that does not start is replaced once by a new cluster.
    assert!((1..=2).contains(&started), "{started} starts: {log}");
}

/// Runs SQL with psql.
fn psql(url: &str, sql: &str) -> Output {
    let psql = find_postgres().expect("PostgreSQL is installed").join("psql");
    let arguments = ["--no-psqlrc", "--tuples-only", "--no-align", "--command", sql, url];
    Command::new(psql).args(arguments).env_remove("PGPASSWORD").output().expect("psql starts")
}

/// Runs SQL with psql, which must succeed; returns its output.
fn query(url: &str, sql: &str) -> String {
    let output = psql(url, sql);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn development_database_is_reachable_with_the_url_that_status_prints() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "");
    let server = Basalt::serve(&["--config", &config]);
    let status = run(&["status", "--config", &config, "--output", "json"]);
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).expect("JSON");
    let url = status["DB_URL"].as_str().expect("a URL").to_owned();
    assert!(url.starts_with("postgresql://postgres:postgres@127.0.0.1:") && url.ends_with("/postgres"), "{url}");
    assert_eq!(server.text("database_url_tcp"), url);
    let text = String::from_utf8_lossy(&run(&["status", "--config", &config]).stdout).into_owned();
    assert!(text.contains(&url), "{text}");
    query(&url, "create table public.notes (id int); create extension if not exists pgcrypto");
    assert_eq!(
        query(&url, "select current_user, tableowner from pg_tables where tablename = 'notes'"),
        "postgres|postgres"
    );
    for (what, refused) in [
        ("another password", url.replacen(":postgres@", ":guess@", 1)),
        ("another role", url.replacen("//postgres:", "//supabase_auth_admin:", 1)),
    ] {
        let output = psql(&refused, "select 1");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains("password authentication failed"), "{what}: {text}");
    }
}

#[tokio::test]
async fn development_database_has_the_configured_port_unless_it_is_taken() {
    let scratch = TempFolder::new();
    let port = free_port();
    let config = scratch.write("config.toml", &format!("[db]\nport = {port}\n"));
    let listening = free_port().to_string();
    let arguments = ["--config", config.as_str(), "--port", &listening];
    let taken = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    let server = Basalt::serve(&arguments);
    assert_eq!(server.announcement.get("database_url_tcp"), None);
    eventually("the warning is logged", || server.log().contains("the database has no port"));
    let mut connection = PgConnection::connect(&server.text("database_url")).await.expect("the socket is there");
    // A project's own password must not keep the server from its database.
    sqlx::raw_sql("alter role postgres password 'of the project'").execute(&mut connection).await.expect("it may");
    connection.close().await.expect("closed");
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit());
    drop(taken);
    let server = Basalt::serve(&arguments);
    let url = format!("postgresql://postgres:postgres@127.0.0.1:{port}/postgres");
    assert_eq!(server.text("database_url_tcp"), url);
    assert_eq!(query(&url, "select 1"), "1");
}

#[test]
fn external_database_has_no_port() {
    let database = Basalt::serve(&["--test"]);
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "");
    let server = Basalt::serve(&["--config", &config, "--database-url", &database.text("database_url_tcp")]);
    assert_eq!(server.announcement.get("database_url_tcp"), None);
}

#[test]
fn database_of_a_public_server_has_no_port() {
    let scratch = TempFolder::new();
    let port = free_port();
    let listening = free_port().to_string();
    let serve = |settings: &str| {
        let config = scratch.write("config.toml", &format!("{settings}[db]\nport = {port}\n"));
        Basalt::serve(&["--config", &config, "--port", &listening])
    };
    let development = serve("");
    let before = query(&development.text("database_url_tcp"), PASSWORD_VERIFIER);
    development.signal(Signal::TERM);
    assert!(development.wait_for_exit());
    for settings in ["[api]\nexternal_url = \"https://api.example.com\"\n", "[basalt]\ndevelopment_pages = false\n"] {
        let server = serve(settings);
        assert_eq!(server.announcement.get("database_url_tcp"), None, "{settings}");
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "{settings}");
        let socket = server.text("database_url").replace("%2F", "/");
        let (start, folder) = socket.split_once('@').expect("a host");
        let (folder, number) = folder.rsplit_once(':').expect("a port");
        let number = number.trim_end_matches("/postgres");
        let url = format!("{start}@/postgres?host={folder}&port={number}");
        assert_ne!(query(&url, PASSWORD_VERIFIER), before, "the published password ends: {settings}");
        server.signal(Signal::TERM);
        assert!(server.wait_for_exit());
    }
}

/// Returns what PostgreSQL has stored of the superuser's password.
const PASSWORD_VERIFIER: &str = "select rolpassword from pg_authid where rolname = 'postgres'";
