//! The system folder of Basalt, and the names of the folders below it.

use std::path::Path;

/// The folder that root uses for files that PostgreSQL's account cannot reach elsewhere.
pub(super) const SYSTEM_FOLDER: &str = "/var/lib/basalt";

/// Returns a short, stable name for a path (FNV-1a).
pub(super) fn fingerprint(path: &Path) -> String {
    let hash = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
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
