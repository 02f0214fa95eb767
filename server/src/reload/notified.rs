//! Changes of files, as Linux tells of them.

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

use super::watching::is_of_settings;

/// The shortest time after which it is looked whether the folder is another one.
const SHORTEST: Duration = Duration::from_secs(1);
/// Room for a few dozen events.
const ROOM: usize = 4096;

/// Tells of changes of the folder's files, and of another folder in its place, which is looked for so often. A folder
/// that is not there may come later. The error: the system does not tell of changes there.
pub async fn watch(folder: &Path, every: Duration, told: &Notify) -> io::Result<Infallible> {
    let descriptor = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    let mut watched = match subscribe(&descriptor, folder) {
        Ok(watched) => Some(watched),
        Err(error) if folder.is_dir() => return Err(error.into()),
        Err(error) => {
            tracing::error!(folder = %folder.display(), %error, "the folder of settings is not watched until it is there");
            None
        }
    };
    #[expect(deprecated, reason = "it is sound for a descriptor that we own, and what takes its place is unsafe code")]
    let events = AsyncFd::with_interest(descriptor, Interest::READABLE)?;
    let mut turn = interval(every.max(SHORTEST));
    loop {
        tokio::select! {
            _ = turn.tick() => {
                let found = subscribe(events.get_ref(), folder).ok();
                if found.is_some() && found != watched {
                    told.notify_one();
                }
                watched = found;
            }
            ready = events.readable() => {
                if let Ok(changed) = ready?.try_io(|events| read(events.get_ref()))
                    && changed?
                {
                    told.notify_one();
                }
            }
        }
    }
}

/// The number under which the folder is watched: the same for as long as it is the same folder.
fn subscribe(descriptor: &OwnedFd, folder: &Path) -> rustix::io::Result<i32> {
    let changes = WatchFlags::CREATE
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::MODIFY
        | WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::ONLYDIR;
    add_watch(descriptor, folder, changes)
}

/// Takes all events there are: whether a file of settings is among them, or events were lost.
fn read(descriptor: &OwnedFd) -> io::Result<bool> {
    let mut room = [MaybeUninit::uninit(); ROOM];
    let mut events = Reader::new(descriptor, &mut room);
    let (mut is_changed, mut is_empty) = (false, true);
    loop {
        match events.next() {
            Ok(event) => {
                is_empty = false;
                let name = event.file_name().map(|name| Path::new(OsStr::from_bytes(name.to_bytes())).to_owned());
                is_changed |= event.events().contains(ReadFlags::QUEUE_OVERFLOW)
                    || name.is_some_and(|name| is_of_settings(&name));
            }
            Err(Errno::AGAIN) if is_empty => return Err(io::ErrorKind::WouldBlock.into()),
            Err(Errno::AGAIN) => return Ok(is_changed),
            Err(error) => return Err(error.into()),
        }
    }
}
