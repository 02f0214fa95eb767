//! Routes: which service a path belongs to, its path there, and who may call it.
//!
//! The table is that of Supabase's gateway configuration for self-hosting. Paths are matched by whole segments.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::service::Service;

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteAccess {
    /// Requests with an API key or a valid token.
    Key,
    /// Any request: the service checks credentials itself. An invalid API key is refused nevertheless.
    Open,
    /// Requests with a key of the role `service_role`.
    ServiceKey,
    /// No request: paths for the administration of the service itself.
    Blocked,
}

/// The route of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub service: Service,
    /// Who may use it.
    pub access: RouteAccess,
    /// The part of the path that is replaced.
    pub(crate) mount: &'static str,
    target: &'static str,
}

const fn route(mount: &'static str, service: Service, target: &'static str, access: RouteAccess) -> Route {
    Route { service, access, mount, target }
}

/// The routes, the more specific ones first.
const ROUTES: [Route; 11] = [
    route("/rest/v1", Service::Rest, "", RouteAccess::Key),
    route("/graphql/v1", Service::GraphQl, "/rpc/graphql", RouteAccess::Key),
    route("/storage/v1", Service::Storage, "", RouteAccess::Open),
    route("/realtime/v1/api/tenants", Service::Realtime, "/api/tenants", RouteAccess::Blocked),
    route("/realtime/v1/api/openapi", Service::Realtime, "/api/openapi", RouteAccess::Blocked),
    route("/realtime/v1/api", Service::Realtime, "/api", RouteAccess::Key),
    route("/realtime/v1", Service::Realtime, "/socket", RouteAccess::Key),
    route("/functions/v1", Service::Functions, "", RouteAccess::Open),
    route("/pg", Service::Meta, "", RouteAccess::ServiceKey),
    route("/api/mcp", Service::Studio, "/api/mcp", RouteAccess::Blocked),
    route("/mcp", Service::Studio, "/api/mcp", RouteAccess::Blocked),
];

/// The most times that a path may be encoded.
const MAX_ENCODINGS: usize = 4;

/// All other paths belong to the dashboard.
const STUDIO: Route = route("", Service::Studio, "", RouteAccess::ServiceKey);

impl Route {
    /// Finds the route of a raw path.
    ///
    /// A path is blocked if it is so after decoding, too: services decode paths and ignore empty segments.
    pub(crate) fn find(path: &str) -> Self {
        let raw = ROUTES.iter().find(|route| is_below(path, route.mount)).unwrap_or(&STUDIO);
        let is_blocked = decode(path).is_none_or(|decoded| {
            let is_refused = |route: &Route| route.access == RouteAccess::Blocked && is_below(&decoded, route.mount);
            ROUTES.iter().any(is_refused) || has_dot_segment(&decoded)
        });
        if is_blocked { Self { access: RouteAccess::Blocked, ..*raw } } else { *raw }
    }

    /// Returns the path at the service.
    pub(crate) fn target_path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let rest = path.strip_prefix(self.mount).unwrap_or(path);
        match (self.target, rest) {
            ("", "") => Cow::Borrowed("/"),
            ("", rest) => Cow::Borrowed(rest),
            (target, rest) => Cow::Owned(format!("{target}{rest}")),
        }
    }
}

fn is_below(path: &str, mount: &str) -> bool {
    path.strip_prefix(mount).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Decodes a path as often as it can be, and joins adjacent slashes: a service may decode what a proxy before it has
/// decoded. `None` if it is encoded more often than any client would.
fn decode(path: &str) -> Option<String> {
    let mut decoded = path.to_owned();
    for _ in 0..MAX_ENCODINGS {
        let next = percent_decode_str(&decoded).decode_utf8_lossy().into_owned();
        if next == decoded {
            let mut joined = String::with_capacity(decoded.len());
            for character in decoded.chars() {
                if character != '/' || !joined.ends_with('/') {
                    joined.push(character);
                }
            }
            return Some(joined);
        }
        decoded = next;
    }
    None
}

/// Returns whether a service could take a part of the path for the parent folder, also if it ignores parameters of segments
/// (`..;a=b`).
fn has_dot_segment(decoded: &str) -> bool {
    let name = |segment: &str| segment.split(';').next().unwrap_or_default().trim().to_owned();
    decoded.split(['/', '\\']).any(|segment| matches!(name(segment).as_str(), "." | ".."))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_are_rewritten_as_by_supabase() {
        use RouteAccess::{Blocked, Key, Open, ServiceKey};
        use Service::{Functions, GraphQl, Meta, Realtime, Rest, Storage, Studio};
        for (path, service, target, access) in [
            ("/rest/v1/todos", Rest, "/todos", Key),
            ("/rest/v1/", Rest, "/", Key),
            ("/rest/v1", Rest, "/", Key),
            ("/rest/v1/rpc/a%2fb", Rest, "/rpc/a%2fb", Key),
            ("/graphql/v1", GraphQl, "/rpc/graphql", Key),
            ("/storage/v1/object/public/a/b.png", Storage, "/object/public/a/b.png", Open),
            ("/storage/v1/object/a//b", Storage, "/object/a//b", Open),
            ("/realtime/v1/websocket", Realtime, "/socket/websocket", Key),
            ("/realtime/v1/api/broadcast", Realtime, "/api/broadcast", Key),
            ("/realtime/v1/api/tenants", Realtime, "/api/tenants", Blocked),
            ("/realtime/v1/api/%74enants/x", Realtime, "/api/%74enants/x", Blocked),
            ("/realtime/v1/api//openapi", Realtime, "/api//openapi", Blocked),
            ("/realtime/v1/api/tenantsx", Realtime, "/api/tenantsx", Key),
            ("/functions/v1/hello/x", Functions, "/hello/x", Open),
            ("/pg/tables", Meta, "/tables", ServiceKey),
            ("/project/default", Studio, "/project/default", ServiceKey),
            ("/mcp", Studio, "/api/mcp", Blocked),
            ("/api/%6Dcp", Studio, "/api/%6Dcp", Blocked),
            ("/restv1", Studio, "/restv1", ServiceKey),
            ("/", Studio, "/", ServiceKey),
        ] {
            let found = Route::find(path);
            assert_eq!((found.service, found.access), (service, access), "{path}");
            assert_eq!(found.target_path(path), target, "{path}");
        }
    }

    #[test]
    fn dot_segments_are_blocked_in_every_encoding() {
        for path in [
            "/rest/v1/../pg",
            "/storage/v1/%2e%2e/x",
            "/pg/.%2E",
            "/functions/v1/a%2f..%2fb",
            "/rest/v1/..%5cx",
            "/storage/v1/%252e%252e/x",
            "/pg/%25252e%25252E/x",
            "/storage/v1/..;/x",
            "/storage/v1/a/..%3Bb=c/x",
            "/storage/v1/%2525252525252e/x",
        ] {
            assert_eq!(Route::find(path).access, RouteAccess::Blocked, "{path}");
        }
        for path in ["/storage/v1/object/a/.../b..png", "/storage/v1/object/100%25/a%3Bb", "/storage/v1/object/a;b/c"] {
            assert_eq!(Route::find(path).access, RouteAccess::Open, "{path}");
        }
        assert_eq!(Route::find("/realtime/v1/api/%2574enants").access, RouteAccess::Blocked);
    }

    proptest! {
        #[test]
        fn target_is_an_absolute_path(path in "(/rest/v1|/graphql/v1|/realtime/v1|/pg|)/[ -~]{0,30}") {
            let route = Route::find(&path);
            prop_assert!(route.target_path(&path).starts_with('/'));
            prop_assert!(path.starts_with(route.mount));
        }
    }
}
