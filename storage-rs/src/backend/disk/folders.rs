//! The folders of a store, and the names of the files in them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_lc_rs::digest::{SHA256, digest};
use uuid::Uuid;

use crate::backend::FileKey;

/// The longest version that is part of a path as it is.
const MAXIMUM_VERSION: usize = 64;

/// The folders of a store and what names its temporary files.
#[derive(Debug)]
pub(super) struct Folders {
    pub(super) objects: PathBuf,
    pub(super) incoming: PathBuf,
    pub(super) uploads: PathBuf,
    /// Differs each time a folder is opened.
    pub(super) opened: Uuid,
    pub(super) temporary: AtomicU64,
}

impl Folders {
    /// The path of a file.
    pub(super) fn path(&self, key: &FileKey) -> PathBuf {
        let name = file_name(key);
        self.objects.join(&name[..2]).join(name)
    }

    /// A path for a temporary file, which no other process uses, on another machine with the same folder either.
    pub(super) fn temporary_path(&self) -> PathBuf {
        let number = self.temporary.fetch_add(1, Ordering::Relaxed);
        self.incoming.join(format!("{}-{number}", self.opened))
    }
}

/// The name of a file: the digest of bucket and name, and the version.
pub(super) fn file_name(key: &FileKey) -> String {
    let mut text = Vec::with_capacity(key.bucket.len() + key.name.len() + 1);
    text.extend_from_slice(key.bucket.as_bytes());
    text.push(0);
    text.extend_from_slice(key.name.as_bytes());
    let object = hex::encode(&digest(&SHA256, &text).as_ref()[..20]);
    match key.version.as_deref() {
        None => object,
        Some(version) if is_plain(version) => format!("{object}.{version}"),
        // Versions of other servers can be any text.
        Some(version) => format!("{object}.v{}", hex::encode(digest(&SHA256, version.as_bytes()).as_ref())),
    }
}

/// Whether a version can be part of a path.
fn is_plain(version: &str) -> bool {
    !version.is_empty()
        && version.len() <= MAXIMUM_VERSION
        && !version.starts_with('v')
        && version.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}
