//! Writing names and files so that a power cut does not undo it.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Renames a file or folder, and waits until its name is on the disk.
///
/// Its content has to be there before.
pub fn rename_on_disk(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_parent(to)?;
    if from.parent() == to.parent() { Ok(()) } else { sync_parent(from) }
}

/// Waits until the names in a folder are on the disk.
///
/// As with PostgreSQL, it is no failure if the folder may not be read, or its file system cannot flush folders.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = match File::open(folder) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(()),
        opened => opened?,
    };
    match folder.sync_all() {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        // A relative path without a folder.
        Some(parent) if parent.as_os_str().is_empty() => sync_folder(Path::new(".")),
        Some(parent) => sync_folder(parent),
        None => Ok(()),
    }
}

/// Flushes the file system of `folder` once, which is faster than each file.
#[cfg(target_os = "linux")]
pub fn sync_file_system(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

/// Flushes all file systems.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as on Linux")]
pub fn sync_file_system(_folder: &Path) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}
