//! The HTTP client of the gateway: pooled connections to the services.

use std::io;
use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::ConfigVerifierExt;

use crate::body::RequestBody;
use crate::limits::GatewayLimits;

/// An idle connection is closed after this time.
/// Node.js, which most of the services run on, closes it after 5 s.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// The most idle connections to one service.
const MAX_IDLE_CONNECTIONS: usize = 256;

/// The client; redirects are responses like any other.
pub(crate) type HttpClient = Client<HttpsConnector<HttpConnector>, RequestBody>;

/// Why a request has no response.
pub(crate) type ClientError = Error;

/// Builds the client; `has_https` tells whether the system's root certificates are needed.
///
/// # Errors
/// They cannot be read.
pub(crate) fn build(limits: &GatewayLimits, has_https: bool) -> io::Result<HttpClient> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(limits.connect_timeout));
    let tls = if has_https {
        ClientConfig::with_platform_verifier().map_err(io::Error::other)?
    } else {
        ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth()
    };
    let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
        .build(connector.wrap_connector(http)))
}
