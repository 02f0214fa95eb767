//! The system folder of Basalt, the names of the folders below it, and their creation.

use std::fs::{self, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use crate::start_error::StartError;

/// The folder that root uses for files that PostgreSQL's account cannot reach elsewhere.
pub(crate) const SYSTEM_FOLDER: &str = "/var/lib/basalt";

/// The number of characters of a fingerprint.
pub(crate) const FINGERPRINT_LENGTH: usize = 16;

/// Returns a short, stable name for a path (FNV-1a).
pub(crate) fn fingerprint(path: &Path) -> String {
    let hash = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

/// Creates a folder with this mode if it is missing.
pub(crate) fn create_folder(path: &Path, mode: u32) -> Result<(), StartError> {
    if path.is_dir() {
        return Ok(());
    }
    let doing = || format!("making the folder {}", path.display());
    fs::DirBuilder::new().recursive(true).mode(mode).create(path).map_err(StartError::io(doing()))?;
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(StartError::io(doing()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprint_is_stable() {
        assert_eq!(fingerprint(Path::new("")), "cbf29ce484222325");
        assert_eq!(fingerprint(Path::new("a")), "af63dc4c8601ec8c");
    }
}
