//! The end: a signal asks for it, everyone hears of it, a second signal does not wait.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use http_edge::Closing;

/// What the shell reports of a program ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Keeps SIGHUP from ending the process: a terminal that is closed or a log rotation ends no server. The settings of
/// `basalt serve` are read at its start alone.
pub fn ignore_hangup() -> std::io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            tracing::info!("SIGHUP is ignored: a restart reads config.toml again");
        }
    });
    Ok(())
}

/// Listens for SIGTERM and SIGINT from now on.
pub fn on_signal() -> std::io::Result<Closing> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (closing, heard) = watch::channel(false);
    tokio::spawn(async move {
        for time in 1.. {
            let asked = tokio::select! {
                asked = terminate.recv() => asked,
                asked = interrupt.recv() => asked,
            };
            if asked.is_none() {
                return;
            }
            if time > 1 {
                tracing::warn!("asked again: ending at once");
                std::process::exit(INTERRUPTED);
            }
            closing.send_replace(true);
            tracing::info!("asked to end: finishing open requests");
        }
    });
    Ok(heard)
}
