//! Variables by name. Only this module of the crate reads the environment and files of variables.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::dotenv;
use super::problem::Notice;

/// Variables by name. `Debug` shows only the names, because values contain secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Vars {
    values: BTreeMap<String, String>,
    notices: Vec<Notice>,
}

/// A file of variables that cannot be read or parsed.
#[derive(Debug, thiserror::Error)]
#[error("{}: {wrong}. Give a file of NAME=value lines, or a .json file with an object of texts", path.display())]
pub struct VarsFileError {
    /// The file.
    pub path: PathBuf,
    /// The problem.
    pub wrong: String,
}

impl Vars {
    /// Creates the variables from a map.
    pub fn from_map(values: BTreeMap<String, String>) -> Self {
        Self { values, notices: Vec::new() }
    }

    /// Reads the process's environment, then `file`, then the files of `folder`; later values win.
    ///
    /// Without `file`, `.env` of the working folder is read, whose values yield to the environment's. An invalid file
    /// of `folder` only causes a warning; the files before it apply.
    pub fn from_process(file: Option<&Path>, folder: Option<&Path>) -> Result<Self, VarsFileError> {
        let environment =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self::from_map(environment.collect()).with_files(file, folder)
    }

    /// Overlays these variables with those of the files, like [`Vars::from_process`].
    pub fn with_files(mut self, file: Option<&Path>, folder: Option<&Path>) -> Result<Self, VarsFileError> {
        match file {
            Some(path) => self.values.extend(read_file(path)?),
            None => self = self.with_defaults_from(Path::new(".env"))?,
        }
        if let Some(folder) = folder
            && let Err(unreadable) = self.overlay_folder(folder)
        {
            self.notices.push(Notice::warning("--config-dir", format!("is not read further: {unreadable}")));
        }
        Ok(self)
    }

    /// Overlays these variables with the current ones of the folder.
    ///
    /// Like in the reference, a variable that was removed from the folder keeps its value.
    pub fn reload(&self, folder: &Path) -> Result<Self, VarsFileError> {
        let mut again = Self::from_map(self.values.clone());
        again.overlay_folder(folder)?;
        Ok(again)
    }

    /// Adds the variables of a file that are not set yet. The file may be missing.
    pub fn with_defaults_from(mut self, path: &Path) -> Result<Self, VarsFileError> {
        if matches!(fs::symlink_metadata(path), Err(error) if error.kind() == ErrorKind::NotFound) {
            return Ok(self);
        }
        for (name, value) in read_file(path)? {
            self.values.entry(name).or_insert(value);
        }
        Ok(self)
    }

    /// Returns the value of the variable, if it is set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Returns all names that are set.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Returns the notices of reading.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Overlays these variables with those of the files, up to an invalid one.
    fn overlay_folder(&mut self, folder: &Path) -> Result<(), VarsFileError> {
        for path in variable_files(folder)? {
            self.values.extend(read_file(&path)?);
        }
        Ok(())
    }
}

impl std::fmt::Debug for Vars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

/// Returns the `.env` and `.json` files of a folder by name; `x.json` replaces `x.env`.
fn variable_files(folder: &Path) -> Result<Vec<PathBuf>, VarsFileError> {
    let wrong = |error: std::io::Error| VarsFileError { path: folder.to_owned(), wrong: error.to_string() };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.is_file() && (has_suffix(&path, ".env") || has_suffix(&path, ".json")) {
            files.push(path);
        }
    }
    files.sort();
    let replaced = |path: &Path| {
        path.to_str()
            .and_then(|text| text.strip_suffix(".env"))
            .is_some_and(|stem| Path::new(&format!("{stem}.json")).is_file())
    };
    files.retain(|path| !replaced(path));
    Ok(files)
}

fn has_suffix(path: &Path, suffix: &str) -> bool {
    path.to_str().is_some_and(|text| text.ends_with(suffix))
}

fn read_file(path: &Path) -> Result<BTreeMap<String, String>, VarsFileError> {
    let unreadable = |wrong: String| VarsFileError { path: path.to_owned(), wrong };
    let text = fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    let parsed = if has_suffix(path, ".json") { dotenv::parse_json(&text) } else { dotenv::parse_lines(&text) };
    parsed.map_err(unreadable)
}
