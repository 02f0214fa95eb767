//! Trusted roots that replace the system's.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Trusted roots of outgoing requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustedRoots {
    /// Roots as PEM.
    Pem(Vec<u8>),
    /// Files with roots as PEM, read when they are needed.
    ///
    /// A system's roots are larger than all other settings.
    Files {
        /// A file with roots.
        file: Option<PathBuf>,
        /// Colon-separated folders with files of roots.
        folders: Option<String>,
    },
}

impl TrustedRoots {
    /// Returns the roots of a file and of the files in colon-separated folders; `None` if neither is given.
    pub fn of_files(file: Option<&Path>, folders: Option<&str>) -> Option<Self> {
        let (file, folders) = (file.map(Path::to_owned), folders.map(str::to_owned));
        (file.is_some() || folders.is_some()).then_some(Self::Files { file, folders })
    }

    /// Checks that all files can be read.
    ///
    /// # Errors
    /// A file or folder cannot be read.
    pub fn check(&self) -> io::Result<()> {
        for path in self.list_files()? {
            // A folder can be opened, but not read.
            io::copy(&mut File::open(path)?.take(1), &mut io::sink())?;
        }
        Ok(())
    }

    /// Returns all roots as PEM.
    ///
    /// # Errors
    /// A file or folder cannot be read.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        if let Self::Pem(pem) = self {
            return Ok(pem.clone());
        }
        let mut all = Vec::new();
        for path in self.list_files()? {
            all.extend(std::fs::read(path)?);
            all.push(b'\n');
        }
        Ok(all)
    }

    /// Returns the files in the order in which they are read.
    fn list_files(&self) -> io::Result<Vec<PathBuf>> {
        let Self::Files { file, folders } = self else { return Ok(Vec::new()) };
        let mut files = Vec::from_iter(file.clone());
        for folder in folders.as_deref().unwrap_or_default().split(':').filter(|folder| !folder.is_empty()) {
            for entry in std::fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_file() {
                    files.push(path);
                }
            }
        }
        Ok(files)
    }
}
