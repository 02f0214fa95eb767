//! The source of reloadable settings: variables, and the files of folders.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use gotrue_rs::config::Vars;

/// The source of reloadable settings.
pub(crate) struct ConfigSource {
    /// The current variables.
    pub vars: Vars,
    /// The folder whose files override them.
    pub folder: PathBuf,
    /// Its files before `vars` were read.
    pub files: SettingsFiles,
}

/// Which files of a folder contain settings.
#[derive(Debug, Clone)]
pub(crate) enum FileFilter {
    /// Those whose names end with `.env` or `.json`.
    Variables,
    /// Those with these names, and the files of variables: `.env`, `.env.local` and others.
    Project(Vec<OsString>),
}

impl FileFilter {
    /// Returns whether a file of this name contains settings.
    pub(super) fn matches(&self, path: &Path) -> bool {
        match self {
            Self::Variables => {
                let name = path.as_os_str().as_bytes();
                name.ends_with(b".env") || name.ends_with(b".json")
            }
            Self::Project(names) => path
                .file_name()
                .is_some_and(|name| names.iter().any(|known| known == name) || name.as_bytes().starts_with(b".env")),
        }
    }
}

/// Attributes whose change indicates a changed file: inode, size, mode and modification time.
type FileAttributes = (u64, u64, u32, i64, i64);

/// The settings files of a folder by name.
pub(super) type FolderFiles = BTreeMap<OsString, FileAttributes>;

/// The settings files of folders at one time.
///
/// Taken before the settings are read, they show a change that came before the files were watched.
#[derive(Debug, Clone)]
pub(crate) struct SettingsFiles {
    pub(super) filter: FileFilter,
    /// The folders with their files; `None` for a folder that could not be read.
    pub(super) folders: Vec<(PathBuf, Option<FolderFiles>)>,
}

impl SettingsFiles {
    /// Takes note of the files that match the filter.
    pub(crate) fn observe(folders: Vec<PathBuf>, filter: FileFilter) -> Self {
        let observe = |folder: PathBuf| {
            let files = scan(&folder, &filter).ok();
            (folder, files)
        };
        let folders = folders.into_iter().map(observe).collect();
        Self { filter, folders }
    }
}

/// Returns the attributes of the settings files of a folder.
pub(super) fn scan(folder: &Path, filter: &FileFilter) -> io::Result<FolderFiles> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !filter.matches(&path) {
            continue;
        }
        // A file removed during the scan counts as missing.
        if let (Some(name), Ok(file)) = (path.file_name(), fs::metadata(&path)) {
            let attributes = (file.ino(), file.size(), file.mode(), file.mtime(), file.mtime_nsec());
            files.insert(name.to_owned(), attributes);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_variables_may_have_only_the_extension_as_name() {
        for name in [".env", ".json", "a.env", "/folder/.env", "a.json"] {
            assert!(FileFilter::Variables.matches(Path::new(name)), "{name}");
        }
        for name in ["env", "a.env.local", "a.txt", ".envrc", "a.json~"] {
            assert!(!FileFilter::Variables.matches(Path::new(name)), "{name}");
        }
    }
}
