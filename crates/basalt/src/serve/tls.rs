//! `[basalt.tls]`: the certificate of the port, loaded again when its files change.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use http_edge::{ShutdownSignal, TlsCertificate, TlsFiles};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

/// The interval between checks whether a file has changed; mounted secrets report no changes.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Attributes whose change indicates a changed file: inode, size and modification time.
type FileAttributes = Option<(u64, u64, i64, i64)>;

/// Loads the certificate, if one is configured.
pub(crate) fn load(files: Option<&TlsFiles>, folder: &Path) -> anyhow::Result<Option<Arc<TlsCertificate>>> {
    let Some(files) = files else { return Ok(None) };
    let files = TlsFiles { certificate: folder.join(&files.certificate), key: folder.join(&files.key) };
    let certificate = TlsCertificate::load(files).context("reading the files of [basalt.tls]")?;
    Ok(Some(Arc::new(certificate)))
}

/// Loads the files again after each change and on SIGHUP, until shutdown.
pub(super) fn start_reload(certificate: Arc<TlsCertificate>, mut closing: ShutdownSignal) -> JoinHandle<()> {
    http_edge::spawn_task(async move {
        tokio::select! {
            () = reload_on_change(&certificate) => {}
            _ = closing.wait_for(|closing| *closing) => {}
        }
    })
}

async fn reload_on_change(certificate: &TlsCertificate) {
    let mut hangup = match signal(SignalKind::hangup()) {
        Ok(hangup) => hangup,
        Err(error) => {
            tracing::error!(%error, "listening for SIGHUP failed, the TLS certificate is not reloaded");
            return;
        }
    };
    let mut turn = interval(CHECK_INTERVAL);
    turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = attributes(certificate.files());
    loop {
        let is_signal = tokio::select! {
            _ = turn.tick() => false,
            received = hangup.recv() => received.is_some(),
        };
        let now = attributes(certificate.files());
        if !is_signal && now == known {
            continue;
        }
        known = now;
        match certificate.reload() {
            Ok(()) => tracing::info!("TLS certificate reloaded"),
            Err(error) => tracing::error!(%error, "TLS certificate unusable, keeping the previous one"),
        }
    }
}

fn attributes(files: &TlsFiles) -> [FileAttributes; 2] {
    [&files.certificate, &files.key].map(|path| {
        let file = fs::metadata(path).ok()?;
        Some((file.ino(), file.size(), file.mtime(), file.mtime_nsec()))
    })
}
