//! The folder of a running Basalt: made for its owner alone, and held by one process at a time.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

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
        let path = fs::canonicalize(path).with_context(|| format!("finding the folder {}", path.display()))?;
        Ok(Self { _lock: lock(&path)?, path, throw_away: false })
    }

    /// A folder of that name among the temporary ones, removed when this is dropped.
    pub fn throw_away(name: &str) -> anyhow::Result<Self> {
        let mut folder = Self::open(&std::env::temp_dir().join(name))?;
        folder.throw_away = true;
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
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
}
