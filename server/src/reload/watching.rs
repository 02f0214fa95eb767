//! When settings are read again: a change was told of, and then nothing more for a while.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gotrue_rs::config::Reloading;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::polled;

/// Who looks for changes, for as long as this lives.
pub struct Watching {
    told: Arc<Notify>,
    quiet: Duration,
    _watchers: JoinSet<()>,
}

impl Watching {
    /// Starts whoever the settings want; none: nobody is wanted.
    pub fn start(folder: &Path, settings: &Reloading) -> Option<Self> {
        if !settings.notify_enabled && !settings.signal_enabled {
            return None;
        }
        let (told, mut watchers) = (Arc::new(Notify::new()), JoinSet::new());
        if settings.notify_enabled {
            watchers.spawn(files(folder.to_owned(), settings.clone(), Arc::clone(&told)));
        }
        if settings.signal_enabled {
            watchers.spawn(signals(settings.signal_number, Arc::clone(&told)));
        }
        Some(Self { told, quiet: settings.grace_period, _watchers: watchers })
    }

    /// Completes once something has changed and then nothing more for the grace period.
    pub async fn settled(&self) {
        self.told.notified().await;
        while tokio::time::timeout(self.quiet, self.told.notified()).await.is_ok() {}
    }
}

/// Whether a file of this name holds settings.
pub fn is_of_settings(name: &Path) -> bool {
    name.extension().is_some_and(|extension| extension == "env" || extension == "json")
}

async fn files(folder: PathBuf, settings: Reloading, told: Arc<Notify>) {
    let Err(error) = notified(&folder, settings.grace_period, &told).await;
    if settings.poller_enabled {
        let every = settings.poller_interval;
        tracing::warn!(%error, ?every, "the system does not tell of changes of the settings: their files are looked at");
        polled::watch(&folder, every, &told).await;
    } else {
        let advice = "set GOTRUE_RELOADING_POLLERENABLED=true to have the files looked at";
        tracing::error!(%error, "the system does not tell of changes of the settings; {advice}");
    }
}

#[cfg(target_os = "linux")]
use super::notified::watch as notified;

#[cfg(not(target_os = "linux"))]
async fn notified(_: &Path, _: Duration, _: &Notify) -> std::io::Result<std::convert::Infallible> {
    Err(std::io::ErrorKind::Unsupported.into())
}

async fn signals(number: i32, told: Arc<Notify>) {
    match signal(SignalKind::from_raw(number)) {
        Ok(mut signals) => {
            while signals.recv().await.is_some() {
                told.notify_one();
            }
        }
        Err(error) => {
            let advice = "set another GOTRUE_RELOADING_SIGNAL_NUMBER";
            tracing::error!(number, %error, "this signal cannot be listened for: {advice}");
        }
    }
}
