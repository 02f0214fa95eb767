//! File changes reported by Linux's inotify.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::time::interval;

use super::source::{FileFilter, FolderFiles, scan};

/// The shortest interval between checks whether the folder was replaced.
const MIN_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Buffer size: a few dozen events.
const BUFFER_SIZE: usize = 4096;
/// The link that Kubernetes replaces when a mounted `ConfigMap` or Secret changes.
///
/// The files are links through it.
const MOUNTED_VERSION: &str = "..data";

/// Notifies of files other than the `known` ones, of changed files, and of a replacement of the folder.
///
/// A replacement is checked for every `every`; the folder may be created later.
///
/// # Errors
///
/// inotify does not work for the folder.
pub(super) async fn watch(
    folder: &Path,
    filter: &FileFilter,
    known: Option<&FolderFiles>,
    every: Duration,
    reported: &Notify,
) -> io::Result<Infallible> {
    let descriptor = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    let mut watched = match add_folder_watch(&descriptor, folder) {
        Ok(watched) => Some(watched),
        Err(error) if folder.is_dir() => return Err(error.into()),
        Err(error) => {
            tracing::error!(folder = %folder.display(), %error, "the settings folder is not watched until it exists");
            None
        }
    };
    // What changed before there was a watch caused no event.
    if scan(folder, filter).is_ok_and(|found| Some(&found) != known) {
        reported.notify_one();
    }
    #[expect(deprecated, reason = "it is sound for an owned descriptor, and the replacement is unsafe")]
    let events = AsyncFd::with_interest(descriptor, Interest::READABLE)?;
    let mut turn = interval(every.max(MIN_CHECK_INTERVAL));
    loop {
        tokio::select! {
            _ = turn.tick() => {
                let found = add_folder_watch(events.get_ref(), folder).ok();
                if found.is_some() && found != watched {
                    reported.notify_one();
                }
                watched = found;
            }
            ready = events.readable() => {
                if let Ok(changed) = ready?.try_io(|events| drain_events(events.get_ref(), filter))
                    && changed?
                {
                    reported.notify_one();
                }
            }
        }
    }
}

/// Adds the watch and returns its descriptor, which stays the same for the same folder.
fn add_folder_watch(descriptor: &OwnedFd, folder: &Path) -> rustix::io::Result<i32> {
    let changes = WatchFlags::CREATE
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::MODIFY
        | WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::ONLYDIR;
    add_watch(descriptor, folder, changes)
}

/// Reads all pending events; returns whether a settings file changed or events were lost.
fn drain_events(descriptor: &OwnedFd, filter: &FileFilter) -> io::Result<bool> {
    let mut room = [MaybeUninit::uninit(); BUFFER_SIZE];
    let mut events = Reader::new(descriptor, &mut room);
    let (mut is_changed, mut is_empty) = (false, true);
    loop {
        match events.next() {
            Ok(event) => {
                is_empty = false;
                let name = event.file_name().map(|name| Path::new(OsStr::from_bytes(name.to_bytes())).to_owned());
                is_changed |= event.events().contains(ReadFlags::QUEUE_OVERFLOW)
                    || name.is_some_and(|name| filter.matches(&name) || name == Path::new(MOUNTED_VERSION));
            }
            Err(Errno::AGAIN) if is_empty => return Err(io::ErrorKind::WouldBlock.into()),
            Err(Errno::AGAIN) => return Ok(is_changed),
            Err(error) => return Err(error.into()),
        }
    }
}
