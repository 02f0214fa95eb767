//! The storage API as a server of its own.

use std::sync::Arc;

use anyhow::Context;
use axum::extract::Request;
use http_edge::HttpLimits;
use storage_rs::backend::Backend;
use storage_rs::backend::disk::DiskBackend;
use storage_rs::backend::remote::RemoteBackend;
use storage_rs::clock::Clock;
use storage_rs::config::{BackendSettings, Config};
use storage_rs::storage::Storage;
use storage_rs::sweep;
use tokio::net::TcpListener;

use crate::shutdown::Shutdown;

/// Opens the store of files that the settings name.
pub(crate) fn open_backend(config: &Config) -> anyhow::Result<Arc<dyn Backend>> {
    match &config.backend {
        BackendSettings::Disk { folder } => {
            let disk = DiskBackend::open_with_quota(folder, config.quota);
            Ok(Arc::new(disk.context("opening the folder of stored files")?))
        }
        BackendSettings::S3(settings) => {
            let backend = RemoteBackend::open(settings, &config.project, Clock::of_machine());
            Ok(Arc::new(backend.map_err(anyhow::Error::msg).context("opening the bucket of stored files")?))
        }
    }
}

/// Builds the API of these settings.
pub(crate) fn build(config: Config) -> anyhow::Result<Arc<Storage>> {
    let backend = open_backend(&config)?;
    Storage::new(config, backend, Clock::of_machine()).map_err(anyhow::Error::msg)
}

/// Serves until a signal arrives.
pub(crate) async fn serve(storage: Arc<Storage>) -> anyhow::Result<()> {
    let shutdown = Shutdown::new();
    shutdown.begin_on_signals().context("listening for signals")?;
    let closing = shutdown.signal();
    let config = storage.config();
    let address = (config.host.clone(), config.port);
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("listening on {}:{}", config.host, config.port))?;
    storage.prepare().await.map_err(anyhow::Error::msg).context("preparing schema storage")?;
    tracing::info!(address = %listener.local_addr()?, "serving the storage API");
    let upkeep = http_edge::spawn_task(sweep::maintain(Arc::clone(&storage)));
    let limits = HttpLimits { encodes_targets: true, ..HttpLimits::behind_gateway() };
    http_edge::serve(listener, closing, limits, move |request: Request| {
        let storage = Arc::clone(&storage);
        async move { storage.handle(request).await }
    })
    .await;
    upkeep.abort();
    Ok(())
}
