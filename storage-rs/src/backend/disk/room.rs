//! Room for files: what they may take, what they take, and what stays free for others on the same file system.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::file_system::remove;
use super::folders::Folders;
use crate::backend::Space;

/// The part of a file system that stays free, so that a database beside the files still writes: a fiftieth, at most a GiB.
const FREE_PART: u64 = 50;
const MOST_FREE: u64 = 1024 * 1024 * 1024;
/// How long a measured size counts: another process with the same folder may have written since.
const VALIDITY: Duration = Duration::from_hours(1);

/// The room of a store. Sizes are those of contents: two names of one content count twice.
#[derive(Debug)]
pub(super) struct Room {
    folders: Vec<PathBuf>,
    quota: Option<u64>,
    usage: Mutex<Option<Usage>>,
    /// Held while files are measured, so that one thread at a time does it.
    measuring: Mutex<()>,
}

/// What files take.
#[derive(Debug, Clone, Copy)]
struct Usage {
    bytes: u64,
    measured: Instant,
}

impl Usage {
    fn is_recent(self) -> bool {
        self.measured.elapsed() < VALIDITY
    }
}

impl Room {
    pub(super) fn new(folders: &Folders, quota: Option<u64>) -> Self {
        let folders = [&folders.objects, &folders.incoming, &folders.uploads].map(Clone::clone).to_vec();
        Self { folders, quota, usage: Mutex::default(), measuring: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Usage>> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn measure(&self) -> io::Result<Usage> {
        let measured = Instant::now();
        let mut bytes = 0;
        for folder in &self.folders {
            bytes += measure(folder)?;
        }
        Ok(Usage { bytes, measured })
    }

    /// What the files take with so many bytes more, which is within the quota; `None` if there is no quota.
    fn add(&self, usage: &mut Option<Usage>, bytes: u64) -> io::Result<Option<Usage>> {
        let Some(quota) = self.quota else { return Ok(None) };
        let current = match *usage {
            Some(current) => current,
            None => *usage.insert(self.measure()?),
        };
        let sum = current.bytes.saturating_add(bytes);
        if sum > quota {
            return Err(io::Error::from(io::ErrorKind::QuotaExceeded));
        }
        Ok(Some(Usage { bytes: sum, ..current }))
    }

    /// Takes room for bytes that are about to be written.
    ///
    /// # Errors
    /// There is none: the kind says whether that of the quota or of the file system.
    pub(super) fn take(&self, bytes: u64) -> io::Result<()> {
        self.check_file_system(bytes)?;
        let mut usage = self.lock();
        match self.add(&mut usage, bytes)? {
            Some(sum) => *usage = Some(sum),
            None => {
                if let Some(usage) = usage.as_mut() {
                    usage.bytes = usage.bytes.saturating_add(bytes);
                }
            }
        }
        Ok(())
    }

    /// Gives back the room of bytes that are gone.
    pub(super) fn give_back(&self, bytes: u64) {
        if let Some(usage) = self.lock().as_mut() {
            usage.bytes = usage.bytes.saturating_sub(bytes);
        }
    }

    /// Whether so many bytes could be written now.
    ///
    /// # Errors
    /// As [`Room::take`].
    pub(super) fn check(&self, bytes: u64) -> io::Result<()> {
        self.check_file_system(bytes)?;
        self.add(&mut self.lock(), bytes).map(|_| ())
    }

    fn check_file_system(&self, bytes: u64) -> io::Result<()> {
        let (total, available) = read_file_system(&self.folders[0])?;
        if available < bytes.saturating_add(reserve(total)) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        Ok(())
    }

    /// The space of the file system and what the files take of it, which is measured anew from time to time. While another
    /// thread measures, it is what was known before.
    pub(super) fn space(&self) -> io::Result<Space> {
        let (total, available) = read_file_system(&self.folders[0])?;
        let mut known = *self.lock();
        if !known.is_some_and(Usage::is_recent)
            && let Some(_measuring) = self.begin_measuring()
        {
            // Uploads go on meanwhile; what they write counts either now or when it is measured the next time.
            let measured = self.measure()?;
            *self.lock() = Some(measured);
            known = Some(measured);
        }
        let used = known.map(|usage| usage.bytes);
        Ok(Space { total, available, reserved: reserve(total), used, quota: self.quota })
    }

    fn begin_measuring(&self) -> Option<MutexGuard<'_, ()>> {
        match self.measuring.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// What stays free of a file system of this size.
fn reserve(total: u64) -> u64 {
    (total / FREE_PART).min(MOST_FREE)
}

/// The space of a store that is not open, and may not exist yet. Nothing is created.
pub(super) fn read_closed(root: &Path, quota: Option<u64>) -> io::Result<Space> {
    let existing = root.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let (total, available) = read_file_system(existing)?;
    let used = if root.exists() { measure(root)? } else { 0 };
    Ok(Space { total, available, reserved: reserve(total), used: Some(used), quota })
}

/// The bytes of a file system, and those that this process may still write.
fn read_file_system(folder: &Path) -> io::Result<(u64, u64)> {
    let found = rustix::fs::statvfs(folder)?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok((bytes(found.f_blocks), bytes(found.f_bavail)))
}

/// The bytes of the files in a folder and in those below it.
fn measure(folder: &Path) -> io::Result<u64> {
    let mut bytes: u64 = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            // A file that was deleted since takes nothing.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                bytes = bytes.saturating_add(metadata.len());
            }
        }
    }
    Ok(bytes)
}

/// Deletes a file that may be gone already, and gives its room back.
pub(super) fn remove_with_room(room: &Room, path: &Path) -> io::Result<()> {
    let size = fs::symlink_metadata(path).map(|metadata| metadata.len()).unwrap_or_default();
    // Of several that delete it at once one gives the room back.
    if remove(path)? {
        room.give_back(size);
    }
    Ok(())
}
