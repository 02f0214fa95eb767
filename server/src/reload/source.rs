//! The source of reloadable settings: variables, and the files of a folder.

use std::path::{Path, PathBuf};

use gotrue_rs::config::Vars;

/// The source of reloadable settings.
pub(crate) struct ConfigSource {
    /// The current variables.
    pub vars: Vars,
    /// The folder whose files override them.
    pub folder: PathBuf,
}

/// Returns whether a file of this name contains settings.
pub(super) fn is_settings_file(name: &Path) -> bool {
    name.extension().is_some_and(|extension| extension == "env" || extension == "json")
}
