//! Finds `initdb` and `postgres`.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::options::RecordingsOptions;
use crate::FlowError;

/// The oldest version.
const OLDEST: u32 = 15;
/// The folders of Debian, Red Hat and Homebrew, by version.
const SYSTEM_FOLDERS: [(&str, &str); 3] =
    [("/usr/lib/postgresql", "bin"), ("/usr", "bin"), ("/opt/homebrew/opt", "bin")];

/// Returns the folder of `initdb` and `postgres`.
///
/// It is the given one, the newest of the system, one of the search path, or that of the npm package.
pub(super) fn find_programs(options: &RecordingsOptions) -> Result<PathBuf, FlowError> {
    if let Some(folder) = &options.programs {
        return Some(folder.clone()).filter(|folder| has_programs(folder)).ok_or_else(|| {
            FlowError::new(
                format!("{} has no initdb and postgres", folder.display()),
                "set PG_BIN_DIR to the folder that has them",
            )
        });
    }
    let found = newest_of_system().or_else(|| of_search_path(&options.search));
    let found = match found {
        Some(folder) => Some(folder),
        None => of_package(&options.packages).map_err(|error| {
            FlowError::new(format!("{}: {error}", options.packages.display()), "install it again by npm ci")
        })?,
    };
    found.ok_or_else(|| {
        FlowError::new(
            format!("PostgreSQL {OLDEST} or later is missing"),
            "install it (Debian: apt install postgresql), or set PG_BIN_DIR",
        )
    })
}

fn has_programs(folder: &Path) -> bool {
    folder.join("initdb").exists() && folder.join("postgres").exists()
}

fn newest_of_system() -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for (folder, inner) in SYSTEM_FOLDERS {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let number: String = name.chars().filter(char::is_ascii_digit).collect();
            found.push((number.parse().unwrap_or(0), entry.path().join(inner)));
        }
    }
    found.retain(|(version, folder)| *version >= OLDEST && has_programs(folder));
    found.sort();
    found.pop().map(|(_, folder)| folder)
}

fn of_search_path(search: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(search)
        .filter_map(|folder| folder.join("postgres").canonicalize().ok()?.parent().map(Path::to_owned))
        .find(|folder| has_programs(folder))
}

/// Returns the folder of the npm package of this system, whose links npm does not create.
fn of_package(packages: &Path) -> io::Result<Option<PathBuf>> {
    for entry in std::fs::read_dir(packages).into_iter().flatten() {
        let package = entry?.path();
        let folder = package.join("native/bin");
        if !has_programs(&folder) {
            continue;
        }
        let links = std::fs::read(package.join("native/pg-symlinks.json")).unwrap_or_default();
        let links: Vec<Value> = serde_json::from_slice(&links).unwrap_or_default();
        for link in &links {
            let place = |member: &str| link[member].as_str().map(|path| package.join(path));
            if let (Some(source), Some(target)) = (place("source"), place("target"))
                && target.symlink_metadata().is_err()
            {
                symlink(source, target)?;
            }
        }
        return folder.canonicalize().map(Some);
    }
    Ok(None)
}
