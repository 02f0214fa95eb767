//! Creates the library links of the npm package of PostgreSQL.
//! The package leaves them to an install script, which npm does not run by default; the package contains a list of
//! them.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

/// Creates the missing links that `native/pg-symlinks.json` lists.
/// `bin` is `…/native/bin`.
/// Folders without that file are left unchanged.
pub(crate) fn create_missing_links(bin: &Path) -> io::Result<()> {
    let Some(native) = bin.parent() else { return Ok(()) };
    let Some(package) = native.parent() else { return Ok(()) };
    let Ok(list) = fs::read(native.join("pg-symlinks.json")) else { return Ok(()) };
    let links: Vec<Link> = serde_json::from_slice(&list).map_err(io::Error::other)?;
    for link in &links {
        let at = resolve_in_package(package, &link.target)?;
        if at.symlink_metadata().is_ok() {
            continue;
        }
        let to = link_destination(&at, &resolve_in_package(package, &link.source)?);
        match symlink(to, &at) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// A link to create: `source` is the file, `target` the link; both are relative to the package.
#[derive(serde::Deserialize)]
struct Link {
    source: String,
    target: String,
}

fn resolve_in_package(package: &Path, relative: &str) -> io::Result<PathBuf> {
    let relative = Path::new(relative);
    let plain = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if plain { Ok(package.join(relative)) } else { Err(io::Error::other("a link of the PostgreSQL package leaves it")) }
}

/// Returns the file name if both files are in one folder, otherwise the whole path.
fn link_destination(at: &Path, to: &Path) -> PathBuf {
    match (at.parent(), to.parent(), to.file_name()) {
        (Some(a), Some(b), Some(name)) if a == b => PathBuf::from(name),
        _ => to.to_owned(),
    }
}
