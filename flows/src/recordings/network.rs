//! Free ports, and the client of the requests.

use std::net::{Ipv4Addr, TcpListener};

use reqwest::Client;
use reqwest::redirect::Policy;

use crate::FlowError;

/// A client that follows no redirect and uses no proxy.
pub(super) fn client() -> Result<Client, FlowError> {
    let built = Client::builder().redirect(Policy::none()).no_proxy().build();
    built.map_err(|error| FlowError::new(format!("no HTTP client: {error}"), "report this"))
}

/// Returns a port that is free now.
pub(super) fn free_port() -> Result<u16, FlowError> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    bound
        .map(|address| address.port())
        .map_err(|error| FlowError::new(format!("no free port: {error}"), "close programs that listen"))
}
