//! Serves the API alone, for development: `cargo run -p storage-rs --example storage-api` with the environment of Supabase Storage.

use std::sync::Arc;

use http_edge::{HttpLimits, ShutdownSignal};
use storage_rs::backend::disk::DiskBackend;
use storage_rs::clock::Clock;
use storage_rs::config::{BackendSettings, Config, Environment};
use storage_rs::storage::Storage;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::from_environment(&Environment::of_process()).map_err(|problems| problems.join("\n"))?;
    let BackendSettings::Disk { folder } = &config.backend else {
        return Err("the example keeps files on the disk".into());
    };
    let backend = Arc::new(DiskBackend::open(folder)?);
    let address = (config.host.clone(), config.port);
    let storage = Storage::new(config, backend, Clock::of_machine())?;
    storage.prepare().await?;
    let (_closer, closing) = tokio::sync::watch::channel(false);
    let closing: ShutdownSignal = closing;
    let listener = tokio::net::TcpListener::bind(address).await?;
    http_edge::serve(listener, closing, HttpLimits::behind_gateway(), move |request: axum::extract::Request| {
        let storage = Arc::clone(&storage);
        async move { storage.handle(request).await }
    })
    .await;
    Ok(())
}
