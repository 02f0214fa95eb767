//! What a start or a command has made survives a power cut.
//!
//! It is on the disk before the start or the command succeeds. A folder is opened to write its names, or all of its file system, to the disk. The tests observe that.

use std::fs::{self, File, Permissions};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use platform::testing::find_postgres;
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;

use super::support::{Basalt, TempFolder, basalt, eventually};

/// The folder itself was opened.
const FLUSHED: &str = "flushed";

/// Records what happens in a folder.
struct Watch(OwnedFd);

impl Watch {
    fn new(folder: &Path) -> Self {
        let events = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).expect("events");
        let kinds = WatchFlags::OPEN | WatchFlags::MOVED_TO | WatchFlags::MODIFY;
        add_watch(&events, folder, kinds).expect("a folder");
        Self(events)
    }

    /// Returns what has happened: [`FLUSHED`], `renamed NAME` or `written NAME`.
    ///
    /// Equal events in a row are one.
    fn events(&self) -> Vec<String> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let (mut reader, mut found) = (Reader::new(&self.0, &mut buffer), Vec::new());
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
            match (name, event.events()) {
                (None, kind) if kind.contains(ReadFlags::OPEN) => found.push(FLUSHED.to_owned()),
                (Some(name), kind) if kind.contains(ReadFlags::MOVED_TO) => found.push(format!("renamed {name}")),
                (Some(name), kind) if kind.contains(ReadFlags::MODIFY) => found.push(format!("written {name}")),
                _ => {}
            }
        }
        found.dedup();
        found
    }
}

/// Checks that the folder is flushed as soon as the file or folder has its name.
///
/// Returns the events before and after.
#[track_caller]
fn split_at_rename<'a>(events: &'a [String], name: &str) -> (&'a [String], &'a [String]) {
    let renamed = format!("renamed {name}");
    let at = events.iter().position(|event| *event == renamed).unwrap_or_else(|| panic!("no {renamed}: {events:?}"));
    let (before, after) = (&events[..at], &events[at + 1..]);
    assert_eq!(after.first().map(String::as_str), Some(FLUSHED), "after {renamed}: {events:?}");
    (before, after)
}

fn stop(server: Basalt) {
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit());
}

#[test]
fn new_database_keys_and_archive_are_flushed() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "[basalt.database]\narchive = \"wal\"\n");
    let arguments = ["--config", &config, "--data", &scratch.path("data")];
    // The second start finds the folders, which can be watched before it.
    stop(Basalt::serve(&arguments));
    let [data, home, archive] = ["data", "data/postgres", "wal"].map(|name| scratch.0.join(name));
    for folder in [&home.join("cluster"), &archive] {
        fs::remove_dir_all(folder).expect("removed");
    }
    fs::remove_file(data.join("keys.json")).expect("removed");
    fs::create_dir(&archive).expect("a folder");
    let [data, home, archive] = [data, home, archive].map(|folder| Watch::new(&folder));
    stop(Basalt::serve(&arguments));

    split_at_rename(&data.events(), "keys.json");
    split_at_rename(&archive.events(), "system");
    let events = home.events();
    let (before, _) = split_at_rename(&events, "cluster");
    assert_eq!(before, ["written password", FLUSHED], "everything is flushed before the database has its name");
}

#[test]
fn backup_and_restored_database_are_flushed() {
    let scratch = TempFolder::new();
    let data = scratch.path("data");
    stop(Basalt::serve(&["--data", &data]));
    let backups = scratch.0.join("backups");
    fs::create_dir(&backups).expect("a folder");
    let watch = Watch::new(&backups);
    let arguments = ["backup", "shop.tar.gz", "--data", &data];
    let output = basalt().args(arguments).current_dir(&backups).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    split_at_rename(&watch.events(), "shop.tar.gz");

    // The command has created its folder when it waits for the content of the backup.
    let (pipe, restored) = (scratch.0.join("pipe"), scratch.0.join("restored"));
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    let mut command = basalt();
    command.arg("restore").arg(&pipe).arg("--data").arg(&restored).stdout(Stdio::null());
    let mut command = command.spawn().expect("the program starts");
    let mut input = File::options().write(true).open(&pipe).expect("it reads");
    let watches = [&restored, &restored.join("postgres")].map(|folder| Watch::new(folder));
    std::io::copy(&mut File::open(backups.join("shop.tar.gz")).expect("a backup"), &mut input).expect("written");
    drop(input);
    assert!(command.wait().expect("a status").success());
    let [data, home] = watches.map(|watch| watch.events());
    assert_eq!(data.last().map(String::as_str), Some(FLUSHED), "{data:?}");
    let (before, after) = split_at_rename(&home, "cluster");
    assert_eq!(before.last().map(String::as_str), Some(FLUSHED), "{home:?}");
    assert_eq!(after.last().map(String::as_str), Some(FLUSHED), "after its server has ended: {home:?}");
    assert!(after.contains(&"written postgres.log".to_owned()), "{home:?}");
}

#[test]
fn ephemeral_database_is_not_flushed() {
    let (scratch, real) = (TempFolder::new(), find_postgres().expect("PostgreSQL is installed"));
    let [bin, temporary] = ["bin", "temporary"].map(|name| scratch.0.join(name));
    for folder in [&bin, &temporary] {
        fs::create_dir(folder).expect("a folder");
    }
    symlink(real.join("initdb"), bin.join("initdb")).expect("a link");
    // The server has created its folder when it asks for the version, and waits until the folder is watched.
    let (watched, program) = (scratch.0.join("watched"), real.join("postgres"));
    let wait =
        format!("n=0; while [ ! -e '{}' ] && [ $n -lt 1000 ]; do n=$((n + 1)); sleep 0.02; done", watched.display());
    scratch.write("bin/postgres", &format!("#!/bin/sh\n{wait}\nexec '{}' \"$@\"\n", program.display()));
    fs::set_permissions(bin.join("postgres"), Permissions::from_mode(0o755)).expect("executable");
    let mut command = basalt();
    command.env("TMPDIR", &temporary).env("PG_BIN_DIR", &bin);
    let events = std::thread::scope(|scope| {
        let starting = scope.spawn(|| Basalt::start(&mut command, &["--ephemeral"]));
        let mut home = PathBuf::new();
        eventually("the server creates its folder", || {
            let folders = fs::read_dir(&temporary).expect("a folder").flatten();
            home = folders.map(|folder| folder.path().join("postgres")).find(|home| home.exists()).unwrap_or_default();
            home.exists()
        });
        let watch = Watch::new(&home);
        File::create(&watched).expect("a file");
        stop(starting.join().expect("a server"));
        watch.events()
    });
    assert!(events.contains(&"renamed cluster".to_owned()), "{events:?}");
    // At the end the folder is opened to remove it.
    let running = events.iter().rposition(|event| event == "written postgres.log").expect("it has run");
    assert!(!events[..running].contains(&FLUSHED.to_owned()), "{events:?}");
}
