//! Access control of all pages below `/_dev`.
//! It reads the request as the client sent it, before the router removes or rewrites a header.
//!
//! The peer's address is not sufficient: a browser on this machine also runs pages of foreign sites, and a reverse
//! proxy on this machine connects from it. Neither is `Host`: by default nginx and Apache send the upstream's own name.
//! A proxy shows by HTTP/1.0 (nginx before 1.29.7) or by a header that it adds (Apache). One that does neither, such as
//! later versions of nginx, shows by its user: proxies run as a user of their own, see [`super::peer_process`]. A proxy
//! that the server's own user runs and that does neither is not distinguished from a browser.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{ConnectInfo, Request};
use gotrue_rules::domain::redirect::is_loopback_host;
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, Version};
use http_edge::request::forwarded::has_forwarded_header;
use http_edge::request::{
    BearerWhitespace, ClientAddress, FetchSite, ResolvedRequest, is_sent_by_foreign_content, single_header,
};
use ipnet::IpNet;
use subtle::ConstantTimeEq;

use super::peer_process::LoopbackConnection;
use super::token_guesses::TokenGuesses;

const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The access rule of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessRule<'a> {
    /// Clients on this machine, of the server's own user or root, except pages of other sites.
    Local,
    /// The same, and top-level navigations from other sites in browsers on this machine.
    LocalOrNavigation,
    /// Clients on this machine, and clients with the inbox token.
    LocalOrToken,
    /// Any client.
    /// The page has no secrets and is at this authority or a name of this machine, unframed.
    Public {
        /// Public host and port of the server, in lower case.
        authority: &'a str,
    },
}

/// The result of an access rule, as far as the request alone determines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AccessDecision {
    Allowed,
    Denied,
    /// Allowed if the client of this connection is a process of the server's user or root.
    AllowedToUser(LoopbackConnection),
}

/// The operator's settings for access to the pages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Access {
    /// Whether clients on this machine need no token.
    is_local_access_enabled: bool,
    token: Option<String>,
    guesses: Arc<TokenGuesses>,
}

impl Access {
    /// Creates the settings.
    /// `is_open_here`: clients on this machine need no token.
    /// `token` grants access to the inbox from other machines.
    pub(crate) fn new(is_open_here: bool, token: Option<String>) -> Self {
        Self { is_local_access_enabled: is_open_here, token, guesses: Arc::default() }
    }

    /// Returns whether a request satisfies the access rule of a page.
    ///
    /// The user of the client is looked up only if the answer depends on it.
    pub(crate) fn is_allowed(
        &self,
        request: &Request,
        audience: AccessRule<'_>,
    ) -> impl Future<Output = bool> + Send + use<> {
        let decision = self.decide(request, audience);
        async move {
            match decision {
                AccessDecision::Allowed => true,
                AccessDecision::Denied => false,
                AccessDecision::AllowedToUser(connection) => connection.is_of_own_user().await,
            }
        }
    }

    fn decide(&self, request: &Request, audience: AccessRule<'_>) -> AccessDecision {
        let is_local = match audience {
            AccessRule::Public { authority } => {
                let is_allowed = is_public_page_request(request, authority);
                return if is_allowed { AccessDecision::Allowed } else { AccessDecision::Denied };
            }
            AccessRule::Local => is_local_same_site(request),
            AccessRule::LocalOrNavigation => is_local_same_site(request) || is_local_navigation(request),
            AccessRule::LocalOrToken => {
                if self.has_right_token(request) {
                    return AccessDecision::Allowed;
                }
                is_local_same_site(request)
            }
        };
        if !self.is_local_access_enabled || !is_local {
            return AccessDecision::Denied;
        }
        LoopbackConnection::of_request(request).map_or(AccessDecision::Denied, AccessDecision::AllowedToUser)
    }

    fn has_right_token(&self, request: &Request) -> bool {
        let Some(token) = &self.token else { return false };
        let given = given_tokens(request);
        if given.is_empty() {
            return false;
        }
        let is_right = || given.iter().any(|given| bool::from(given.as_bytes().ct_eq(token.as_bytes())));
        self.guesses.check(network_of(request), Instant::now(), is_right)
    }

    /// Returns whether a caller on this machine may use what is for development only.
    /// `is_page`: it may also be opened by a link of another site.
    pub(crate) fn is_local(&self, request: &Request, is_page: bool) -> impl Future<Output = bool> + Send + use<> {
        self.is_allowed(request, if is_page { AccessRule::LocalOrNavigation } else { AccessRule::Local })
    }

    /// Returns the message for a request that is denied.
    pub(crate) fn denial_message(&self, audience: AccessRule<'_>) -> &'static str {
        match audience {
            AccessRule::Public { .. } => {
                "This page is opened in a tab of its own, at the address of [api] external_url in config.toml, or at \
                 http://127.0.0.1 or http://localhost.\n"
            }
            _ if !self.is_local_access_enabled => {
                "The development pages are off, because config.toml names a public address or a mail server.\n\
                 To have them on this machine: set development_pages = true under [basalt].\n\
                 From elsewhere: set [basalt.inbox] token and add ?token=… to the address.\n"
            }
            AccessRule::LocalOrToken => {
                "These pages are for browsers and tests on this machine, at http://127.0.0.1 or http://localhost, run by \
                 the server's user, and through no proxy.\nFrom elsewhere: set [basalt.inbox] token in config.toml and add ?token=… to the address.\n"
            }
            AccessRule::Local | AccessRule::LocalOrNavigation => {
                "This page is for browsers on this machine, at http://127.0.0.1 or http://localhost, run by the server's \
                 user, and through no proxy.\n"
            }
        }
    }
}

/// Returns whether a request is from this machine, by its own name, and not from another site or a document with foreign
/// content.
fn is_local_same_site(request: &Request) -> bool {
    let headers = request.headers();
    is_local_direct(request)
        && !is_sent_by_foreign_content(headers)
        && !FetchSite::of(headers).is_some_and(FetchSite::is_foreign_page)
}

/// Returns whether a browser on this machine opens the page as a top-level navigation, from any site.
fn is_local_navigation(request: &Request) -> bool {
    is_local_direct(request) && is_navigation(request.headers())
}

/// Returns whether a request to that authority, or a name of this machine, may get the public page.
/// It is a top-level navigation from any site, or a subresource of the page itself.
fn is_public_page_request(request: &Request, authority: &str) -> bool {
    let headers = request.headers();
    let is_ours = |host: &str| is_local_host(host) || host.eq_ignore_ascii_case(authority);
    host_of(request).is_some_and(is_ours)
        && (is_navigation(headers) || !FetchSite::of(headers).is_some_and(FetchSite::is_foreign_page))
}

/// Returns whether a browser opens the page in a tab of its own.
fn is_navigation(headers: &HeaderMap) -> bool {
    single_header(headers, &FETCH_MODE).present() == Some("navigate")
        && single_header(headers, &FETCH_DEST).present() == Some("document")
}

/// Returns whether a request is from this machine: no proxy, a name of this machine, no other origin.
fn is_local_direct(request: &Request) -> bool {
    let headers = request.headers();
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let is_loopback = peer.is_some_and(|peer| peer.0.ip().to_canonical().is_loopback());
    let host = host_of(request);
    is_loopback
        && !is_forwarded(request)
        && host.is_some_and(is_local_host)
        && (!headers.contains_key(ORIGIN)
            || single_header(headers, &ORIGIN)
                .present()
                .and_then(|origin| origin.split_once("://"))
                .map(|(_, rest)| rest)
                == host)
}

/// Returns whether an intermediary is involved, according to the headers or the HTTP version.
/// Proxies use HTTP/1.0 to their upstreams (nginx by default), browsers do not.
fn is_forwarded(request: &Request) -> bool {
    request.version() < Version::HTTP_11 || has_forwarded_header(request.headers())
}

/// Returns the host and port of the request: its single `Host`.
/// An absolute-form target must repeat it (RFC 9112 §3.2.2).
fn host_of(request: &Request) -> Option<&str> {
    let host = single_header(request.headers(), &HOST).present()?;
    let is_repeated = request.uri().authority().is_none_or(|target| target.as_str().eq_ignore_ascii_case(host));
    is_repeated.then_some(host)
}

/// Returns whether a host, with or without a port, is this machine.
fn is_local_host(host: &str) -> bool {
    !host.contains('@') && host.parse::<Authority>().is_ok_and(|authority| is_loopback_host(authority.host()))
}

/// Returns the tokens of a request, in its query and in `Authorization`.
fn given_tokens(request: &Request) -> Vec<&str> {
    let query = request.uri().query().unwrap_or_default();
    let by_query = query.split('&').find_map(|part| part.strip_prefix("token="));
    let by_header = single_header(request.headers(), &AUTHORIZATION).bearer(BearerWhitespace::Kept);
    by_query.into_iter().chain(by_header.present()).collect()
}

/// Returns the network of the client; that of an unknown client is shared.
fn network_of(request: &Request) -> IpNet {
    let resolved = request.extensions().get::<ResolvedRequest>().and_then(|resolved| resolved.client);
    resolved.map_or_else(|| IpNet::from(IpAddr::V4(Ipv4Addr::UNSPECIFIED)), ClientAddress::network)
}
