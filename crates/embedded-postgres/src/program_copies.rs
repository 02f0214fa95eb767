//! Copies of PostgreSQL's programs below the system folder, for root.
//!
//! PostgreSQL's account cannot run programs below a home folder, so they are copied to where it can. There is one copy
//! for each folder that they come from, and another one if the programs there are replaced. A server holds a lock on a file beside its copy, which other accounts cannot
//! open. A start removes the copies that nothing holds and nothing has used for an hour.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use data_folder::durable::{rename_on_disk, sync_file_system};
use platform::clock::{Clock, SystemClock};

use crate::start_error::StartError;
use crate::system_folder::{FINGERPRINT_LENGTH, SYSTEM_FOLDER, create_folder, fingerprint};

/// How the names of copies begin.
const PREFIX: &str = "postgresql-";
/// How the names of incomplete copies end.
const INCOMPLETE: &str = ".tmp";
/// Locked while a copy is created, taken into use or removed.
const LOCK: &str = "programs.lock";
/// How the names of the files end that servers lock while they use the copy.
const USE_LOCK: &str = ".lock";
/// The folders of an installation of PostgreSQL.
const FOLDERS: [&str; 3] = ["bin", "lib", "share"];
/// A copy that was not used for so long is removed.
///
/// Servers of earlier releases hold no lock while they start.
const UNUSED_LIFETIME: Duration = Duration::from_hours(1);

/// A copy that stays as long as this lives.
#[derive(Debug, Clone)]
pub(crate) struct ProgramCopy {
    folder: PathBuf,
    /// Closing the file releases the lock.
    _lock: Arc<File>,
}

impl ProgramCopy {
    /// Takes the copy of the programs of release `version` in `tree` into use; creates it if there is none.
    ///
    /// Removes other copies that are not used. Waits while another process does the same.
    pub(crate) fn open(tree: &Path, version: &str) -> Result<Self, StartError> {
        let system = Path::new(SYSTEM_FOLDER);
        create_folder(system, 0o755)?;
        let name = format!("{PREFIX}{version}-{}", fingerprint(&identify_programs(tree)));
        let folder = system.join(&name);
        let doing = || format!("copying PostgreSQL from {} to {}", tree.display(), folder.display());
        let take = || -> io::Result<File> {
            let changes = open_lock(&system.join(LOCK))?;
            changes.lock()?;
            if !folder.exists() {
                create(tree, &folder, &system.join(format!("{name}{INCOMPLETE}")))?;
            }
            let used = open_lock(&system.join(format!("{name}{USE_LOCK}")))?;
            used.lock_shared()?;
            File::open(&folder)?.set_modified(SystemClock.now().into())?;
            remove_unused(system, &name);
            Ok(used)
        };
        let lock = take().map_err(StartError::io(doing()))?;
        Ok(Self { folder, _lock: Arc::new(lock) })
    }

    /// Returns the folder of the programs.
    pub(crate) fn programs(&self) -> PathBuf {
        self.folder.join("bin")
    }
}

/// Returns the folder with size and time of the server program.
///
/// They change if another build replaces it.
fn identify_programs(tree: &Path) -> PathBuf {
    let mut identity = tree.as_os_str().to_owned();
    if let Ok(program) = fs::metadata(tree.join("bin").join("postgres")) {
        identity.push(format!("\0{} {}.{:09}", program.len(), program.mtime(), program.mtime_nsec()));
    }
    identity.into()
}

/// Opens a file of this account alone, to lock it.
fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Copies under a temporary name, so that an interrupted copy is not used.
///
/// The copy is on the disk before it has its name. Only the folders of PostgreSQL are copied: the programs may be in a folder with other files.
fn create(tree: &Path, folder: &Path, incomplete: &Path) -> io::Result<()> {
    let has_folder = |name| tree.join(name).is_dir();
    if !tree.join("bin").join("postgres").exists() || !(has_folder("lib") || has_folder("share")) {
        let message = "its programs are not in a folder bin beside the folders lib and share of an installation";
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    if incomplete.exists() {
        fs::remove_dir_all(incomplete)?;
    }
    create_open_folder(incomplete)?;
    for name in FOLDERS {
        if has_folder(name) {
            copy_tree(&tree.join(name), &incomplete.join(name))?;
        }
    }
    sync_file_system(incomplete)?;
    rename_on_disk(incomplete, folder)
}

/// Removes the copies other than `current` that nothing uses; a failure is only logged.
fn remove_unused(system: &Path, current: &str) {
    for entry in fs::read_dir(system).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_other = name.to_str().is_some_and(|name| is_copy(name) && name != current);
        if is_other && is_unused(&entry.path()).unwrap_or(false) {
            let removed = fs::remove_dir_all(entry.path()).and_then(|()| fs::remove_file(use_lock_of(&entry.path())));
            tracing::debug!(folder = %entry.path().display(), ?removed, "unused copy of PostgreSQL's programs removed");
        }
    }
}

/// Whether a name below the system folder is that of a copy.
fn is_copy(name: &str) -> bool {
    let is_fingerprint =
        |text: &str| text.len() == FINGERPRINT_LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.strip_prefix(PREFIX).is_some_and(|rest| {
        rest.ends_with(INCOMPLETE) || rest.rsplit_once('-').is_some_and(|(_, last)| is_fingerprint(last))
    })
}

/// Whether no server holds the copy, no process runs its programs, and its last use is long ago.
fn is_unused(folder: &Path) -> io::Result<bool> {
    let used = fs::metadata(folder)?.modified()?;
    let is_old = used.elapsed().is_ok_and(|age| age > UNUSED_LIFETIME);
    Ok(is_old && open_lock(&use_lock_of(folder))?.try_lock().is_ok() && !is_run(folder))
}

/// Returns the path of the file that servers lock while they use a copy.
fn use_lock_of(folder: &Path) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    path.push(USE_LOCK);
    path.into()
}

/// Whether a process runs a program of this folder.
fn is_run(folder: &Path) -> bool {
    let mut processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.any(|process| fs::read_link(process.path().join("exe")).is_ok_and(|program| program.starts_with(folder)))
}

/// Creates a folder that all accounts may enter.
fn create_open_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}

/// Copies files so that all accounts may read them, and run what the owner may run.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    create_open_folder(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(entry.path())?, &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
            let mode = entry.metadata()?.permissions().mode();
            let mode = if mode & 0o100 == 0 { 0o644 } else { 0o755 };
            fs::set_permissions(&target, fs::Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_copies_are_recognised() {
        for (name, expected) in [
            ("postgresql-17.10-0a78d191a1b7d6dd", true),
            ("postgresql-17.10-0a78d191a1b7d6dd.tmp", true),
            ("postgresql-17.tmp", true),
            ("postgresql-17.10", false),
            ("postgresql-17.10-0a78d191a1b7d6d", false),
            ("0a78d191a1b7d6dd", false),
            ("prepared", false),
            ("programs.lock", false),
            ("postgresql-17.10-0a78d191a1b7d6dd.lock", false),
        ] {
            assert_eq!(is_copy(name), expected, "{name}");
        }
    }
}
