//! CORS (Fetch Standard §3.2): the policies of the APIs, and the headers that follow from them.

use axum::body::Body;
use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

/// The response header with the link to an explanation, which only development and tests have.
pub const EXPLAIN_HEADER: HeaderName = HeaderName::from_static("x-basalt-explain");

/// The auth API, as GoTrue answers.
pub const AUTH_API: CredentialedCors = CredentialedCors {
    allowed_methods: &["GET", "POST", "PUT", "PATCH", "DELETE"],
    allowed_headers: &[
        "accept",
        "authorization",
        "content-type",
        "x-client-ip",
        "x-client-info",
        "x-jwt-aud",
        "x-use-cookie",
        "x-supabase-api-version",
    ],
    exposed_headers: "X-Total-Count, Link, X-Supabase-Api-Version",
};

/// The API gateway of `basalt serve`, as Supabase's gateway answers.
pub const GATEWAY: PublicCors = PublicCors {
    allowed_methods: "GET,HEAD,PUT,PATCH,POST,DELETE,OPTIONS",
    default_allowed_headers: "apikey,authorization,content-type,x-client-info,x-supabase-api-version",
    exposed_headers: "X-Total-Count, Link, X-Supabase-Api-Version, X-Sb-Error-Code, X-Request-Id",
    requested_headers: RequestedHeaders::Repeated,
    is_exposed_in_preflight: false,
    removed: &[ACCESS_CONTROL_ALLOW_CREDENTIALS, VARY],
};

/// The services that the gateway forwards to, as Supabase's gateway answers.
/// Responses keep their `Vary`.
pub const FORWARDED: PublicCors = PublicCors {
    allowed_methods: GATEWAY.allowed_methods,
    default_allowed_headers: GATEWAY.default_allowed_headers,
    exposed_headers: "*",
    requested_headers: RequestedHeaders::Repeated,
    is_exposed_in_preflight: false,
    removed: &[ACCESS_CONTROL_ALLOW_CREDENTIALS],
};

pub const FUNCTIONS: PublicCors = PublicCors {
    allowed_methods: "GET, POST, PUT, PATCH, DELETE, OPTIONS",
    default_allowed_headers: "authorization, x-client-info, apikey, content-type, x-region, x-retry-count, idempotency-key, \
        traceparent, tracestate, baggage",
    exposed_headers: "sb-error-code, retry-after",
    requested_headers: RequestedHeaders::RepeatedIfPlain,
    is_exposed_in_preflight: true,
    removed: &[],
};

/// The longest list of requested headers that [`RequestedHeaders::RepeatedIfPlain`] repeats.
const MAX_PLAIN_LENGTH: usize = 1024;

/// A policy that allows any origin, with a browser's credentials and the listed headers.
#[derive(Debug)]
pub struct CredentialedCors {
    allowed_methods: &'static [&'static str],
    /// In lower case, as browsers send them.
    allowed_headers: &'static [&'static str],
    exposed_headers: &'static str,
}

/// A policy that allows any origin and any header, never with a browser's credentials.
/// Requests authenticate by a key or token in a header, not by cookies.
#[derive(Debug)]
pub struct PublicCors {
    allowed_methods: &'static str,
    /// The headers that supabase-js sends: for a preflight that names none.
    default_allowed_headers: &'static str,
    exposed_headers: &'static str,
    requested_headers: RequestedHeaders,
    is_exposed_in_preflight: bool,
    /// The headers of a service behind that are removed.
    removed: &'static [HeaderName],
}

/// Which requested headers the response to a preflight repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestedHeaders {
    Repeated,
    /// Only a list of at most 1024 letters, digits, `-`, `_`, commas and spaces.
    RepeatedIfPlain,
}

/// What a browser takes as the refusal of a preflight.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PreflightRefusal {
    /// The origin of the page.
    pub origin: String,
    /// The requested method, if it is not allowed.
    pub method: Option<String>,
    /// The requested headers that are not allowed.
    pub headers: Vec<String>,
}

impl PreflightRefusal {
    fn new(request_headers: &HeaderMap, is_method: impl Fn(&str) -> bool, is_header: impl Fn(&str) -> bool) -> Self {
        let text = |name| request_headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let names = text(ACCESS_CONTROL_REQUEST_HEADERS).split(',').map(str::trim).filter(|name| !name.is_empty());
        Self {
            origin: text(ORIGIN).to_owned(),
            method: Some(text(ACCESS_CONTROL_REQUEST_METHOD).to_owned()).filter(|method| !is_method(method)),
            headers: names.filter(|name| !is_header(name)).map(str::to_owned).collect(),
        }
    }

    fn into_option(self) -> Option<Self> {
        (self.method.is_some() || !self.headers.is_empty()).then_some(self)
    }
}

/// Returns whether a request is a CORS preflight.
pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

impl CredentialedCors {
    /// Returns whether a request is a preflight by this policy: one that requests an empty method is none.
    pub fn is_preflight(&self, method: &Method, headers: &HeaderMap) -> bool {
        is_preflight(method, headers) && is_present(headers, ACCESS_CONTROL_REQUEST_METHOD)
    }

    /// Returns whether the response to a request that is no preflight gets the headers for scripts.
    pub fn is_readable_by_scripts(&self, method: &Method, headers: &HeaderMap) -> bool {
        is_present(headers, ORIGIN) && self.is_method_allowed(method.as_str())
    }

    /// Returns whether a method is allowed. `OPTIONS` always is.
    fn is_method_allowed(&self, method: &str) -> bool {
        method == "OPTIONS" || self.allowed_methods.contains(&method)
    }

    /// Answers a preflight: 204, with the allow headers if method and headers are allowed.
    /// `more_headers` are allowed in addition, in any case.
    pub fn preflight_response(&self, request_headers: &HeaderMap, more_headers: &[String]) -> Response {
        let mut response = no_content();
        let headers = response.headers_mut();
        headers.insert(
            VARY,
            HeaderValue::from_static("Origin, Access-Control-Request-Method, Access-Control-Request-Headers"),
        );
        let method = request_headers.get(ACCESS_CONTROL_REQUEST_METHOD);
        let is_method_allowed =
            method.and_then(|value| value.to_str().ok()).is_some_and(|name| self.is_method_allowed(name));
        let requested = request_headers.get(ACCESS_CONTROL_REQUEST_HEADERS);
        let names = requested.map(|value| value.to_str().unwrap_or("?")).unwrap_or_default();
        if is_present(request_headers, ORIGIN) && is_method_allowed && self.are_headers_allowed(names, more_headers) {
            insert_credentialed_origin(headers);
            if let Some(method) = method {
                headers.insert(ACCESS_CONTROL_ALLOW_METHODS, method.clone());
            }
            if let Some(requested) = requested.filter(|value| !value.is_empty()) {
                headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, requested.clone());
            }
        }
        response
    }

    /// Returns whether all header names are allowed.
    /// They must be sorted, in lower case, without spaces, and none twice, as browsers send them.
    fn are_headers_allowed(&self, names: &str, more_headers: &[String]) -> bool {
        if names.is_empty() {
            return true;
        }
        let names: Vec<&str> = names.split(',').collect();
        let is_known = |name: &&str| {
            self.allowed_headers.contains(name) || more_headers.iter().any(|more| more.to_ascii_lowercase() == **name)
        };
        names.is_sorted_by(|name, next| name < next) && names.iter().all(is_known)
    }

    /// Returns what of a preflight is not allowed, for its explanation.
    pub fn find_refusal(&self, request_headers: &HeaderMap, more_headers: &[String]) -> Option<PreflightRefusal> {
        let is_method = |method: &str| self.is_method_allowed(method);
        let is_header = |name: &str| self.are_headers_allowed(name, more_headers);
        PreflightRefusal::new(request_headers, is_method, is_header).into_option()
    }

    /// Inserts the headers of every response that is not a preflight's.
    pub fn insert_headers(&self, headers: &mut HeaderMap, is_readable_by_scripts: bool) {
        headers.append(VARY, HeaderValue::from_static("Origin"));
        if is_readable_by_scripts {
            insert_credentialed_origin(headers);
            insert_exposed_headers(headers, self.exposed_headers);
        }
    }
}

/// Returns whether the first header of this name has a value.
fn is_present(headers: &HeaderMap, name: HeaderName) -> bool {
    headers.get(name).is_some_and(|value| !value.is_empty())
}

impl PublicCors {
    /// Returns what of a preflight is not allowed, for its explanation.
    pub fn find_refusal(&self, request_headers: &HeaderMap) -> Option<PreflightRefusal> {
        let is_repeated =
            request_headers.get(ACCESS_CONTROL_REQUEST_HEADERS).is_none_or(|names| self.is_repeated(names));
        let is_in = |list: &str, name: &str| list.split(',').any(|allowed| allowed.trim() == name);
        let is_method = |method: &str| is_in(self.allowed_methods, method);
        let is_header = |name: &str| is_repeated || is_in(self.default_allowed_headers, name);
        PreflightRefusal::new(request_headers, is_method, is_header).into_option()
    }

    /// Answers a preflight: 204, every method and header is allowed.
    pub fn preflight_response(&self, request_headers: &HeaderMap) -> Response {
        let requested = request_headers.get(ACCESS_CONTROL_REQUEST_HEADERS).filter(|names| self.is_repeated(names));
        let allowed = requested.cloned().unwrap_or(HeaderValue::from_static(self.default_allowed_headers));
        let mut response = no_content();
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        if self.is_exposed_in_preflight {
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(self.exposed_headers));
        }
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(self.allowed_methods));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
        headers.insert(VARY, HeaderValue::from_static("Access-Control-Request-Headers"));
        response
    }

    fn is_repeated(&self, names: &HeaderValue) -> bool {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b',' | b' ');
        match self.requested_headers {
            RequestedHeaders::Repeated => true,
            RequestedHeaders::RepeatedIfPlain => {
                names.len() <= MAX_PLAIN_LENGTH && names.as_bytes().iter().all(is_plain)
            }
        }
    }

    /// Lets pages of any origin read a response; headers of another policy are replaced.
    #[must_use]
    pub fn apply(&self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        insert_exposed_headers(headers, self.exposed_headers);
        for name in self.removed {
            headers.remove(name);
        }
        response
    }
}

/// Lets scripts read the listed headers, and the link to an explanation if the response has one.
fn insert_exposed_headers(headers: &mut HeaderMap, listed: &'static str) {
    let exposed = if headers.contains_key(EXPLAIN_HEADER) {
        HeaderValue::try_from(format!("{listed}, X-Basalt-Explain")).ok()
    } else {
        None
    };
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed.unwrap_or(HeaderValue::from_static(listed)));
}

fn no_content() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

fn insert_credentialed_origin(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse().expect("a name"), HeaderValue::from_static(value))).collect()
    }

    const FROM_PAGE: [(&str, &str); 2] = [("origin", "https://app.example"), ("access-control-request-method", "POST")];

    #[test]
    fn public_preflight_allows_requested_headers() {
        for (names, gateway, functions) in
            [("x-one, x_2", "x-one, x_2", "x-one, x_2"), ("x-one;q", "x-one;q", FUNCTIONS.default_allowed_headers)]
        {
            let mut request = headers(&FROM_PAGE);
            request.insert("access-control-request-headers", HeaderValue::from_static(names));
            for (policy, expected) in [(&GATEWAY, gateway), (&FUNCTIONS, functions)] {
                let response = policy.preflight_response(&request);
                assert_eq!(response.status(), 204);
                assert_eq!(response.headers()["access-control-allow-headers"], expected);
                assert_eq!(response.headers()["vary"], "Access-Control-Request-Headers");
                assert!(!response.headers().contains_key("access-control-allow-credentials"));
            }
        }
    }

    #[test]
    fn credentialed_preflight_allows_only_listed_methods_and_headers() {
        let more = ["X-More".to_owned()];
        for (method, names, is_allowed) in [
            ("POST", "authorization,content-type", true),
            ("POST", "", true),
            ("POST", "authorization,x-more", true),
            ("OPTIONS", "authorization", true),
            ("POST", "content-type,authorization", false),
            ("POST", "authorization, content-type", false),
            ("POST", "authorization,", false),
            ("POST", ",", false),
            ("POST", "authorization,authorization", false),
            ("POST", "Authorization", false),
            ("POST", "x-other", false),
            ("HEAD", "authorization", false),
        ] {
            let mut request = headers(&FROM_PAGE);
            request.insert("access-control-request-method", HeaderValue::from_static(method));
            request.insert("access-control-request-headers", HeaderValue::from_static(names));
            let response = AUTH_API.preflight_response(&request, &more);
            assert_eq!(response.status(), 204);
            let origin = response.headers().get("access-control-allow-origin");
            assert_eq!(origin.is_some(), is_allowed, "{method} {names}");
        }
    }

    #[test]
    fn refusal_names_method_and_headers() {
        let mut request = headers(&FROM_PAGE);
        request.insert("access-control-request-headers", HeaderValue::from_static("authorization,x-a,x-b"));
        let refusal = |method: Option<&str>, names: &[&str]| {
            Some(PreflightRefusal {
                origin: "https://app.example".to_owned(),
                method: method.map(str::to_owned),
                headers: names.iter().map(|name| (*name).to_owned()).collect(),
            })
        };
        assert_eq!(AUTH_API.find_refusal(&request, &["X-A".to_owned()]), refusal(None, &["x-b"]));
        assert_eq!(GATEWAY.find_refusal(&request), None);
        request.insert("access-control-request-method", HeaderValue::from_static("PURGE"));
        assert_eq!(GATEWAY.find_refusal(&request), refusal(Some("PURGE"), &[]));
        request.insert("access-control-request-headers", HeaderValue::from_static("authorization,x-a;b"));
        assert_eq!(FUNCTIONS.find_refusal(&request), refusal(Some("PURGE"), &["x-a;b"]));
    }

    #[test]
    fn public_policy_replaces_a_credentialed_one() {
        let mut response = Response::new(Body::empty());
        AUTH_API.insert_headers(response.headers_mut(), true);
        assert_eq!(response.headers()["access-control-allow-credentials"], "true");
        let expected =
            [("access-control-allow-origin", "*"), ("access-control-expose-headers", GATEWAY.exposed_headers)];
        assert_eq!(*GATEWAY.apply(response).headers(), headers(&expected));
        let mut response = Response::new(Body::empty());
        AUTH_API.insert_headers(response.headers_mut(), true);
        let expected =
            [("access-control-allow-origin", "*"), ("access-control-expose-headers", "*"), ("vary", "Origin")];
        assert_eq!(*FORWARDED.apply(response).headers(), headers(&expected));
    }

    #[test]
    fn scripts_may_read_the_link_to_an_explanation_of_a_response_that_has_one() {
        let exposed = |response: Response| response.headers()["access-control-expose-headers"].clone();
        let explained = || {
            let mut response = Response::new(Body::empty());
            response.headers_mut().insert(EXPLAIN_HEADER, HeaderValue::from_static("http://localhost/_dev/explain/x1"));
            response
        };
        let mut response = explained();
        AUTH_API.insert_headers(response.headers_mut(), true);
        assert_eq!(exposed(response), "X-Total-Count, Link, X-Supabase-Api-Version, X-Basalt-Explain");
        for policy in [GATEWAY, FUNCTIONS] {
            assert_eq!(exposed(policy.apply(explained())), format!("{}, X-Basalt-Explain", policy.exposed_headers));
            assert_eq!(exposed(policy.apply(Response::new(Body::empty()))), policy.exposed_headers);
        }
    }
}
