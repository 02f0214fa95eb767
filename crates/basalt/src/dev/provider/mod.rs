//! The provider simulator below `/_dev/provider`, for testing social sign-in.
//! It replaces the providers of `[basalt.provider] stands_in_for`; a page lets the developer choose a user.
//!
//! All endpoints are for this machine only.

use axum::extract::Request;
use http::uri::PathAndQuery;
use http::{Method, Uri};
use provider_simulator::{Simulator, SimulatorOptions};

use super::access::AccessRule;

/// The path prefix of all endpoints.
const PATH: &str = "/_dev/provider";
const PAGE_TEMPLATE: &str = include_str!("../../../../../frontend/dist/development/provider/page.html");

/// Returns the options of the simulator of a server.
/// It listens at `origin`, which may have a path; `auth_url` is its auth API.
pub(crate) fn simulator_options(origin: &str, auth_url: &str) -> SimulatorOptions {
    SimulatorOptions { base_url: format!("{origin}{PATH}"), auth_url: auth_url.to_owned(), page: PAGE_TEMPLATE }
}

/// Returns whether the path belongs to the simulator.
pub(crate) fn is_provider_path(path: &str) -> bool {
    path.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Adds the path of the server's URL, which the simulator knows and a router in front has removed.
pub(super) fn restore_path(simulator: &Simulator, request: &mut Request) {
    let Some(prefix) = simulator.base_path().strip_suffix(PATH).filter(|prefix| !prefix.is_empty()) else { return };
    let below = request.uri().path_and_query().map_or(PATH, PathAndQuery::as_str);
    if let Ok(whole) = PathAndQuery::try_from(format!("{prefix}{below}")) {
        *request.uri_mut() = Uri::from(whole);
    }
}

/// Returns the access rule of a request.
/// The pages allow navigations from any site, because every sign-in begins with one.
pub(super) fn access_rule(simulator: &Simulator, request: &Request) -> AccessRule<'static> {
    let is_page = request.method() == Method::GET && simulator.is_page(request.uri().path());
    if is_page { AccessRule::LocalOrNavigation } else { AccessRule::Local }
}

#[cfg(test)]
mod tests;
