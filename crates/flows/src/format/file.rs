//! Replaces the file of a flow.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{Error, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The permissions of a new file: only its owner can read it.
pub(crate) const PRIVATE: u32 = 0o600;

/// Replaces the content of a file, so that it is whole at every moment; its permissions stay.
pub(crate) fn replace_file(path: &Path, text: &str) -> Result<File, Error> {
    let permissions = std::fs::metadata(path).map_or(Permissions::from_mode(PRIVATE), |found| found.permissions());
    let new = path.with_extension("json.new");
    let mut options = OpenOptions::new();
    let mut file = options.read(true).write(true).create(true).truncate(true).mode(PRIVATE).open(&new)?;
    // They are set, too, on what an interrupted replacement has left.
    file.set_permissions(permissions)?;
    file.write_all(text.as_bytes())?;
    std::fs::rename(&new, path)?;
    Ok(file)
}
