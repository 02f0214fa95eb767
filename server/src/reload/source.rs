//! The source of reloadable settings: variables, and the files of a folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gotrue_rs::config::Vars;

/// The source of reloadable settings.
pub(crate) struct ConfigSource {
    /// The current variables.
    pub vars: Vars,
    /// The folder whose files override them.
    pub folder: PathBuf,
}

/// Which files of a folder contain settings.
#[derive(Debug, Clone)]
pub(crate) enum FileFilter {
    /// Those with the extensions `env` and `json`.
    Variables,
    /// Those with these names.
    Named(Vec<OsString>),
}

impl FileFilter {
    /// Returns whether a file of this name contains settings.
    pub(super) fn matches(&self, path: &Path) -> bool {
        match self {
            Self::Variables => path.extension().is_some_and(|extension| extension == "env" || extension == "json"),
            Self::Named(names) => path.file_name().is_some_and(|name| names.iter().any(|known| known == name)),
        }
    }
}
