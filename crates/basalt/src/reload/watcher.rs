//! Decides when settings are reloaded: after a change and a grace period without further changes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gotrue_rs::config::ReloadSettings;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::source::{FileFilter, FolderFiles, SettingsFiles};
use super::{notified, polling};

/// The running watchers; dropping this stops them.
pub(crate) struct SettingsWatcher {
    changed: Arc<Notify>,
    grace_period: Duration,
    _watchers: JoinSet<()>,
}

impl SettingsWatcher {
    /// Starts the watchers that the settings enable; `None` if all are disabled.
    ///
    /// Files that have changed since `files` were observed count as changed.
    pub(crate) fn start(files: &SettingsFiles, settings: &ReloadSettings) -> Option<Self> {
        if !settings.notify_enabled && !settings.signal_enabled {
            return None;
        }
        let (reported, mut watchers) = (Arc::new(Notify::new()), JoinSet::new());
        if settings.notify_enabled {
            for (folder, known) in &files.folders {
                let watched =
                    WatchedFolder { path: folder.clone(), filter: files.filter.clone(), known: known.clone() };
                watchers.spawn(watch_files(watched, settings.clone(), Arc::clone(&reported)));
            }
        }
        if settings.signal_enabled {
            watchers.spawn(watch_signal(settings.signal_number, Arc::clone(&reported)));
        }
        Some(Self { changed: reported, grace_period: settings.grace_period, _watchers: watchers })
    }

    /// Completes once there was a change and then none for the grace period.
    pub(crate) async fn wait_for_change(&self) {
        self.changed.notified().await;
        while tokio::time::timeout(self.grace_period, self.changed.notified()).await.is_ok() {}
    }
}

/// A folder to be watched.
struct WatchedFolder {
    path: PathBuf,
    filter: FileFilter,
    /// The files that were read.
    known: Option<FolderFiles>,
}

async fn watch_files(folder: WatchedFolder, settings: ReloadSettings, reported: Arc<Notify>) {
    let WatchedFolder { path, filter, known } = folder;
    let Err(error) = notified::watch(&path, &filter, known.as_ref(), settings.grace_period, &reported).await;
    if settings.poller_enabled {
        let every = settings.poller_interval;
        tracing::warn!(%error, ?every, "file notifications are unavailable, polling the settings files");
        polling::watch(&path, &filter, known, every, &reported).await;
    } else {
        tracing::error!(
            %error,
            "file notifications are unavailable; set GOTRUE_RELOADING_POLLERENABLED=true to poll the settings files"
        );
    }
}

async fn watch_signal(number: i32, reported: Arc<Notify>) {
    match signal(SignalKind::from_raw(number)) {
        Ok(mut signals) => {
            while signals.recv().await.is_some() {
                reported.notify_one();
            }
        }
        Err(error) => {
            tracing::error!(
                number,
                %error,
                "listening for the reload signal failed: set another GOTRUE_RELOADING_SIGNAL_NUMBER"
            );
        }
    }
}
