//! Files on a local disk.
//!
//! Names of objects never become paths: a file is named by the digest of bucket and name, and by its version. Content is
//! written to a file in `incoming`, synchronised, and renamed into `objects`; the folder is synchronised too, so that a file
//! which a row names survives a crash.

mod file_system;
mod folders;
mod read;
mod staging;
mod walk;
mod write;

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use uuid::Uuid;

use self::file_system::{block, create_folder, facts, remove, synchronise};
use self::folders::{Folders, file_name};
use super::{Backend, BackendError, Content, ContentHeaders, FileFacts, FileKey, ListedFile, Space, Staging};

/// Files in a folder.
#[derive(Debug, Clone)]
pub struct DiskBackend {
    folders: Arc<Folders>,
}

impl DiskBackend {
    /// Opens the store in this folder, which is created if it is not there.
    ///
    /// # Errors
    /// A folder cannot be created.
    pub fn open(root: &Path) -> io::Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "names of temporary files only have to differ")]
        let opened = Uuid::new_v4();
        let folders = Folders {
            opened,
            objects: root.join("objects"),
            incoming: root.join("incoming"),
            uploads: root.join("uploads"),
            temporary: AtomicU64::new(0),
        };
        for folder in [&folders.objects, &folders.incoming, &folders.uploads] {
            fs::create_dir_all(folder)?;
        }
        for number in 0..=u8::MAX {
            let folder = folders.objects.join(format!("{number:02x}"));
            if !folder.exists() {
                create_folder(&folder)?;
            }
        }
        synchronise(&folders.objects)?;
        synchronise(root)?;
        Ok(Self { folders: Arc::new(folders) })
    }
}

impl Backend for DiskBackend {
    fn put<'a>(
        &'a self,
        key: &'a FileKey,
        _headers: &'a ContentHeaders,
        content: Content,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        write::put(Arc::clone(&self.folders), self.folders.path(key), content).boxed()
    }

    fn get<'a>(
        &'a self,
        key: &'a FileKey,
        range: Option<Range<u64>>,
    ) -> BoxFuture<'a, Result<(FileFacts, Content), BackendError>> {
        read::get(self.folders.path(key), range).boxed()
    }

    fn head<'a>(&'a self, key: &'a FileKey) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        let path = self.folders.path(key);
        block("reading the state of a file", move || facts(&fs::metadata(path)?)).boxed()
    }

    fn copy<'a>(
        &'a self,
        source: &'a FileKey,
        target: &'a FileKey,
        _headers: &'a ContentHeaders,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        let (source, target) = (self.folders.path(source), self.folders.path(target));
        let folders = Arc::clone(&self.folders);
        block("copying a file", move || write::copy(&folders, &source, &target)).boxed()
    }

    fn delete<'a>(&'a self, keys: &'a [FileKey]) -> BoxFuture<'a, Result<(), BackendError>> {
        let paths: Vec<_> = keys.iter().map(|key| self.folders.path(key)).collect();
        block("deleting files", move || paths.iter().try_for_each(|path| remove(path))).boxed()
    }

    fn identify(&self, key: &FileKey) -> String {
        file_name(key)
    }

    fn list(&self) -> BoxStream<'_, Result<ListedFile, BackendError>> {
        walk::list(Arc::clone(&self.folders)).boxed()
    }

    fn delete_listed<'a>(&'a self, file: &'a ListedFile) -> BoxFuture<'a, Result<(), BackendError>> {
        let (folders, file) = (Arc::clone(&self.folders), file.clone());
        block("deleting a file without a row", move || walk::delete(&folders, &file)).boxed()
    }

    fn space(&self) -> BoxFuture<'_, Result<Option<Space>, BackendError>> {
        let folder = self.folders.objects.clone();
        block("reading the free space", move || {
            let found = rustix::fs::statvfs(&folder)?;
            let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
            Ok(Some(Space { total: bytes(found.f_blocks), available: bytes(found.f_bavail) }))
        })
        .boxed()
    }

    fn staging(&self) -> &dyn Staging {
        self
    }

    fn delete_leftovers(&self, older_than: DateTime<Utc>) -> BoxFuture<'_, Result<u64, BackendError>> {
        let folders = Arc::clone(&self.folders);
        block("deleting interrupted writes", move || walk::delete_leftovers(&folders.incoming, older_than)).boxed()
    }
}

#[cfg(test)]
mod tests;
