//! The listener of `basalt serve`, and the keys of its configuration.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use data_folder::DataFolder;
use http_edge::TlsCertificate;
use platform::clock::{Clock, SystemClock};
use platform::entropy::Entropy;
use tokio::net::TcpListener;

use super::configure::Addresses;
use super::options::ServeOptions;
use super::tls;
use crate::api_keys::{self, ApiKeys};
use crate::project::Project;

/// The listener of a server, and what clients know about it.
pub(super) struct Endpoint {
    /// Accepts connections.
    pub listener: TcpListener,
    /// The certificate, if TLS is served.
    pub tls: Option<Arc<TlsCertificate>>,
    pub addresses: Addresses,
    /// The keys of the configuration and the data folder.
    pub keys: Arc<ApiKeys>,
}

impl Endpoint {
    /// Binds the port, and loads or generates the keys.
    pub(super) async fn open(
        project: &Project,
        folder: &DataFolder,
        options: &ServeOptions,
        entropy: &Entropy,
    ) -> anyhow::Result<Self> {
        let tls = tls::load(project.file.basalt.tls.as_ref(), &project.layout.folder)?;
        let address = SocketAddr::new(project.file.host(), options.port.unwrap_or_else(|| project.file.port()));
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!(
                "listening on {address}: is another server there? --port N takes another port, --port 0 any that is free"
            )
        })?;
        let listening = listener.local_addr()?;
        let port = listening.port();
        let url = if options.test.is_some() { project.local_url(port) } else { project.api_url(port) };
        let keys = if options.test.map_or(project.file.basalt.has_demo_keys, |test| test.has_demo_keys) {
            api_keys::demo_keys()
        } else {
            api_keys::load_or_create(folder.path(), &project.configured_keys(), entropy, SystemClock.now())?
        };
        let addresses = Addresses { url, origin: origin(listening, tls.is_some()) };
        Ok(Self { listener, tls, addresses, keys: Arc::new(keys) })
    }
}

/// Returns the server's URL as this machine itself reaches it.
fn origin(listening: SocketAddr, has_tls: bool) -> String {
    let ip = match listening.ip() {
        ip if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        ip => ip,
    };
    let scheme = if has_tls { "https" } else { "http" };
    format!("{scheme}://{}", SocketAddr::new(ip, listening.port()))
}
