//! The addresses of the services, as the operator configures them.

use std::fmt;

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};

use crate::service::Service;

/// The longest accepted URL.
const MAX_LENGTH: usize = 2_048;

/// The base URL of a service: scheme, host, port and an optional path.
///
/// Private addresses are allowed, because the operator configures them. Redirects are passed to the client, never
/// followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamUrl {
    scheme: Scheme,
    authority: Authority,
    /// Without a trailing slash.
    path: String,
}

/// Why a URL cannot be used, in words that follow its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidUpstreamUrl(&'static str);

impl fmt::Display for InvalidUpstreamUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }
}

impl UpstreamUrl {
    /// Parses a URL such as `http://rest:3000`.
    ///
    /// # Errors
    /// It is no URL with the scheme `http` or `https`, or has a user, a query, a fragment or an invalid port.
    pub fn parse(text: &str) -> Result<Self, InvalidUpstreamUrl> {
        if text.len() > MAX_LENGTH {
            return Err(InvalidUpstreamUrl("is longer than 2048 characters"));
        }
        let uri: Uri = text.parse().map_err(|_| InvalidUpstreamUrl(EXAMPLE))?;
        let parts = uri.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(InvalidUpstreamUrl(EXAMPLE));
        };
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(InvalidUpstreamUrl("must begin with http:// or https://; WebSockets use the same address"));
        }
        if authority.as_str().contains('@') {
            return Err(InvalidUpstreamUrl("must have no user and no password"));
        }
        if !is_valid_port(&authority) {
            return Err(InvalidUpstreamUrl("must have a host, and a port from 1 to 65535 if it has one"));
        }
        if text.contains(['?', '#']) {
            return Err(InvalidUpstreamUrl("must have no query and no fragment"));
        }
        let path = parts.path_and_query.as_ref().map_or("", PathAndQuery::path).trim_end_matches('/').to_owned();
        Ok(Self { scheme, authority, path })
    }

    /// Returns the URL of a target below this one; `target` begins with a slash.
    pub(crate) fn join(&self, target: &str) -> Option<Uri> {
        let target = if self.path.is_empty() {
            PathAndQuery::try_from(target)
        } else {
            PathAndQuery::try_from(format!("{}{target}", self.path))
        };
        let builder = Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone());
        builder.path_and_query(target.ok()?).build().ok()
    }

    /// Returns host and port.
    pub(crate) fn authority(&self) -> &str {
        self.authority.as_str()
    }

    /// Returns whether connections use TLS.
    pub(crate) fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }
}

const EXAMPLE: &str = "must be a URL, such as \"http://127.0.0.1:3000\"";

/// Returns whether there is a host, and a valid port or none.
fn is_valid_port(authority: &Authority) -> bool {
    let host = authority.host();
    let rest = authority.as_str().get(host.len()..).unwrap_or(":");
    !host.is_empty() && (rest.is_empty() || authority.port_u16().is_some_and(|port| port > 0))
}

impl fmt::Display for UpstreamUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}://{}{}", self.scheme, self.authority, self.path)
    }
}

/// The configured services.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Upstreams([Option<UpstreamUrl>; Service::ALL.len()]);

impl Upstreams {
    /// Sets the address of a service.
    pub fn set(&mut self, service: Service, url: UpstreamUrl) {
        self.0[service.index()] = Some(url);
    }

    /// Returns the address of a service; GraphQL is that of the data API unless it has its own.
    pub fn get(&self, service: Service) -> Option<&UpstreamUrl> {
        let own = self.0[service.index()].as_ref();
        if service == Service::GraphQl { own.or_else(|| self.get(Service::Rest)) } else { own }
    }

    /// Returns the number of services that have an address of their own.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// Returns whether no service has an address.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Returns whether a connection to any service uses TLS.
    pub(crate) fn has_https(&self) -> bool {
        self.0.iter().flatten().any(UpstreamUrl::is_https)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn url_is_scheme_host_port_and_path() {
        for (text, joined) in [
            ("http://rest:3000", "http://rest:3000/x?y"),
            ("http://rest:3000/", "http://rest:3000/x?y"),
            ("https://db.example/base/", "https://db.example/base/x?y"),
            ("http://[::1]:4000", "http://[::1]:4000/x?y"),
            ("HTTP://10.0.0.1", "http://10.0.0.1/x?y"),
        ] {
            let url = UpstreamUrl::parse(text).unwrap_or_else(|error| panic!("{text} {error}"));
            assert_eq!(url.join("/x?y").map(|uri| uri.to_string()).as_deref(), Some(joined));
        }
    }

    #[test]
    fn unusable_url_is_reported() {
        for (text, part) in [
            ("", "must be a URL"),
            ("rest:3000", "must be a URL"),
            ("/rest", "must be a URL"),
            ("ws://realtime:4000", "http:// or https://"),
            ("http://user:password@rest", "no user"),
            ("http://rest:0", "port"),
            ("http://rest:99999", "port"),
            ("http://rest:", "port"),
            ("http://rest/?a=b", "no query"),
            ("http://rest/#a", "no query"),
            ("http://re st", "must be a URL"),
        ] {
            let error = UpstreamUrl::parse(text).err().unwrap_or_else(|| panic!("{text} is accepted")).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn graphql_is_at_the_data_api_by_default() {
        let url = |text: &str| UpstreamUrl::parse(text).expect("a URL");
        let mut upstreams = Upstreams::default();
        assert!(upstreams.is_empty() && upstreams.get(Service::GraphQl).is_none());
        upstreams.set(Service::Rest, url("http://rest"));
        assert_eq!(upstreams.get(Service::GraphQl), Some(&url("http://rest")));
        upstreams.set(Service::GraphQl, url("http://graphql"));
        assert_eq!(upstreams.get(Service::GraphQl), Some(&url("http://graphql")));
    }

    proptest! {
        #[test]
        fn accepted_url_has_a_host_and_joins_any_path(text in "(https?://)?[ -~]{0,30}", path in "/[a-z0-9/%.-]{0,20}") {
            if let Ok(url) = UpstreamUrl::parse(&text) {
                let joined = url.join(&path).expect("a URL");
                prop_assert_eq!(joined.authority().map(Authority::as_str), Some(url.authority()));
                prop_assert!(joined.path().ends_with(&path));
                prop_assert!(!url.authority().contains('@'));
            }
        }
    }
}
