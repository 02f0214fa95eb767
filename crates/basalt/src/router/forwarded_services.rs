//! The services that the operator runs, and their routes.

use axum::extract::Request;
use functions_rs::gateway::CheckStanding;
use gateway::{Gateway, Route, RouteAccess, Service};

use super::area::Area;
use crate::dev::Access;

/// The services of `[basalt.upstreams]`.
pub(crate) struct ForwardedServices {
    /// Forwards requests.
    pub gateway: Gateway,
    /// The functions that the process itself serves.
    pub built_in_functions: Vec<&'static str>,
    /// Access of callers on this machine in development.
    pub access: Access,
    /// Whether users may still call functions.
    pub check_standing: CheckStanding,
}

impl ForwardedServices {
    /// Finds the route of a path, unless this process serves the path itself.
    pub(super) fn find_route(&self, path: &str, area: Area) -> Option<Route> {
        match area {
            Area::NotServed(..) | Area::Shop | Area::DataApi(_) | Area::Storage => self.gateway.find_route(path),
            Area::Functions => {
                let name = path.split('/').nth(3).unwrap_or_default();
                let is_built_in = self.built_in_functions.contains(&name);
                self.gateway.find_route(path).filter(|_| !is_built_in)
            }
            Area::Auth | Area::OAuthMetadata | Area::Dev | Area::Desk | Area::Content | Area::Forwarded(..) => None,
        }
    }

    /// Returns whether a caller on this machine needs no key for a route, which is so in development.
    ///
    /// It depends on the request as the client sent it. The dashboard may also be opened by a link.
    pub(super) fn is_local(&self, route: Route, request: &Request) -> impl Future<Output = bool> + Send + use<> {
        let is_keyed = route.access == RouteAccess::ServiceKey;
        let is_local = is_keyed.then(|| self.access.is_local(request, route.service == Service::Studio));
        async move {
            match is_local {
                Some(is_local) => is_local.await,
                None => false,
            }
        }
    }
}
