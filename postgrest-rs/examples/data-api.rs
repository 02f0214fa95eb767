//! Serves the API alone, for development: `cargo run -p postgrest-rs --example data-api -- [postgrest] FILE`.

use std::path::PathBuf;

use axum::body::Body;
use axum::extract::Request;
use http_body_util::BodyExt;
use http_edge::{HttpLimits, ShutdownSignal};
use postgrest_rs::config::Sources;
use postgrest_rs::service::DataApi;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().skip(1).filter(|argument| argument != "postgrest").map(PathBuf::from).next();
    let api = DataApi::new(Sources::read(file.as_deref())?)?;
    api.reload_config(None).await?;
    api.reload_schema().await?;
    let (_closer, closing) = tokio::sync::watch::channel(false);
    let closing: ShutdownSignal = closing;
    let config = api.config();
    let listener = tokio::net::TcpListener::bind((config.server_host.as_str(), config.server_port)).await?;
    http_edge::serve(listener, closing, HttpLimits::behind_gateway(), move |request: Request| {
        let api = api.clone();
        async move {
            let (parts, body) = request.into_parts();
            let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            let (parts, body) = api.handle(&parts, bytes).await.into_parts();
            http::Response::from_parts(parts, body.collect().await.map(Body::from).unwrap_or_default())
        }
    })
    .await;
    Ok(())
}
