//! A folder of one unit test.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A new folder, which is deleted at the end of its test.
#[derive(Debug)]
pub struct TestFolder(PathBuf);

impl TestFolder {
    /// Creates an empty folder; the name is unique among the tests of the crate.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("basalt-unit-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// Returns the names in it, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Deref for TestFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for TestFolder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}
