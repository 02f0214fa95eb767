//! Variables by name. The only place of the crate that reads the environment and the files beside it.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::dotenv;
use super::problem::Notice;

/// Variables by name. `Debug` shows the names alone, because values hold secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Vars {
    values: BTreeMap<String, String>,
    notices: Vec<Notice>,
}

/// A file of variables that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {wrong}. Give a file of NAME=value lines, or a .json file with an object of texts", path.display())]
pub struct Unreadable {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub wrong: String,
}

impl Vars {
    /// The given variables alone.
    pub fn from_map(values: BTreeMap<String, String>) -> Self {
        Self { values, notices: Vec::new() }
    }

    /// The process's environment, then `file` (else `.env` of the working folder, whose values give way to the
    /// environment's), then the files of `folder`. What comes later wins. A bad `folder` is only noticed.
    pub fn from_process(file: Option<&Path>, folder: Option<&Path>) -> Result<Self, Unreadable> {
        let environment =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self::from_map(environment.collect()).with_files(file, folder)
    }

    /// These variables overlaid with those of the files, as [`Vars::from_process`] does.
    pub fn with_files(mut self, file: Option<&Path>, folder: Option<&Path>) -> Result<Self, Unreadable> {
        match file {
            Some(path) => self.values.extend(read(path)?),
            None => self = self.or_file(Path::new(".env"))?,
        }
        if let Some(folder) = folder
            && let Err(unreadable) = self.overlay_folder(folder)
        {
            self.notices.push(Notice::warning("--config-dir", format!("is left out of account: {unreadable}")));
        }
        Ok(self)
    }

    /// These variables overlaid with those of the folder as it is now. A variable that has gone from the folder keeps its
    /// value, as it does in the reference.
    pub fn again(&self, folder: &Path) -> Result<Self, Unreadable> {
        let mut again = Self::from_map(self.values.clone());
        again.overlay_folder(folder)?;
        Ok(again)
    }

    /// These variables, and those of the file that are not among them. A file that is not there is fine.
    pub fn or_file(mut self, path: &Path) -> Result<Self, Unreadable> {
        if matches!(fs::symlink_metadata(path), Err(error) if error.kind() == ErrorKind::NotFound) {
            return Ok(self);
        }
        for (name, value) in read(path)? {
            self.values.entry(name).or_insert(value);
        }
        Ok(self)
    }

    /// The value of the variable, if it is set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// All names that are set.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// What was noticed while reading.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn overlay_folder(&mut self, folder: &Path) -> Result<(), Unreadable> {
        let mut found = BTreeMap::new();
        for path in variable_files(folder)? {
            found.extend(read(&path)?);
        }
        self.values.extend(found);
        Ok(())
    }
}

impl std::fmt::Debug for Vars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

/// The `.env` and `.json` files of a folder by name; `x.json` takes the place of `x.env`.
fn variable_files(folder: &Path) -> Result<Vec<PathBuf>, Unreadable> {
    let wrong = |error: std::io::Error| Unreadable { path: folder.to_owned(), wrong: error.to_string() };
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

fn read(path: &Path) -> Result<BTreeMap<String, String>, Unreadable> {
    let unreadable = |wrong: String| Unreadable { path: path.to_owned(), wrong };
    let text = fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    let parsed = if has_suffix(path, ".json") { dotenv::parse_json(&text) } else { dotenv::parse_lines(&text) };
    parsed.map_err(unreadable)
}
