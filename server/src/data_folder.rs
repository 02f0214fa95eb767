//! The folder of a running Basalt: made for its owner alone, kept so, and held by one process at a time.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

/// How the names of folders begin that are thrown away.
const THROWN_AWAY: &str = "basalt-once-";
/// A lock that was not held this long is nobody's.
const LEFT_BEHIND: Duration = Duration::from_mins(1);

/// The folder, ours until this is dropped.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    throw_away: bool,
    /// The lock goes with the file.
    _lock: File,
}

impl DataFolder {
    /// Makes the folder where it is missing, and takes it.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        // Under root PostgreSQL has an account of its own that must walk through, and sees no more than that.
        let mode = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
        if !path.is_dir() {
            let doing = || format!("making the folder {}", path.display());
            DirBuilder::new().recursive(true).mode(mode).create(path).with_context(doing)?;
            fs::set_permissions(path, Permissions::from_mode(mode)).with_context(doing)?;
        }
        restrict(path, mode)?;
        let path = fs::canonicalize(path).with_context(|| format!("finding the folder {}", path.display()))?;
        Ok(Self { _lock: lock(&path)?, path, throw_away: false })
    }

    /// A folder of that name among the temporary ones, removed when this is dropped. `name` is 12 characters long.
    pub fn throw_away(name: &str) -> anyhow::Result<Self> {
        let place = std::env::temp_dir();
        let mut folder = Self::open(&place.join(format!("{THROWN_AWAY}{name}")))?;
        // Nobody waits for this: there may be much to remove.
        std::thread::spawn(move || sweep(&place));
        folder.throw_away = true;
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Takes rights away that go beyond `mode` and says so; refuses a file or folder whose rights are not ours to change. What
/// is not there needs nothing.
///
/// # Errors
///
/// Somebody else owns it, or the file system keeps no rights.
pub fn restrict(path: &Path, mode: u32) -> anyhow::Result<()> {
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
                "others could open this; if somebody may have, remove keys.json to have new keys made"
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

/// Removes what servers left behind that were killed. Theirs are the folders of our form whose lock nobody holds, and has
/// not held for a while: one that is being made now is locked in a moment.
fn sweep(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = name.to_str().and_then(|name| name.strip_prefix(THROWN_AWAY)).is_some_and(|rest| rest.len() == 12);
        if !ours || entry.file_type().is_ok_and(|kind| !kind.is_dir()) {
            continue;
        }
        let Ok(lock) = File::options().read(true).write(true).open(entry.path().join("lock")) else { continue };
        let age = lock.metadata().and_then(|meta| meta.modified()).ok().and_then(|made| made.elapsed().ok());
        if age.is_some_and(|age| age > LEFT_BEHIND) && lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        if self.throw_away
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            tracing::warn!(%error, folder = %self.path.display(), "the folder could not be removed");
        }
    }
}

fn lock(folder: &Path) -> anyhow::Result<File> {
    let path = folder.join("lock");
    let doing = || format!("locking {}", path.display());
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    let mut file = options.with_context(doing)?;
    match file.try_lock() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_holder_at_a_time() {
        let path = std::env::temp_dir().join(format!("basalt-folder-{}", std::process::id()));
        let first = DataFolder::open(&path).expect("taken");
        let refused = DataFolder::open(&path).expect_err("held").to_string();
        assert!(refused.contains(&format!("(process {})", std::process::id())), "{refused}");
        drop(first);
        let mut again = DataFolder::open(&path).expect("free again");
        again.throw_away = true;
        drop(again);
        assert!(!path.exists());
    }

    #[test]
    fn rights_beyond_ours_are_taken_away() {
        let path = std::env::temp_dir().join(format!("basalt-rights-{}", std::process::id()));
        let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        fs::create_dir_all(&path).expect("a folder");
        for (found, wanted, left) in [
            (0o777, 0o700, 0o700),
            (0o755, 0o711, 0o711),
            (0o711, 0o711, 0o711),
            (0o500, 0o700, 0o500),
            (0o770, 0o700, 0o700),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(found)).expect("ours");
            restrict(&path, wanted).expect("ours to change");
            assert_eq!(mode(&path), left, "{found:o}");
        }
        assert!(restrict(&path.join("missing"), 0o600).is_ok());
        fs::remove_dir_all(&path).expect("removed");
    }

    #[test]
    fn only_folders_that_a_killed_server_left_are_swept() {
        let place = std::env::temp_dir().join(format!("basalt-sweep-{}", std::process::id()));
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        let make = |name: &str| {
            let folder = place.join(name);
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
        File::create(place.join("basalt-once-aplainfileee")).expect("a file");
        make("basalt-once-newnewnewnew").set_modified(file_time_now(&place)).expect("a new lock");
        sweep(&place);
        let mut names: Vec<String> = fs::read_dir(&place)
            .expect("readable")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let kept = [
            "basalt-once-aplainfileee",
            "basalt-once-heldheldheld",
            "basalt-once-newnewnewnew",
            "basalt-once-short",
            "something-else",
        ];
        assert_eq!(names, kept);
        fs::remove_dir_all(&place).expect("removed");
    }

    /// The time as the file system has it.
    fn file_time_now(place: &Path) -> std::time::SystemTime {
        let file = place.join("now");
        File::create(&file).expect("a file");
        let now = fs::metadata(&file).and_then(|meta| meta.modified()).expect("a time");
        fs::remove_file(&file).expect("removed");
        now
    }
}
