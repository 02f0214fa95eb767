//! The ZIP files of the templates, in a folder that is found from the binary.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use uuid::Uuid;

use crate::decision::Product;

/// The index of the folder.
const INDEX: &str = "products.json";
/// Where packages install the folder.
const INSTALLED: &str = "/usr/share/basalt/products";
/// Where `npm run build` writes the folder, from the root of a checkout.
const BUILT: &str = "frontend/products";
/// The folders above a binary that can be the root of a checkout: `target/debug/basalt`, `target/TARGET/release/basalt`.
const BUILD_DEPTH: usize = 4;
/// The largest index, in bytes.
const MAX_INDEX: u64 = 1024 * 1024;

/// A file for buyers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductFile {
    pub path: PathBuf,
    /// The name that browsers save it under.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// The size of the parts of an uploaded file, in bytes; the last one is smaller.
pub const STORED_CHUNK: usize = 256 * 1024;

/// A file that an owner has uploaded at the desk, in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedProduct {
    pub id: Uuid,
    /// The name that browsers save it under.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// What the desk tells about the file of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductSummary {
    /// The name that browsers save it under.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Whether an owner has uploaded it; otherwise it is in the folder.
    pub is_uploaded: bool,
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

    /// Returns the folder that belongs to a program: beside it, in `share` of its prefix, in the checkout that built it, or
    /// where packages install it.
    pub fn find_default(program: &Path) -> Option<PathBuf> {
        let beside = program.parent().map(|folder| folder.join("products"));
        let prefix = program.ancestors().nth(2).map(|prefix| prefix.join("share/basalt/products"));
        let is_checkout = |folder: &&Path| folder.join("Cargo.toml").is_file();
        let checkout = program.ancestors().skip(1).take(BUILD_DEPTH).find(is_checkout).map(|root| root.join(BUILT));
        let candidates = [beside, prefix, checkout, Some(PathBuf::from(INSTALLED))];
        candidates.into_iter().flatten().find(|folder| folder.join(INDEX).is_file())
    }

    /// Returns the file of a template.
    pub fn find(&self, template: u16) -> Option<&ProductFile> {
        self.files.get(&template)
    }

    /// Returns the titles of the products without a file.
    pub fn list_missing(&self, products: &[Product]) -> Vec<String> {
        list_without_file(products, |template| self.find(template).is_some())
    }
}

/// Returns the titles of the products whose template has no file.
pub(crate) fn list_without_file(products: &[Product], has_file: impl Fn(u16) -> bool) -> Vec<String> {
    let missing = products.iter().filter(|product| !has_file(product.template));
    missing.map(|product| format!("{} ({})", product.title, product.template)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the folder that is found for a program, with an index in one folder below the root.
    fn find(program: &str, products: &str) -> Option<PathBuf> {
        let root = std::env::temp_dir().join(format!("basalt-products-{}-{}", std::process::id(), program.len()));
        let folder = root.join(products);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(INDEX), "{}").expect("an index");
        fs::write(root.join("Cargo.toml"), "").expect("a manifest");
        let found = ProductFolder::find_default(&root.join(program));
        fs::remove_dir_all(&root).expect("removing the folder");
        found.map(|found| found.strip_prefix(&root).expect("a folder below the root").to_owned())
    }

    #[test]
    fn products_are_found_from_builds_and_packages() {
        for (program, products) in [
            ("basalt", "products"),
            ("usr/bin/basalt", "usr/share/basalt/products"),
            ("opt/basalt/bin/basalt", "opt/basalt/share/basalt/products"),
            ("target/debug/basalt", "frontend/products"),
            ("target/x86_64-unknown-linux-gnu/release/basalt", "frontend/products"),
        ] {
            assert_eq!(find(program, products), Some(products.into()), "{program}");
        }
    }
}
