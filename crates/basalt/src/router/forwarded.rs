//! Services that the operator runs: who may call them, before the gateway forwards the request.

use axum::extract::Request;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gateway::{Route, RouteAccess, Service, build_error};
use http::header::{AUTHORIZATION, UPGRADE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use http_edge::request::{ApiKeyRole, BearerWhitespace, cors, is_same_origin, parse_bearer};

use super::forwarded_services::ForwardedServices;
use super::{EdgeRouter, error_responses};
use crate::api_keys::{ApiKeyGateway, RequestCredentials};

/// The longest `Authorization: Basic` that is decoded.
const MAX_BASIC_LENGTH: usize = 1_024;

/// Whether a request may be forwarded.
enum Permission {
    /// It may; with the role of its API key, if it has one.
    Granted(Option<ApiKeyRole>),
    /// It has no API key.
    MissingKey,
    /// Its API key is not valid.
    InvalidKey,
    /// Its API key has not the role for the service.
    WrongRole,
    /// No request may.
    Blocked,
}

impl EdgeRouter {
    /// Checks the API key of a request for a service of the operator, and forwards it.
    pub(super) async fn handle_forwarded(&self, route: Route, is_local: bool, mut request: Request) -> Response {
        let Some(services) = &self.forwarded else { return error_responses::internal_error() };
        let has_cors = route.service.has_public_cors();
        if has_cors && cors::is_preflight(request.method(), request.headers()) {
            return cors::FORWARDED.preflight_response(request.headers());
        }
        let uri = request.uri().clone();
        let permission = match route.access {
            RouteAccess::Blocked => Permission::Blocked,
            _ if is_local => Permission::Granted(None),
            RouteAccess::ServiceKey if route.service == Service::Studio => check_dashboard(&self.gateway, &request),
            access => {
                let found = self.gateway.authenticate(&uri, request.headers_mut());
                check_key(access, found, || {
                    let presented = self.gateway.find_invalid_key(&uri, request.headers());
                    presented.is_some_and(|key| key.text.starts_with("sb_"))
                })
            }
        };
        if matches!(permission, Permission::Granted(_))
            && let Some(response) = self.refuse_forwarded_token(services, route, &uri, request.headers()).await
        {
            return if has_cors { cors::FORWARDED.apply(response) } else { response };
        }
        let response = match permission {
            Permission::Granted(role) => {
                let token = role.map(|role| self.gateway.role_token(role));
                services.gateway.forward(request, route, token.as_deref()).await
            }
            refused => self.refuse(&refused, route, &request),
        };
        if has_cors { cors::FORWARDED.apply(response) } else { response }
    }

    /// Refuses a token that does not open the service, and at functions one of an ended session.
    async fn refuse_forwarded_token(
        &self,
        services: &ForwardedServices,
        route: Route,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Option<Response> {
        if route.service == Service::Studio {
            return None;
        }
        if let Some(refused) = self.refuse_token_use(route.service.name(), uri, headers) {
            return Some(refused);
        }
        if route.service != Service::Functions {
            return None;
        }
        self.refuse_ended_session(&services.check_standing, uri, headers).await
    }

    fn refuse(&self, permission: &Permission, route: Route, request: &Request) -> Response {
        let mut response = match permission {
            Permission::Blocked | Permission::Granted(_) => {
                build_error(StatusCode::FORBIDDEN, "Access is forbidden.", "This path is not forwarded.")
            }
            Permission::MissingKey => self.explanations.missing_key(request, error_responses::missing_api_key()),
            Permission::InvalidKey => {
                let presented = self.gateway.find_invalid_key(request.uri(), request.headers());
                self.explanations.invalid_key(request, presented.as_ref(), error_responses::invalid_api_key())
            }
            Permission::WrongRole => build_error(
                StatusCode::FORBIDDEN,
                "You cannot consume this service",
                "It needs the secret key, which `basalt status` prints.",
            ),
        };
        if route.service == Service::Studio && response.status() == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"Basalt: the secret key is the password\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// Decides by the credentials that the API key gateway found.
///
/// A service with open routes gets tokens that this server cannot verify, but no invalid API key.
fn check_key(access: RouteAccess, found: RequestCredentials, is_api_key: impl Fn() -> bool) -> Permission {
    match (access, found) {
        (RouteAccess::ServiceKey, RequestCredentials::Key(ApiKeyRole::Service)) => {
            Permission::Granted(Some(ApiKeyRole::Service))
        }
        (RouteAccess::ServiceKey, RequestCredentials::Key(_) | RequestCredentials::Token) => Permission::WrongRole,
        (_, RequestCredentials::Key(role)) => Permission::Granted(Some(role)),
        (_, RequestCredentials::Token) | (RouteAccess::Open, RequestCredentials::Missing) => Permission::Granted(None),
        (RouteAccess::Open, RequestCredentials::Invalid) if !is_api_key() => Permission::Granted(None),
        (_, RequestCredentials::Missing) => Permission::MissingKey,
        (_, RequestCredentials::Invalid) => Permission::InvalidKey,
    }
}

/// Checks the password of a browser for the dashboard: the secret key, with any user name.
///
/// A browser also sends the password with requests of other sites, which may only open pages of the dashboard.
fn check_dashboard(gateway: &ApiKeyGateway, request: &Request) -> Permission {
    let headers = request.headers();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD) && !headers.contains_key(UPGRADE);
    if !is_read && !is_same_origin(headers) {
        return Permission::Blocked;
    }
    match find_password(headers) {
        None => Permission::MissingKey,
        Some(password) if gateway.find_role(&password) == Some(ApiKeyRole::Service) => Permission::Granted(None),
        Some(_) => Permission::InvalidKey,
    }
}

/// Returns the password of `Authorization: Basic` (RFC 7617), or the token of `Authorization: Bearer`.
fn find_password(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok().filter(|value| value.len() <= MAX_BASIC_LENGTH)?;
    if let Some(token) = parse_bearer(value, BearerWhitespace::Kept).present() {
        return Some(token.to_owned());
    }
    let (scheme, rest) = value.split_once(' ')?;
    let decoded = scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(rest.trim()))?.ok()?;
    let (_, password) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    Some(password.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn password(value: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::try_from(value).expect("a value"));
        find_password(&headers)
    }

    #[test]
    fn password_is_read_from_basic_and_bearer() {
        assert_eq!(password("Basic YTpzYl9zZWNyZXQ6MQ==").as_deref(), Some("sb_secret:1"));
        assert_eq!(password("bearer sb_secret").as_deref(), Some("sb_secret"));
        for value in ["Basic", "Basic YQ==", "Basic !", "Digest a:b", &format!("Basic {}", "A".repeat(2_000))] {
            assert_eq!(password(value), None, "{value}");
        }
    }

    proptest! {
        #[test]
        fn any_password_is_read_back(user in "[a-z]{0,8}", secret in "[ -~]{0,40}") {
            let value = format!("Basic {}", STANDARD.encode(format!("{user}:{secret}")));
            prop_assert_eq!(password(&value), Some(secret));
        }

        #[test]
        fn no_value_is_read_as_a_longer_password(value in "(Basic |Bearer )?[ -~]{0,60}") {
            prop_assert!(password(&value).is_none_or(|password| password.len() <= value.len()));
        }
    }
}
