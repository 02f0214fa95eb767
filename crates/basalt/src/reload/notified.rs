//! File changes that the system reports.

use std::convert::Infallible;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecursiveMode, Watcher};
use tokio::sync::{Notify, mpsc};
use tokio::time::interval;

use super::source::{FileFilter, FolderFiles, scan};

/// The shortest interval between checks whether the folder was replaced.
const MIN_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The link that Kubernetes replaces when a mounted `ConfigMap` or Secret changes.
///
/// The files are links through it.
const MOUNTED_VERSION: &str = "..data";

/// What an event tells besides a change of files.
enum Interruption {
    /// The folder was moved or deleted, so that its watch reports nothing of the next one.
    FolderGone,
    Failed(notify::Error),
}

/// Notifies of files other than the `known` ones, of changed files, and of a replacement of the folder.
///
/// A replacement is checked for every `every`; the folder may be created later.
///
/// # Errors
///
/// The system does not report changes of the folder, for example because its limit of watches is reached.
pub(super) async fn watch(
    folder: &Path,
    filter: &FileFilter,
    known: Option<&FolderFiles>,
    every: Duration,
    reported: &Arc<Notify>,
) -> notify::Result<Infallible> {
    let (interrupt, mut interruptions) = mpsc::unbounded_channel();
    let events = EventFilter { folder: absolute(folder)?, files: filter.clone() };
    let changed = Arc::clone(reported);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| match event {
        Ok(event) if events.is_change(&event) => changed.notify_one(),
        Ok(event) if events.is_folder_gone(&event) => drop(interrupt.send(Interruption::FolderGone)),
        Ok(_) => {}
        Err(error) => drop(interrupt.send(Interruption::Failed(error))),
    })?;
    let mut identity = identify(folder);
    match watcher.watch(folder, RecursiveMode::NonRecursive) {
        Ok(()) => {}
        Err(error) if folder.is_dir() => return Err(error),
        Err(error) => {
            identity = None;
            tracing::error!(folder = %folder.display(), %error, "the settings folder is not watched until it exists");
        }
    }
    // What changed before there was a watch caused no event.
    if scan(folder, filter).is_ok_and(|found| Some(&found) != known) {
        reported.notify_one();
    }
    let mut turn = interval(every.max(MIN_CHECK_INTERVAL));
    loop {
        tokio::select! {
            _ = turn.tick() => {
                let found = identify(folder);
                if found != identity {
                    // There may be no watch any more.
                    drop(watcher.unwatch(folder));
                    identity = found.filter(|_| watcher.watch(folder, RecursiveMode::NonRecursive).is_ok());
                    if identity.is_some() {
                        reported.notify_one();
                    }
                }
            }
            Some(interruption) = interruptions.recv() => match interruption {
                Interruption::FolderGone => identity = None,
                Interruption::Failed(error) => return Err(error),
            },
        }
    }
}

/// Returns device and inode of a folder, which another one of the same path does not have.
fn identify(folder: &Path) -> Option<(u64, u64)> {
    let found = folder.metadata().ok().filter(std::fs::Metadata::is_dir)?;
    Some((found.dev(), found.ino()))
}

/// Tells what the events of a folder mean.
struct EventFilter {
    /// The folder, by the path that events have.
    folder: PathBuf,
    files: FileFilter,
}

impl EventFilter {
    /// Whether a settings file changed, or events were lost.
    fn is_change(&self, event: &Event) -> bool {
        // Reading a file is an event, too.
        let is_effect = match event.kind {
            EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
            EventKind::Modify(ModifyKind::Metadata(_)) => false,
            _ => true,
        };
        let is_setting = |path: &Path| self.files.matches(path) || path.ends_with(MOUNTED_VERSION);
        let mut files = event.paths.iter().filter(|path| **path != self.folder);
        event.need_rescan() || is_effect && files.any(|path| is_setting(path))
    }

    fn is_folder_gone(&self, event: &Event) -> bool {
        let is_gone = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
        is_gone && event.paths.contains(&self.folder)
    }
}
