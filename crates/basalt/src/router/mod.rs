//! Routes the requests of `basalt serve` to the auth API, functions, development pages or shop.
//! Routing uses the raw path. Nothing is decoded or normalized here, so that two parsers of a path cannot disagree.

mod area;
mod content_host;
mod data_api;
mod desk;
mod error_responses;
mod explain;
mod form_visits;
mod forwarded;
mod forwarded_services;
mod own_host;
mod paths;
mod published_keys;
mod secret_keys;
mod storage;
mod submission_form;
mod token_use;
mod transport_security;

use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use futures::FutureExt;
use http::Method;
use http::header::{HOST, ORIGIN, STRICT_TRANSPORT_SECURITY};
use http_edge::request::forwarded::replace_forwarded_headers;
use http_edge::request::{
    ClientAddress, REQUEST_ID, RequestId, RequestIdSource, RequestedUri, ResolvedRequest, TrustedProxies, cors,
    is_same_origin,
};
use orders::http::{is_order_path, logged_path};
use postgrest_rs::service::DataApi;
use storage_rs::storage::Storage;
use tokio::sync::watch;
use tower::ServiceExt;

use crate::api_keys::{ApiKeyGateway, RequestCredentials, normalize_authorization};
use crate::assets::{Shop, add_security_headers};
use crate::dev::DevelopmentPages;
use crate::mailed_links::MailedLinks;
use crate::metrics;
use area::Area;
pub(crate) use content_host::ContentHost;
pub(crate) use desk::DeskArea;
pub(crate) use explain::RouterExplanations;
pub(crate) use form_visits::FormVisits;
pub(crate) use forwarded_services::ForwardedServices;
pub(crate) use own_host::OwnHost;
use paths::{DATA_API, STORAGE, is_below, is_consent_path, is_keyless_path, strip_mount};
pub(crate) use published_keys::AllowedSenders;
pub(crate) use transport_security::TransportSecurity;

/// The services and the policies that the router applies before them.
pub(crate) struct EdgeRouter {
    /// The auth API, at its root.
    pub auth: Router,
    /// The functions, with their full paths.
    pub functions: Router,
    /// Services that the operator runs, if there are any.
    pub forwarded: Option<ForwardedServices>,
    /// The data API, if this server has it.
    pub data_api: Option<Arc<DataApi>>,
    /// The storage API, if this server has it.
    pub storage: Option<Arc<Storage>>,
    /// The host that stored content is read at, if it has one of its own.
    pub content_host: Option<ContentHost>,
    /// The shop; a reload of the settings replaces it.
    pub shop: watch::Receiver<Arc<Shop>>,
    /// The owner's desk, if the shop has one.
    pub desk: Option<DeskArea>,
    /// The visits of the form's page.
    pub form_visits: FormVisits,
    /// The orders of the shop, if there is one.
    pub orders: Option<Router>,
    pub dev: DevelopmentPages,
    pub gateway: ApiKeyGateway,
    /// Whose requests are answered while the keys are published.
    pub senders: AllowedSenders,
    /// In development pages may send the secret key, and every caller may read the description of the data API.
    pub is_in_development: bool,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub proxies: TrustedProxies,
    /// Keeps browsers that came by HTTPS there.
    pub transport_security: TransportSecurity,
    /// Explains what the router refuses.
    pub explanations: RouterExplanations,
    /// The pages of links in mails.
    pub links: Option<MailedLinks>,
    /// Generates request ids.
    pub entropy: platform::entropy::Entropy,
}

impl EdgeRouter {
    /// Answers one request.
    /// A panic in a handler becomes a 500 response.
    pub(crate) async fn handle(self: Arc<Self>, mut request: Request) -> Response {
        let started = Instant::now();
        let area = self.find_area(&request).await;
        let transport_security = self.transport_security.header(&request);
        let resolved = self.resolve(&request);
        let id = resolved.id.to_header_value();
        request.headers_mut().insert(REQUEST_ID, id.clone());
        // Access to the development pages depends on the original request: forwarded headers show that there is a
        // proxy.
        if area != Area::Dev {
            sanitize_headers(&mut request, &resolved);
        }
        if area != Area::Desk {
            ::desk::remove_cookies(request.headers_mut());
        }
        request.extensions_mut().insert(resolved);
        let request_line =
            RequestLine { method: request.method().clone(), path: logged_path(request.uri().path()).to_owned() };
        let handled = AssertUnwindSafe(self.dispatch(area, request)).catch_unwind().await;
        let mut response = handled.unwrap_or_else(|_| {
            tracing::error!(request.id = ?id, area = area.name(), "a handler panicked");
            error_responses::internal_error()
        });
        response.headers_mut().insert(REQUEST_ID, id);
        if let Some(value) = transport_security {
            response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, value);
        }
        metrics::record_response(area.name(), &request_line.method, &response, started.elapsed());
        log_request(area, &request_line, &response, started);
        response
    }

    /// Finds what answers a request.
    /// The request is unmodified: access by callers on this machine depends on its headers.
    fn find_area(&self, request: &Request) -> impl Future<Output = Area> + Send + use<> {
        let path = request.uri().path();
        let area = match &self.desk {
            Some(desk) if desk.is_of(request) => Area::Desk,
            _ if self.content_host.as_ref().is_some_and(|host| host.is_of(request)) => Area::Content,
            _ if self.is_data_api(path) => Area::DataApi(false),
            _ if self.is_storage(path) => Area::Storage,
            _ => Area::from_path(path),
        };
        let found = self.forwarded.as_ref().and_then(|services| Some((services, services.find_route(path, area)?)));
        let forwarded = found.map(|(services, route)| (route, services.is_local(route, request)));
        let is_keyless = area == Area::DataApi(false) && ApiKeyGateway::is_keyless(request.uri(), request.headers());
        let is_local = is_keyless.then(|| self.dev.access().is_local(request, false));
        async move {
            match (forwarded, is_local) {
                (Some((route, is_local)), _) => Area::Forwarded(route, is_local.await),
                (None, Some(is_local)) => Area::DataApi(is_local.await),
                (None, None) => area,
            }
        }
    }

    /// Returns whether this server answers `/rest/v1` itself.
    fn is_data_api(&self, path: &str) -> bool {
        self.data_api.is_some() && is_below(path, DATA_API)
    }

    /// Returns whether this server answers `/storage/v1` itself.
    fn is_storage(&self, path: &str) -> bool {
        self.storage.is_some() && is_below(path, STORAGE)
    }

    async fn dispatch(&self, area: Area, mut request: Request) -> Response {
        if self.gateway.are_keys_published()
            && let Some(refused) = self.senders.refuse(&self.gateway, area, &request)
        {
            return cors::GATEWAY.apply(refused);
        }
        if let Some(refused) = self.refuse_secret_key_of_page(&request) {
            return cors::GATEWAY.apply(refused);
        }
        if area.reads_tokens() && normalize_authorization(request.headers_mut(), area.accepts_bare_tokens()).is_err() {
            return cors::FORWARDED.apply(error_responses::ambiguous_authorization());
        }
        match area {
            Area::Auth => self.handle_auth(request).await,
            Area::OAuthMetadata => cors::GATEWAY.apply(forward(&self.auth, request).await),
            Area::Functions => forward(&self.functions, request).await,
            Area::Dev => self.dev.answer(request).await,
            Area::Forwarded(route, is_local) => self.handle_forwarded(route, is_local, request).await,
            Area::NotServed(mount, what) => {
                if cors::is_preflight(request.method(), request.headers()) {
                    return cors::GATEWAY.preflight_response(request.headers());
                }
                let response = error_responses::not_served(mount, what);
                cors::GATEWAY.apply(self.explanations.not_served(&request, mount, response))
            }
            Area::DataApi(is_local) => match &self.data_api {
                Some(api) => Box::pin(self.handle_data_api(api, is_local, request)).await,
                None => error_responses::internal_error(),
            },
            Area::Storage | Area::Content => match &self.storage {
                // Its requests are large values, which the others need not carry.
                Some(storage) => Box::pin(self.handle_storage(storage, request)).await,
                None => error_responses::internal_error(),
            },
            Area::Desk => match &self.desk {
                Some(desk) => desk.answer(request).await,
                None => self.handle_shop(request).await,
            },
            Area::Shop => self.handle_shop(request).await,
        }
    }

    /// Answers with a file, a page, or the outcome of a form.
    async fn handle_shop(&self, request: Request) -> Response {
        if let Some(orders) = self.orders.as_ref().filter(|_| is_order_path(request.uri().path())) {
            return add_security_headers(forward(orders, request).await);
        }
        let shop = self.shop.borrow().clone();
        if shop.has_form(request.uri().path()) {
            if request.method() == Method::POST {
                return self.handle_form(request).await;
            }
            if let Some(client) = request.extensions().get::<ResolvedRequest>().and_then(|resolved| resolved.client) {
                self.form_visits.record(client.network());
            }
        }
        let response = shop.answer(request.method(), request.uri(), request.headers());
        if let Some(desk) = &self.desk {
            desk.record_view(&shop, &request, &response);
        }
        response
    }

    /// Answers CORS here, so that error responses of the gateway carry it too.
    ///
    /// The auth API sees no origin, except where it decides by it: pages of other origins than this server's must be allowed
    /// redirect targets in order to decide about an OAuth client, and have no use of the forms of mailed links.
    async fn handle_auth(&self, mut request: Request) -> Response {
        if cors::is_preflight(request.method(), request.headers()) {
            return self.explanations.preflight(&request, cors::GATEWAY.preflight_response(request.headers()));
        }
        let uri = strip_mount(request.uri(), "/auth/v1");
        let is_judged_by_origin = is_consent_path(uri.path()) || MailedLinks::is_form_path(uri.path());
        if !is_judged_by_origin || is_same_origin(request.headers()) {
            request.headers_mut().remove(ORIGIN);
        }
        let found = self.gateway.authenticate(&uri, request.headers_mut());
        let open = is_keyless_path(uri.path());
        let requested = std::mem::replace(request.uri_mut(), uri);
        request.extensions_mut().insert(RequestedUri(requested));
        if let Some(links) = self.links.as_ref().filter(|links| links.is_of(&request)) {
            // A form asks the API several times; other requests need not carry that much.
            return Box::pin(links.answer(&self.auth, request)).await;
        }
        let response = match found {
            RequestCredentials::Key(_) | RequestCredentials::Token => forward(&self.auth, request).await,
            _ if open => forward(&self.auth, request).await,
            RequestCredentials::Missing => self.explanations.missing_key(&request, error_responses::missing_api_key()),
            RequestCredentials::Invalid => {
                let presented = self.gateway.find_invalid_key(request.uri(), request.headers());
                self.explanations.invalid_key(&request, presented.as_ref(), error_responses::invalid_api_key())
            }
        };
        cors::GATEWAY.apply(response)
    }

    /// Resolves client address and request id, once for all services.
    fn resolve(&self, request: &Request) -> ResolvedRequest {
        let headers = request.headers();
        let new_id = || self.entropy.uuid().to_string();
        ResolvedRequest {
            id: RequestId::resolve(headers, RequestIdSource::WellFormed(REQUEST_ID.as_str()), new_id),
            client: peer_address(request).map(|peer| self.proxies.find_client(peer, headers)),
        }
    }
}

fn peer_address(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip())
}

/// Replaces forwarded headers by the client's address, and removes an ambiguous host.
fn sanitize_headers(request: &mut Request, resolved: &ResolvedRequest) {
    let peer = peer_address(request);
    let headers = request.headers_mut();
    replace_forwarded_headers(headers, peer, resolved.client.map(ClientAddress::address));
    // With two hosts, two parsers could choose different ones.
    if headers.get_all(HOST).iter().count() > 1 {
        headers.remove(HOST);
    }
}

/// Method and path of a request, for the log.
struct RequestLine {
    method: Method,
    path: String,
}

/// Logs requests of services without a log of their own.
/// The query is omitted because it may carry secrets.
fn log_request(area: Area, RequestLine { method, path }: &RequestLine, response: &Response, started: Instant) {
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (area, status) = (area.name(), response.status().as_u16());
    let id = response.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok());
    match area {
        "auth" => {}
        "functions" | "rest" | "graphql" | "storage" | "realtime" | "meta" => {
            tracing::info!(request.id = id, area, %method, path, status, duration_ms, "request answered");
        }
        _ => tracing::debug!(request.id = id, area, %method, path, status, duration_ms, "request answered"),
    }
}

async fn forward(router: &Router, request: Request) -> Response {
    match router.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

#[cfg(test)]
mod tests;
