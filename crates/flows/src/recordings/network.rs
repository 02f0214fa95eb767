//! Free ports, and the client of the requests.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use reqwest::Client;
use reqwest::redirect::Policy;

use crate::FlowError;

/// The first port of servers.
const FIRST_PORT: u32 = 15_000;
/// The number of ports of servers.
const PORTS: u32 = 17_000;

/// A client that follows no redirect and uses no proxy.
pub(super) fn client() -> Result<Client, FlowError> {
    let built = Client::builder().redirect(Policy::none()).no_proxy().build();
    built.map_err(|error| FlowError::new(format!("no HTTP client: {error}"), "report this"))
}

/// Returns a port that is free now and that no connection of a client takes.
///
/// Systems choose the ports of clients above 32767; a port that is free now may be one of theirs a moment later.
pub(super) fn free_port() -> Result<u16, FlowError> {
    /// Different processes begin at different ports.
    static NEXT: LazyLock<AtomicU32> = LazyLock::new(|| AtomicU32::new(std::process::id().wrapping_mul(61)));
    let candidates = (0..PORTS).map(|_| FIRST_PORT + NEXT.fetch_add(1, Ordering::Relaxed) % PORTS);
    let mut candidates = candidates.filter_map(|port| u16::try_from(port).ok());
    let free = candidates.find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    free.ok_or_else(|| FlowError::new("no free port", "close programs that listen"))
}
