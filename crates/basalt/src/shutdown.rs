//! Shutdown: the first signal drains open requests, the second one exits at once.
//!
//! A drain time keeps the server open after the signal: it reports that it is not ready and answers with
//! `Connection: close`, so that load balancers move their requests to other replicas.

use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use rustix::process::{Pid, getppid};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use http_edge::ShutdownSignal;

/// Exit status that a shell reports for a program ended by Ctrl-C.
const INTERRUPTED: i32 = 130;
/// The interval between checks whether the parent process still runs.
const PARENT_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Time that idle connections stay open after the listener is closed, at most.
const MAX_CLOSING_GRACE: Duration = Duration::from_secs(1);

/// Returns how long idle connections stay open after the listener is closed.
///
/// They are closed at once without a drain time.
///
/// Passive load balancers learn from a refused connection that a server is gone, and then leave its open ones alone.
pub(crate) fn closing_grace(drain: Duration) -> Duration {
    drain.min(MAX_CLOSING_GRACE)
}

/// Keeps SIGHUP from ending the process: closing a terminal or rotating logs must not stop the server.
/// Where it reloads settings, that is handled elsewhere.
pub(crate) fn ignore_hangup() -> std::io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    http_edge::spawn_task(async move {
        while hangup.recv().await.is_some() {
            tracing::debug!("SIGHUP received");
        }
    });
    Ok(())
}

/// Begins the shutdown of this process.
#[derive(Debug, Clone)]
pub(crate) struct Shutdown(Arc<Phases>);

/// The two steps of a shutdown, each of which happens once.
#[derive(Debug)]
struct Phases {
    /// Requests are still accepted, but no further ones are wanted.
    draining: watch::Sender<bool>,
    /// Requests are no longer accepted.
    closing: watch::Sender<bool>,
    /// The time between the two.
    drain: OnceLock<Duration>,
}

impl Shutdown {
    /// Creates a shutdown that has not begun.
    pub(crate) fn new() -> Self {
        let (draining, closing) = (watch::channel(false).0, watch::channel(false).0);
        Self(Arc::new(Phases { draining, closing, drain: OnceLock::new() }))
    }

    /// Sets how long requests are accepted after the shutdown has begun; only the first call has an effect.
    ///
    /// A shutdown that begins before ends the process without this time.
    pub(crate) fn set_drain(&self, drain: Duration) {
        let _ = self.0.drain.set(drain);
    }

    /// Begins it without a drain time.
    pub(crate) fn begin(&self) {
        self.0.draining.send_replace(true);
        self.0.closing.send_replace(true);
    }

    /// Begins it: requests are accepted until the drain time has passed.
    fn begin_draining(&self) {
        let drain = self.0.drain.get().copied().unwrap_or_default();
        if drain.is_zero() {
            return self.begin();
        }
        self.0.draining.send_replace(true);
        tracing::info!(?drain, "draining: not ready, and the last request of each connection is answered");
        let shutdown = self.clone();
        http_edge::spawn_task(async move {
            tokio::time::sleep(drain).await;
            shutdown.begin();
        });
    }

    /// Returns whether it has begun.
    pub(crate) fn has_begun(&self) -> bool {
        *self.0.draining.borrow()
    }

    /// Returns the signal that services wait for.
    pub(crate) fn signal(&self) -> ShutdownSignal {
        self.0.closing.subscribe()
    }

    /// Returns the signal of the drain time, which begins before that of [`Shutdown::signal`].
    pub(crate) fn draining(&self) -> ShutdownSignal {
        self.0.draining.subscribe()
    }

    /// Begins it on SIGTERM and SIGINT; a second signal ends the process at once.
    pub(crate) fn begin_on_signals(&self) -> std::io::Result<()> {
        self.begin_on(&[SignalKind::terminate(), SignalKind::interrupt()])
    }

    /// Begins it also on SIGHUP, as GoTrue does.
    pub(crate) fn begin_on_signals_and_hangup(&self) -> std::io::Result<()> {
        self.begin_on(&[SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()])
    }

    fn begin_on(&self, kinds: &[SignalKind]) -> std::io::Result<()> {
        let mut signals = kinds.iter().map(|kind| signal(*kind)).collect::<std::io::Result<Vec<_>>>()?;
        let shutdown = self.clone();
        http_edge::spawn_task(async move {
            for time in 1.. {
                if receive_any(&mut signals).await.is_none() {
                    return;
                }
                if time > 1 {
                    tracing::warn!("second signal received, exiting at once");
                    std::process::exit(INTERRUPTED);
                }
                tracing::info!("shutdown requested, finishing open requests");
                shutdown.begin_draining();
            }
        });
        Ok(())
    }

    /// Begins it when the parent process has ended, even after SIGKILL.
    ///
    /// An orphan gets another parent, whose process id differs. `parent` is the one at the start of this process.
    pub(crate) fn begin_after_parent(&self, parent: Option<Pid>) {
        let shutdown = self.clone();
        http_edge::spawn_task(async move {
            while getppid() == parent {
                tokio::time::sleep(PARENT_CHECK_INTERVAL).await;
            }
            tracing::info!("the parent process has ended, shutting down");
            shutdown.begin();
        });
    }
}

/// Receives one of several signals.
async fn receive_any(signals: &mut [Signal]) -> Option<()> {
    poll_fn(|cx| signals.iter_mut().map(|signal| signal.poll_recv(cx)).find(Poll::is_ready).unwrap_or(Poll::Pending))
        .await
}

#[cfg(test)]
mod tests {
    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    #[tokio::test]
    async fn hangup_begins_the_shutdown_of_gotrue() {
        let shutdown = Shutdown::new();
        shutdown.begin_on_signals_and_hangup().expect("it listens");
        kill_process(getpid(), Signal::HUP).expect("it lives");
        let begun = shutdown.signal().wait_for(|begun| *begun).await.is_ok();
        assert!(begun && shutdown.has_begun());
    }
}
