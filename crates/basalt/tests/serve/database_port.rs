//! The TCP port of a test server's database: another one is tried only if the port is taken.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use platform::testing::find_postgres;

use super::support::{Basalt, TempFolder, eventually, run_with};

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
