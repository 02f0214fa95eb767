//! Files on a local disk.
//!
//! Names of objects never become paths: a file is named by the digest of bucket and name, and by its version. Content is
//! written to a file in `incoming`, synchronised, and renamed into `objects`; the folder is synchronised too, so that a file
//! which a row names survives a crash.

mod file_system;
mod folders;
mod read;
mod room;
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

use self::file_system::{block, create_folder, facts, synchronise};
use self::folders::{Folders, file_name};
use self::room::{Room, remove_with_room};
use self::write::Store;
use super::{Backend, BackendError, Content, ContentHeaders, FileFacts, FileKey, ListedFile, Space, Staging};

/// Files in a folder.
#[derive(Debug, Clone)]
pub struct DiskBackend {
    folders: Arc<Folders>,
    room: Arc<Room>,
}

impl DiskBackend {
    /// Opens the store in this folder, which is created if it is not there.
    ///
    /// # Errors
    /// A folder cannot be created.
    pub fn open(root: &Path) -> io::Result<Self> {
        Self::open_with_quota(root, None)
    }

    /// As [`DiskBackend::open`]; all files together take no more than the quota, in bytes.
    ///
    /// # Errors
    /// A folder cannot be created.
    pub fn open_with_quota(root: &Path, quota: Option<u64>) -> io::Result<Self> {
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
        let free_room = Arc::new(Room::new(&folders, quota));
        Ok(Self { folders: Arc::new(folders), room: free_room })
    }

    fn store(&self) -> Store {
        Store { folders: Arc::clone(&self.folders), room: Arc::clone(&self.room) }
    }
}

/// Reads the space of the store in a folder without opening it: a folder that does not exist has no files, on the file system
/// of the folder above. All files are measured.
///
/// # Errors
/// A folder cannot be read.
pub fn read_space(root: &Path, quota: Option<u64>) -> io::Result<Space> {
    room::read_closed(root, quota)
}

impl Backend for DiskBackend {
    fn put<'a>(
        &'a self,
        key: &'a FileKey,
        _headers: &'a ContentHeaders,
        content: Content,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        write::put(self.store(), self.folders.path(key), content).boxed()
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
        let store = self.store();
        block("copying a file", move || write::copy(&store, &source, &target)).boxed()
    }

    fn delete<'a>(&'a self, keys: &'a [FileKey]) -> BoxFuture<'a, Result<(), BackendError>> {
        let paths: Vec<_> = keys.iter().map(|key| self.folders.path(key)).collect();
        let room = Arc::clone(&self.room);
        block("deleting files", move || paths.iter().try_for_each(|path| remove_with_room(&room, path))).boxed()
    }

    fn identify(&self, key: &FileKey) -> String {
        file_name(key)
    }

    fn list(&self) -> BoxStream<'_, Result<ListedFile, BackendError>> {
        walk::list(Arc::clone(&self.folders)).boxed()
    }

    fn delete_listed<'a>(&'a self, file: &'a ListedFile) -> BoxFuture<'a, Result<(), BackendError>> {
        let (store, file) = (self.store(), file.clone());
        block("deleting a file without a row", move || walk::delete(&store, &file)).boxed()
    }

    fn space(&self) -> BoxFuture<'_, Result<Option<Space>, BackendError>> {
        let room = Arc::clone(&self.room);
        block("reading the free space", move || room.space().map(Some)).boxed()
    }

    fn check_room(&self, size: u64) -> BoxFuture<'_, Result<(), BackendError>> {
        let room = Arc::clone(&self.room);
        block("looking for room", move || room.check(size)).boxed()
    }

    fn staging(&self) -> &dyn Staging {
        self
    }

    fn delete_leftovers(&self, older_than: DateTime<Utc>) -> BoxFuture<'_, Result<u64, BackendError>> {
        let store = self.store();
        block("deleting interrupted writes", move || walk::delete_leftovers(&store, older_than)).boxed()
    }
}

#[cfg(test)]
mod tests;
