//! Copies of PostgreSQL's programs that root makes because PostgreSQL's account cannot reach them.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::SystemTime;

use platform::testing::find_postgres;
use rustix::process::Signal;

use super::support::{Basalt, TempFolder, run_with};

/// The folder of the copies.
const SYSTEM_FOLDER: &str = "/var/lib/basalt";
/// The files of a package, so that copying takes some time.
const FILES: usize = 2_000;

/// A package of programs below a folder that only root may enter; its copies are removed at the end.
struct ClosedPackage {
    folder: TempFolder,
    marker: String,
}

impl ClosedPackage {
    /// Creates a package; `None` for other accounts, which run PostgreSQL as themselves.
    fn create() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let (folder, real) = (TempFolder::new(), find_postgres().expect("PostgreSQL is installed"));
        fs::set_permissions(&folder.0, Permissions::from_mode(0o700)).expect("closed");
        let marker = format!("marker-{}", folder.0.file_name().expect("a name").to_string_lossy());
        for name in ["package/bin", "package/lib", "package/share"] {
            fs::create_dir_all(folder.0.join(name)).expect("a folder");
        }
        for program in ["postgres", "initdb"] {
            symlink(real.join(program), folder.0.join("package/bin").join(program)).expect("a link");
        }
        for number in 0..FILES {
            folder.write(&format!("package/share/{number}"), "");
        }
        folder.write(&format!("package/lib/{marker}"), "");
        // Files of other users of the folder, and modes that only root may read.
        folder.write("package/private", "");
        for file in ["share/0", &format!("lib/{marker}")] {
            fs::set_permissions(folder.0.join("package").join(file), Permissions::from_mode(0o600)).expect("closed");
        }
        Some(Self { folder, marker })
    }

    fn serve(&self) -> Basalt {
        Basalt::serve_with(&["--ephemeral"], &[("PG_BIN_DIR", &self.folder.path("package/bin"))])
    }

    /// The copies, incomplete ones too.
    fn copies(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(SYSTEM_FOLDER).expect("the copies").flatten().map(|entry| entry.path());
        entries.filter(|folder| folder.join("lib").join(&self.marker).exists()).collect()
    }

    /// The only copy.
    fn copy(&self) -> PathBuf {
        let [copy] = &self.copies()[..] else { panic!("one copy: {:?}", self.copies()) };
        copy.clone()
    }
}

impl Drop for ClosedPackage {
    fn drop(&mut self) {
        for copy in self.copies() {
            let _ = fs::remove_file(lock_of(&copy));
            let _ = fs::remove_dir_all(copy);
        }
    }
}

/// A folder with the name of a copy of another package, and a process that runs its program.
struct OtherCopy {
    folder: PathBuf,
    process: Option<Child>,
}

impl OtherCopy {
    fn create(number: u32) -> Self {
        let name = format!("postgresql-0.1-{:08x}{number:08x}", std::process::id());
        let folder = Path::new(SYSTEM_FOLDER).join(name);
        fs::create_dir_all(folder.join("bin")).expect("a folder");
        Self { folder, process: None }
    }

    /// Runs a program of this copy.
    fn run(&mut self) {
        let program = self.folder.join("bin/sleep");
        fs::copy("/bin/sleep", &program).expect("a program");
        self.process = Some(Command::new(program).arg("600").spawn().expect("it runs"));
    }

    /// Ends its process.
    fn end(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().and_then(|()| process.wait()).expect("ended");
        }
    }
}

impl Drop for OtherCopy {
    fn drop(&mut self) {
        self.end();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The file that servers lock while they use a copy.
fn lock_of(copy: &Path) -> PathBuf {
    PathBuf::from(format!("{}.lock", copy.display()))
}

/// Sets the last use to a time long ago.
fn age(copy: &Path) {
    File::open(copy).and_then(|folder| folder.set_modified(SystemTime::UNIX_EPOCH)).expect("a time");
}

#[test]
fn servers_that_start_at_once_share_one_copy() {
    let Some(package) = ClosedPackage::create() else { return };
    let servers: Vec<Basalt> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..3).map(|_| scope.spawn(|| package.serve())).collect();
        starting.into_iter().map(|started| started.join().expect("a server")).collect()
    });
    assert_eq!(servers.len(), 3);
    let copy = package.copy();
    assert_eq!(fs::read_dir(copy.join("share")).expect("a folder").count(), FILES);
    assert!(!copy.join("private").exists(), "only the folders of PostgreSQL are copied");
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(&copy.join("share/0")), 0o644, "PostgreSQL's account reads it");
    // Another account could otherwise hold the lock, and starts would wait for it.
    assert_eq!(mode(&lock_of(&copy)), 0o600);
}

#[test]
fn folder_that_is_no_installation_is_not_copied() {
    let Some(package) = ClosedPackage::create() else { return };
    for name in ["lib", "share"] {
        fs::remove_dir_all(package.folder.0.join("package").join(name)).expect("removed");
    }
    let folder = package.folder.path("package/bin");
    let output = run_with(&["serve", "--ephemeral"], &[("PG_BIN_DIR", &folder)]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(errors.contains("beside the folders lib and share of an installation"), "{errors}");
}

#[test]
fn replaced_programs_are_copied_again() {
    let Some(package) = ClosedPackage::create() else { return };
    drop(package.serve());
    let (program, first) = (package.folder.0.join("package/bin/postgres"), package.copy());
    let real = fs::read_link(&program).expect("a link");
    fs::remove_file(&program).expect("removed");
    fs::write(&program, format!("#!/bin/sh\nexec {} \"$@\"\n", real.display())).expect("written");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("executable");
    drop(package.serve());
    let copies = package.copies();
    let [second] = &copies.iter().filter(|copy| **copy != first).collect::<Vec<_>>()[..] else {
        panic!("another copy: {copies:?}")
    };
    assert_eq!(fs::read(second.join("bin/postgres")).expect("a copy"), fs::read(&program).expect("a program"));
}

#[test]
fn start_removes_copies_that_no_server_uses() {
    let (Some(first), Some(second)) = (ClosedPackage::create(), ClosedPackage::create()) else { return };
    let server = first.serve();
    let [unused, recent, mut run] = [1, 2, 3].map(OtherCopy::create);
    run.run();
    for folder in [&first.copy(), &unused.folder, &run.folder] {
        age(folder);
    }
    drop(second.serve());
    assert!(!unused.folder.exists(), "nothing uses it");
    assert!(recent.folder.exists(), "a server of an earlier release may be starting with it");
    assert!(run.folder.exists(), "a process runs its program");
    assert!(first.copy().join("bin/postgres").exists(), "a server holds it");
    run.end();
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit());
    age(&first.copy());
    age(&second.copy());
    drop(second.serve());
    assert_eq!(first.copies(), Vec::<PathBuf>::new(), "its server has ended");
    assert!(!run.folder.exists(), "its process has ended");
    assert!(second.copy().join("bin/postgres").exists(), "it is the current one");
}
