//! Shutdown: the first signal drains open requests, the second one exits at once.

use std::time::Duration;

use rustix::process::{Pid, getppid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use http_edge::ShutdownSignal;

/// Exit status that a shell reports for a program ended by Ctrl-C.
const INTERRUPTED: i32 = 130;
/// The interval between checks whether the parent process still runs.
const PARENT_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Keeps SIGHUP from ending the process: closing a terminal or rotating logs must not stop the server.
/// `basalt serve` reads its settings at startup only.
pub(crate) fn ignore_hangup() -> std::io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            tracing::info!("SIGHUP ignored: a restart reads config.toml again");
        }
    });
    Ok(())
}

/// Begins the shutdown of this process.
#[derive(Debug, Clone)]
pub(crate) struct Shutdown(watch::Sender<bool>);

impl Shutdown {
    /// Creates a shutdown that has not begun.
    pub(crate) fn new() -> Self {
        Self(watch::channel(false).0)
    }

    /// Begins it.
    pub(crate) fn begin(&self) {
        self.0.send_replace(true);
    }

    /// Returns whether it has begun.
    pub(crate) fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns the signal that services wait for.
    pub(crate) fn signal(&self) -> ShutdownSignal {
        self.0.subscribe()
    }

    /// Begins it on SIGTERM and SIGINT; a second signal ends the process at once.
    pub(crate) fn begin_on_signals(&self) -> std::io::Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let shutdown = self.clone();
        tokio::spawn(async move {
            for time in 1.. {
                let received = tokio::select! {
                    received = terminate.recv() => received,
                    received = interrupt.recv() => received,
                };
                if received.is_none() {
                    return;
                }
                if time > 1 {
                    tracing::warn!("second signal received, exiting at once");
                    std::process::exit(INTERRUPTED);
                }
                shutdown.begin();
                tracing::info!("shutdown requested, finishing open requests");
            }
        });
        Ok(())
    }

    /// Begins it when the parent process has ended, even after SIGKILL.
    ///
    /// An orphan gets another parent, whose process id differs. `parent` is the one at the start of this process.
    pub(crate) fn begin_after_parent(&self, parent: Option<Pid>) {
        let shutdown = self.clone();
        tokio::spawn(async move {
            while getppid() == parent {
                tokio::time::sleep(PARENT_CHECK_INTERVAL).await;
            }
            tracing::info!("the parent process has ended, shutting down");
            shutdown.begin();
        });
    }
}
