//! Going through all files of a store.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures::stream::{self, Stream};
use futures::{StreamExt, TryStreamExt};

use super::file_system::block;
use super::folders::Folders;
use super::room::remove_with_room;
use super::write::Store;
use crate::backend::{BackendError, ListedFile};

/// Lists all files, one of the 256 folders at a time.
pub(super) fn list(folders: Arc<Folders>) -> impl Stream<Item = Result<ListedFile, BackendError>> {
    stream::iter(0..=u8::MAX)
        .then(move |number| {
            let folder = folders.objects.join(format!("{number:02x}"));
            block("listing files", move || list_folder(&folder))
        })
        .map_ok(|files| stream::iter(files.into_iter().map(Ok)))
        .try_flatten()
}

fn list_folder(folder: &Path) -> io::Result<Vec<ListedFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // A file that was deleted since is none.
        let Some(metadata) = entry.metadata().ok().filter(fs::Metadata::is_file) else { continue };
        let Ok(identity) = entry.file_name().into_string() else { continue };
        let version = identity.split_once('.').map(|(_, version)| version.to_owned());
        files.push(ListedFile { version, size: metadata.len(), named_at: named_at(&metadata), identity });
    }
    Ok(files)
}

/// When a file got its name: renaming and linking change the time of the inode.
fn named_at(metadata: &fs::Metadata) -> DateTime<Utc> {
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or_default();
    DateTime::from_timestamp(metadata.ctime(), nanoseconds).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// Deletes a listed file unless its name is used anew.
pub(super) fn delete(store: &Store, file: &ListedFile) -> io::Result<()> {
    let Some(folder) = file.identity.get(..2) else { return Ok(()) };
    let path: PathBuf = store.folders.objects.join(folder).join(&file.identity);
    match fs::metadata(&path) {
        Ok(metadata) if named_at(&metadata) <= file.named_at => remove_with_room(&store.room, &path),
        _ => Ok(()),
    }
}

/// Deletes temporary files without a write since this time.
pub(super) fn delete_leftovers(store: &Store, older_than: DateTime<Utc>) -> io::Result<u64> {
    let mut deleted = 0;
    for entry in fs::read_dir(&store.folders.incoming)? {
        let entry = entry?;
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_file() && DateTime::<Utc>::from(metadata.modified()?) < older_than {
            remove_with_room(&store.room, &entry.path())?;
            deleted += 1;
        }
    }
    Ok(deleted)
}
