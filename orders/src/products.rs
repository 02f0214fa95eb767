//! The ZIP files of the templates, in a folder beside the binary.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::decision::Product;

/// The index of the folder.
const INDEX: &str = "products.json";
/// Where packages install the folder.
const INSTALLED: &str = "/usr/share/basalt/products";
/// The largest index, in bytes.
const MAX_INDEX: u64 = 1024 * 1024;

/// A file for buyers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductFile {
    /// Its path.
    pub path: PathBuf,
    /// The name that browsers save it under.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// The folder of the files, read once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProductFolder {
    /// Where the files are; empty if there is no folder.
    pub path: PathBuf,
    files: BTreeMap<u16, ProductFile>,
}

impl ProductFolder {
    /// Reads the index of a folder; files that are missing or have another size are left out.
    ///
    /// # Errors
    /// The index cannot be read or is not that of products.
    pub fn read(path: &Path) -> io::Result<Self> {
        let index = path.join(INDEX);
        if fs::metadata(&index)?.len() > MAX_INDEX {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{INDEX} is larger than {MAX_INDEX} bytes"),
            ));
        }
        let index: Value = serde_json::from_slice(&fs::read(&index)?)?;
        let entries = index["products"].as_array().map_or(&[][..], Vec::as_slice);
        let files = entries.iter().filter_map(|entry| read_entry(path, entry)).collect();
        Ok(Self { path: path.to_owned(), files })
    }

    /// Returns the folder beside a program, below its parent folders, or the installed one.
    pub fn find_default(program: &Path) -> Option<PathBuf> {
        let beside = program.parent().map(|folder| folder.join("products"));
        beside.into_iter().chain([PathBuf::from(INSTALLED)]).find(|folder| folder.join(INDEX).is_file())
    }

    /// Returns the file of a template.
    pub fn find(&self, template: u16) -> Option<&ProductFile> {
        self.files.get(&template)
    }

    /// Returns the titles of the products without a file.
    pub fn list_missing(&self, products: &[Product]) -> Vec<String> {
        let missing = products.iter().filter(|product| self.find(product.template).is_none());
        missing.map(|product| format!("{} ({})", product.title, product.template)).collect()
    }
}

/// Reads an entry whose file is there with that size.
fn read_entry(folder: &Path, entry: &Value) -> Option<(u16, ProductFile)> {
    let id = u16::try_from(entry["id"].as_u64()?).ok()?;
    let (name, size) = (entry["file"].as_str()?, entry["size"].as_u64()?);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || name.starts_with('.') || !name.bytes().all(is_plain) {
        return None;
    }
    let path = folder.join(name);
    let is_there = fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() == size);
    is_there.then(|| (id, ProductFile { path, name: name.to_owned(), size }))
}
