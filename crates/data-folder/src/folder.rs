//! The data folder of a server: accessible by its owner alone and locked by one process at a time.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::fs::Access;

/// The folder of Linux whose files are in memory.
const MEMORY_DIRECTORY: &str = "/dev/shm";
/// What must be free there, and of the memory: more than a database with a hundred worlds takes.
const NEEDED_MEMORY_BYTES: u64 = 4 << 30;
/// The file in which a running server describes itself.
pub const RUNNING_FILE: &str = "running.json";
/// Name prefix of ephemeral folders.
const EPHEMERAL_PREFIX: &str = "basalt-once-";
/// A lock file that is unlocked and older than this belongs to no running process.
const STALE_LOCK_AGE: Duration = Duration::from_mins(1);

/// How long another command may hold the lock that only looks whether it is held.
const PROBE_TIME: Duration = Duration::from_millis(200);

/// A data folder, locked until this is dropped.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    is_ephemeral: bool,
    /// Closing the file releases the lock.
    _lock: File,
}

impl DataFolder {
    /// Creates the folder if it is missing, locks it, and removes the entry of a server that no longer runs.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        // Under root, PostgreSQL runs as a separate account that has to traverse the folder, but may not list it.
        let mode = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
        if !path.is_dir() {
            let doing = || format!("making the folder {}", path.display());
            DirBuilder::new().recursive(true).mode(mode).create(path).with_context(doing)?;
            fs::set_permissions(path, Permissions::from_mode(mode)).with_context(doing)?;
        }
        restrict_permissions(path, mode)?;
        let path = fs::canonicalize(path).with_context(|| format!("finding the folder {}", path.display()))?;
        exclude_from_git(&path);
        let lock = lock(&path)?;
        // A server that was killed has left its entry.
        let _ = fs::remove_file(path.join(RUNNING_FILE));
        Ok(Self { _lock: lock, path, is_ephemeral: false })
    }

    /// Creates a folder that is removed on drop: in memory where there is room, else in the temporary directory.
    ///
    /// `name` has 12 characters. `TMPDIR` names another directory.
    pub fn open_ephemeral(name: &str) -> anyhow::Result<Self> {
        let directories = [std::env::temp_dir(), PathBuf::from(MEMORY_DIRECTORY)];
        let is_in_memory = std::env::var_os("TMPDIR").is_none_or(|named| named.is_empty()) && has_room_in_memory();
        let directory = &directories[usize::from(is_in_memory)];
        let mut folder = Self::open(&directory.join(format!("{EPHEMERAL_PREFIX}{name}")))?;
        // Runs in the background: there may be much to remove. A server before this one may have found no room in memory.
        std::thread::spawn(move || {
            for directory in &directories {
                remove_stale_folders(directory);
            }
        });
        folder.is_ephemeral = true;
        Ok(folder)
    }

    /// Returns the folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether the directory in memory can be written to and has room, and the memory, too, whatever the directory may hold.
fn has_room_in_memory() -> bool {
    let Ok(system) = rustix::fs::statvfs(MEMORY_DIRECTORY) else { return false };
    let is_writable = rustix::fs::access(MEMORY_DIRECTORY, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    let memory = fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse_available_memory(&text));
    is_writable && free >= NEEDED_MEMORY_BYTES && memory.is_some_and(|memory| memory >= NEEDED_MEMORY_BYTES)
}

/// Parses the available memory from the text of `/proc/meminfo`, in bytes.
fn parse_available_memory(text: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes.saturating_mul(1024))
}

/// Writes a `.gitignore` that excludes the whole folder, unless there is one.
///
/// A folder that cannot be written is reported by the lock.
fn exclude_from_git(folder: &Path) {
    let options = OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.join(".gitignore"));
    if let Ok(mut file) = options {
        let _ = file.write_all(b"*\n");
    }
}

/// Removes permissions beyond `mode` and logs it; a missing file or folder is accepted.
///
/// # Errors
///
/// Another account owns the path, or the file system keeps no permissions.
pub fn restrict_permissions(path: &Path, mode: u32) -> anyhow::Result<()> {
    let doing = || format!("looking at the permissions of {}", path.display());
    let rights = |path: &Path| fs::metadata(path).map(|meta| meta.permissions().mode() & 0o777);
    let found = match rights(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(doing),
    };
    if found & !mode == 0 {
        return Ok(());
    }
    let repaired = fs::set_permissions(path, Permissions::from_mode(found & mode)).and_then(|()| rights(path));
    match repaired {
        Ok(now) if now & !mode == 0 => {
            tracing::warn!(
                path = %path.display(),
                found = format!("{found:04o}"),
                now = format!("{now:04o}"),
                "permissions were too broad; if keys.json may have been read, remove it to have new keys generated"
            );
            Ok(())
        }
        Ok(_) | Err(_) => bail!(
            "{} is open to others (mode {found:04o}) and that cannot be changed: chmod it to {mode:04o}, or choose another \
             folder with --data DIR",
            path.display()
        ),
    }
}

/// Removes the ephemeral folders of killed servers.
/// These are the folders of the expected form whose lock file is old and unlocked. The age matters because a folder
/// that is being created is locked a moment later.
fn remove_stale_folders(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours =
            name.to_str().and_then(|name| name.strip_prefix(EPHEMERAL_PREFIX)).is_some_and(|rest| rest.len() == 12);
        if !ours || entry.file_type().is_ok_and(|kind| !kind.is_dir()) {
            continue;
        }
        let Ok(lock) = File::options().read(true).write(true).open(entry.path().join("lock")) else { continue };
        let age = lock.metadata().and_then(|meta| meta.modified()).ok().and_then(|made| made.elapsed().ok());
        if age.is_some_and(|age| age > STALE_LOCK_AGE) && lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        if self.is_ephemeral
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            tracing::warn!(%error, folder = %self.path.display(), "removing the data folder failed");
        }
    }
}

/// Returns whether a process holds the lock of a data folder: a server, from the beginning of its start to the end of its
/// stop, or a command that uses the stopped database.
pub fn is_in_use(data: &Path) -> bool {
    let lock = File::open(data.join("lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}

fn lock(folder: &Path) -> anyhow::Result<File> {
    let path = folder.join("lock");
    let doing = || format!("locking {}", path.display());
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    let mut file = options.with_context(doing)?;
    match lock_within(&file, PROBE_TIME) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            bail!(
                "another basalt (process {}) is using the folder {}: stop it, or give this one a folder of its own with \
                 --data DIR",
                holder.trim(),
                folder.display()
            );
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(doing),
    }
    file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).with_context(doing)?;
    Ok(file)
}

/// Locks a file, which `basalt status` and other commands hold for a moment to learn whether a server does.
fn lock_within(file: &File, limit: Duration) -> Result<(), TryLockError> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if started.elapsed() < limit => std::thread::sleep(limit / 10),
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestFolder;

    #[test]
    fn open_locked_folder_fails() {
        let path = std::env::temp_dir().join(format!("basalt-folder-{}", std::process::id()));
        let first = DataFolder::open(&path).expect("lock the folder");
        let refused = DataFolder::open(&path).expect_err("the folder is locked").to_string();
        assert!(refused.contains(&format!("(process {})", std::process::id())), "{refused}");
        drop(first);
        fs::write(path.join(RUNNING_FILE), "{}").expect("the entry of a killed server");
        let mut again = DataFolder::open(&path).expect("lock the folder again");
        assert!(!path.join(RUNNING_FILE).exists());
        again.is_ephemeral = true;
        drop(again);
        assert!(!path.exists());
    }

    #[test]
    fn available_memory_is_read_in_bytes() {
        let text = "MemTotal:       24689764 kB\nMemAvailable:   20971520 kB\nBuffers: 7 kB\n";
        assert_eq!(parse_available_memory(text), Some(20 << 30));
        assert_eq!(parse_available_memory("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn restrict_removes_excess_permissions() {
        let path = TestFolder::new("rights");
        let mode = |path: &Path| fs::metadata(path).expect("the folder's metadata").permissions().mode() & 0o777;
        for (found, wanted, left) in [
            (0o777, 0o700, 0o700),
            (0o755, 0o711, 0o711),
            (0o711, 0o711, 0o711),
            (0o500, 0o700, 0o500),
            (0o770, 0o700, 0o700),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(found)).expect("set the permissions");
            restrict_permissions(&path, wanted).expect("restrict the permissions");
            assert_eq!(mode(&path), left, "{found:o}");
        }
        assert!(restrict_permissions(&path.join("missing"), 0o600).is_ok());
    }

    #[test]
    fn remove_stale_folders_keeps_locked_recent_and_foreign_entries() {
        let directory = TestFolder::new("stale-folders");
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        let make = |name: &str| {
            let folder = directory.join(name);
            fs::create_dir_all(&folder).expect("a folder");
            let lock = File::create(folder.join("lock")).expect("a lock");
            lock.set_modified(long_ago).expect("an old lock");
            lock
        };
        let held = make("basalt-once-heldheldheld");
        held.try_lock().expect("held");
        make("basalt-once-leftleftleft");
        make("basalt-once-short");
        make("something-else");
        File::create(directory.join("basalt-once-aplainfileee")).expect("a file");
        make("basalt-once-newnewnewnew").set_modified(file_time_now(&directory)).expect("a new lock");
        remove_stale_folders(&directory);
        let kept = [
            "basalt-once-aplainfileee",
            "basalt-once-heldheldheld",
            "basalt-once-newnewnewnew",
            "basalt-once-short",
            "something-else",
        ];
        assert_eq!(directory.names(), kept);
    }

    /// Returns the current time of the file system.
    fn file_time_now(directory: &Path) -> std::time::SystemTime {
        let file = directory.join("now");
        File::create(&file).expect("a file");
        let now = fs::metadata(&file).and_then(|meta| meta.modified()).expect("a time");
        fs::remove_file(&file).expect("removed");
        now
    }
}
