//! Source files of the repository, for the structure tests.

use std::fs;
use std::path::{Path, PathBuf};

use platform::store::Statement;

/// The crates of the binary.
pub(crate) const CRATES: [&str; 15] = [
    "gotrue-rs",
    "crates/gotrue-rules",
    "functions-rs",
    "crates/desk",
    "crates/http-edge",
    "crates/gateway",
    "crates/messages",
    "crates/orders",
    "crates/platform",
    "crates/provider-simulator",
    "crates/test-bench",
    "crates/telemetry",
    "crates/flow-proxy",
    "crates/flows",
    "crates/basalt",
];

/// All statements of this crate and of the crate `platform`.
pub(crate) fn list_statements() -> impl Iterator<Item = &'static Statement> {
    gotrue_rs::store::list_statements().chain(platform::store::list_statements())
}

pub(crate) fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the crate lies in the repository")
}

/// The files below `folder` with one of these endings, without built and installed files.
pub(crate) fn list_files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    const NOT_OURS: [&str; 5] = ["target", "node_modules", "dist", ".git", ".basalt"];
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be read").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() && !NOT_OURS.contains(&&*name) {
            found.extend(list_files(&path, endings));
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The path of a file from the root of the repository.
pub(crate) fn relative_path(path: &Path) -> String {
    path.strip_prefix(repository_root()).unwrap_or(path).display().to_string()
}
