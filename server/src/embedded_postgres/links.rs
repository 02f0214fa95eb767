//! The npm package of PostgreSQL leaves its library links to an install script, which npm does not run any more without
//! being asked: we make them from the list the package carries.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

/// Makes the links that `native/pg-symlinks.json` names, where they are missing. `bin` is `…/native/bin`.
/// A folder that is no such package is left alone.
pub fn complete(bin: &Path) -> io::Result<()> {
    let Some(native) = bin.parent() else { return Ok(()) };
    let Some(package) = native.parent() else { return Ok(()) };
    let Ok(list) = fs::read(native.join("pg-symlinks.json")) else { return Ok(()) };
    let links: Vec<Link> = serde_json::from_slice(&list).map_err(io::Error::other)?;
    for link in &links {
        let at = inside(package, &link.target)?;
        if at.symlink_metadata().is_ok() {
            continue;
        }
        let to = relative(&at, &inside(package, &link.source)?);
        match symlink(to, &at) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// `source` is the file, `target` the link to make; both relative to the package.
#[derive(serde::Deserialize)]
struct Link {
    source: String,
    target: String,
}

fn inside(package: &Path, relative: &str) -> io::Result<PathBuf> {
    let relative = Path::new(relative);
    let plain = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if plain { Ok(package.join(relative)) } else { Err(io::Error::other("a link of the PostgreSQL package leaves it")) }
}

/// Package links join files of one folder; anything else gets the whole path.
fn relative(at: &Path, to: &Path) -> PathBuf {
    match (at.parent(), to.parent(), to.file_name()) {
        (Some(a), Some(b), Some(name)) if a == b => PathBuf::from(name),
        _ => to.to_owned(),
    }
}
