//! The recorded server, over HTTP or HTTPS.

use axum::extract::Request;
use futures::FutureExt;
use http::uri::{Authority, PathAndQuery};
use http::{Response, Uri};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::ConfigVerifierExt;
use tower::util::ServiceExt;

use super::connections::{BoxError, ServerBody, ServerConnections, ServerStream};
use super::error::ProxyError;

/// The server behind the proxy.
pub(super) struct Upstream {
    connections: ServerConnections,
    server: Uri,
}

impl Upstream {
    /// Prepares connections to the server of a URL.
    ///
    /// # Errors
    /// The URL is invalid, or the system's root certificates cannot be read.
    pub(super) fn new(project: &str) -> Result<Self, ProxyError> {
        let server: Uri = project.parse().map_err(|error| ProxyError::InvalidUrl(format!("{project}: {error}")))?;
        let server = remove_user_information(server).map_err(|error| ProxyError::InvalidUrl(error.to_string()))?;
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        let tls = if project.starts_with("https:") {
            ClientConfig::with_platform_verifier().map_err(|error| ProxyError::NoCertificates(error.to_string()))?
        } else {
            ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth()
        };
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        let (connector, target) = (connector.wrap_connector(http), server.clone());
        let connections = ServerConnections::new(Box::new(move || {
            let connecting = connector.clone().oneshot(target.clone());
            let connected = async move {
                let stream: Box<dyn ServerStream> = Box::new(TokioIo::new(connecting.await?));
                Ok::<_, BoxError>(stream)
            };
            connected.boxed()
        }));
        Ok(Self { connections, server })
    }

    /// Returns the server with its port, for `Host`.
    pub(super) fn host(&self) -> &str {
        self.server.authority().map_or("", Authority::as_str)
    }

    /// Returns the path at the server: the one of a request behind that of the project.
    pub(super) fn path(&self, path: &str) -> Option<PathAndQuery> {
        let prefix = self.server.path().trim_end_matches('/');
        if prefix.is_empty() { path.parse().ok() } else { format!("{prefix}{path}").parse().ok() }
    }

    /// Sends a request and returns its response when the head has arrived.
    ///
    /// # Errors
    /// There is no connection, or it ended before the response.
    pub(super) async fn send(&self, request: Request) -> Result<Response<ServerBody>, BoxError> {
        self.connections.send(request).await
    }
}

/// Removes the user information of a URL.
///
/// It is no part of `Host` (RFC 9110 §7.2) and is not forwarded.
fn remove_user_information(server: Uri) -> Result<Uri, http::Error> {
    let mut parts = server.into_parts();
    if let Some((_, host)) = parts.authority.as_ref().and_then(|authority| authority.as_str().rsplit_once('@')) {
        parts.authority = Some(host.parse()?);
    }
    Ok(Uri::from_parts(parts)?)
}
