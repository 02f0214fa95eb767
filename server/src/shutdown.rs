//! Shutdown: the first signal drains open requests, the second one exits at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use http_edge::ShutdownSignal;

/// Exit status that a shell reports for a program ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

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

/// Starts listening for SIGTERM and SIGINT.
pub(crate) fn watch_signals() -> std::io::Result<ShutdownSignal> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (closing, received_value) = watch::channel(false);
    tokio::spawn(async move {
        for time in 1.. {
            let requested_value = tokio::select! {
                requested_value = terminate.recv() => requested_value,
                requested_value = interrupt.recv() => requested_value,
            };
            if requested_value.is_none() {
                return;
            }
            if time > 1 {
                tracing::warn!("second signal received, exiting at once");
                std::process::exit(INTERRUPTED);
            }
            closing.send_replace(true);
            tracing::info!("shutdown requested, finishing open requests");
        }
    });
    Ok(received_value)
}
