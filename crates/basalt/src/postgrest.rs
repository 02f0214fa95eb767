//! The data API as a server of its own: its listener, its administration port and its signals.

use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use http_edge::{HttpLimits, Listener, ShutdownSignal};
use postgrest_rs::config::Config;
use postgrest_rs::service::DataApi;
use postgrest_rs::upkeep::{self, ReloadRequests};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use crate::data_answer;
use crate::shutdown::Shutdown;

/// How long the API may take to accept a connection of the administration port.
const ACCEPT_LIMIT: Duration = Duration::from_secs(2);

/// Where the API listens.
#[derive(Debug, Clone)]
enum ApiAddress {
    Port(SocketAddr),
    Socket(PathBuf),
}

impl ApiAddress {
    /// Whether it accepts connections, as probes of the administration port ask.
    async fn is_reachable(&self) -> bool {
        let connected = async {
            match self {
                Self::Port(address) => TcpStream::connect(address).await.is_ok(),
                Self::Socket(path) => UnixStream::connect(path).await.is_ok(),
            }
        };
        timeout(ACCEPT_LIMIT, connected).await.unwrap_or(false)
    }
}

impl std::fmt::Display for ApiAddress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Port(address) => address.fmt(formatter),
            Self::Socket(path) => path.display().fmt(formatter),
        }
    }
}

/// Serves until a signal arrives.
pub(crate) async fn serve(api: Arc<DataApi>, file: Option<PathBuf>) -> anyhow::Result<()> {
    let config = api.config();
    let shutdown = Shutdown::new();
    shutdown.begin_on_signals().context("listening for signals")?;
    let closing = shutdown.signal();
    let (listener, address) = listen(&config).await?;
    let requests = Arc::new(ReloadRequests::default());
    reload_on_signals(&requests).context("listening for signals")?;
    let admin = serve_admin(&api, &config, address.clone(), closing.clone()).await?;
    tracing::info!(%address, "serving the data API");
    let upkeep = http_edge::spawn_task(upkeep::run(Arc::clone(&api), file, requests));
    let limits = HttpLimits { encodes_targets: true, accepts_repeated_host: true, ..HttpLimits::behind_gateway() };
    let served = Arc::clone(&api);
    let serving = http_edge::serve(listener, closing, limits, move |request: Request| {
        let api = Arc::clone(&served);
        async move { data_answer::answer(&api, request).await }
    });
    tokio::select! {
        () = serving => {}
        reason = api.wait_for_final_failure() => bail!("the database: {reason}"),
    }
    upkeep.abort();
    if let Some(admin) = admin {
        admin.await?;
    }
    Ok(())
}

/// Listens on the Unix domain socket of the settings, without one on their port; returns the address too.
async fn listen(config: &Config) -> anyhow::Result<(Listener, ApiAddress)> {
    let Some(path) = &config.server_unix_socket else {
        let listener = bind(&config.server_host, config.server_port).await?;
        let address = listener.local_addr()?;
        return Ok((listener.into(), ApiAddress::Port(address)));
    };
    let listener =
        bind_unix(Path::new(path), config.server_unix_socket_mode).with_context(|| format!("listening on {path}"))?;
    Ok((listener.into(), ApiAddress::Socket(path.into())))
}

/// Binds a Unix domain socket with this mode in place of one that another process left there.
fn bind_unix(path: &Path, mode: u32) -> anyhow::Result<UnixListener> {
    if std::fs::symlink_metadata(path).is_ok_and(|found| !found.file_type().is_socket()) {
        bail!("the file exists and is no socket");
    }
    // Clients find the socket at its path only when it has its mode.
    let mut name = path.file_name().context("the path has no file name")?.to_owned();
    name.push(format!(".{}", std::process::id()));
    let bound = path.with_file_name(name);
    let _ = std::fs::remove_file(&bound);
    let listener = UnixListener::bind(&bound)?;
    let moved = std::fs::set_permissions(&bound, std::fs::Permissions::from_mode(mode))
        .and_then(|()| std::fs::rename(&bound, path));
    if let Err(error) = moved {
        let _ = std::fs::remove_file(&bound);
        return Err(error.into());
    }
    Ok(listener)
}

/// Binds a listener. `*`, `*4` and `!4` mean every IPv4 address, `*6` and `!6` every address of the machine.
async fn bind(host: &str, port: u16) -> anyhow::Result<TcpListener> {
    let address = match host {
        "*" | "*4" | "!4" => "0.0.0.0",
        "*6" | "!6" => "::",
        host => host,
    };
    TcpListener::bind((address, port)).await.with_context(|| format!("listening on {host}:{port}"))
}

/// SIGUSR1 reads the schema anew, SIGUSR2 the settings.
fn reload_on_signals(requests: &Arc<ReloadRequests>) -> std::io::Result<()> {
    let (mut schema, mut config) = (signal(SignalKind::user_defined1())?, signal(SignalKind::user_defined2())?);
    let requests = Arc::clone(requests);
    http_edge::spawn_task(async move {
        loop {
            tokio::select! {
                Some(()) = schema.recv() => requests.request_schema(),
                Some(()) = config.recv() => requests.request_config(),
                else => return,
            }
        }
    });
    Ok(())
}

/// Serves the administration port, where one is configured.
async fn serve_admin(
    api: &Arc<DataApi>,
    config: &Config,
    address: ApiAddress,
    closing: ShutdownSignal,
) -> anyhow::Result<Option<tokio::task::JoinHandle<()>>> {
    let Some(port) = config.admin_server_port else { return Ok(None) };
    let listener = bind(&config.admin_server_host, port).await?;
    tracing::info!(address = %listener.local_addr()?, "serving the administration port");
    let api = Arc::clone(api);
    Ok(Some(http_edge::spawn_task(http_edge::serve(
        listener,
        closing,
        HttpLimits::default(),
        move |request: Request| {
            let (api, address) = (Arc::clone(&api), address.clone());
            async move { answer_admin(&api, &address, request.uri().path()).await }
        },
    ))))
}

/// Answers a request to the administration port.
async fn answer_admin(api: &DataApi, address: &ApiAddress, path: &str) -> Response {
    let (status, media_type, body) = match path {
        "/live" | "/ready" if !address.is_reachable().await => (StatusCode::INTERNAL_SERVER_ERROR, None, String::new()),
        "/live" => (StatusCode::OK, None, String::new()),
        "/ready" if api.check_ready().await => (StatusCode::OK, None, String::new()),
        "/ready" => (StatusCode::SERVICE_UNAVAILABLE, None, String::new()),
        "/metrics" => (StatusCode::OK, Some("text/plain; charset=utf-8"), api.metrics()),
        "/schema_cache" => match api.summarize_cache().await {
            Ok(summary) => (StatusCode::OK, Some("application/json"), summary),
            Err(_) => (StatusCode::SERVICE_UNAVAILABLE, None, String::new()),
        },
        _ => (StatusCode::NOT_FOUND, None, String::new()),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    if let Some(media_type) = media_type {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    }
    response
}
