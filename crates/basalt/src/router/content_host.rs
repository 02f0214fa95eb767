//! The host that stored content is read at: it has nothing else, and other hosts send readers there.

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, HOST, LOCATION};
use http::{HeaderValue, Method, StatusCode};
use http_edge::request::{APIKEY, single_header};
use url::{Position, Url};

use super::is_below;

/// The paths below which objects are read.
const CONTENT: [&str; 2] = ["/storage/v1/object", "/storage/v1/render/image"];
/// Below it the API tells about objects.
const INFORMATION: &str = "/storage/v1/object/info";

/// A host for stored content.
#[derive(Debug, Clone)]
pub(crate) struct ContentHost {
    /// Its origin, without a slash at its end.
    origin: String,
    /// Host and port, in lower case.
    host: String,
}

impl ContentHost {
    /// The host of a URL.
    pub(crate) fn new(url: &Url) -> Self {
        Self {
            origin: url.origin().ascii_serialization(),
            host: url[Position::BeforeHost..Position::AfterPort].to_ascii_lowercase(),
        }
    }

    /// Whether a request is for this host.
    pub(super) fn is_of(&self, request: &Request) -> bool {
        let host = single_header(request.headers(), &HOST).present();
        host.is_some_and(|host| host.eq_ignore_ascii_case(&self.host))
    }

    /// Answers in place of the storage API: 404 for what this host does not have, and a redirect of readers to it.
    ///
    /// A reader with an API key or a token is a program: what it reads is no document of the other host, and it would lose both
    /// with a redirect.
    pub(super) fn answer(&self, request: &Request) -> Option<Response> {
        let headers = request.headers();
        let is_program = headers.contains_key(AUTHORIZATION) || headers.contains_key(APIKEY);
        match (self.is_of(request), is_read_of_content(request)) {
            (true, false) => Some(StatusCode::NOT_FOUND.into_response()),
            (false, true) if !is_program => Some(self.redirect(request)),
            (true, true) | (false, _) => None,
        }
    }

    fn redirect(&self, request: &Request) -> Response {
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
        match HeaderValue::try_from(format!("{}{target}", self.origin)) {
            Ok(location) => (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, location)]).into_response(),
            Err(_) => StatusCode::BAD_REQUEST.into_response(),
        }
    }
}

fn is_read_of_content(request: &Request) -> bool {
    let path = request.uri().path();
    matches!(*request.method(), Method::GET | Method::HEAD)
        && CONTENT.iter().any(|mount| is_below(path, mount))
        && !is_below(path, INFORMATION)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn answer(method: Method, host: &str, target: &str, key: Option<&str>) -> Option<(StatusCode, Option<String>)> {
        let content = ContentHost::new(&Url::parse("https://Files.example.com:8443").expect("a URL"));
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method;
        *request.uri_mut() = target.parse().expect("a URI");
        request.headers_mut().insert(HOST, HeaderValue::from_str(host).expect("a host"));
        if let Some(key) = key {
            request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_str(key).expect("a key"));
        }
        let response = content.answer(&request)?;
        let location = response.headers().get(LOCATION).map(|value| value.to_str().expect("text").to_owned());
        Some((response.status(), location))
    }

    #[test]
    fn readers_are_sent_to_the_host_of_content() {
        let path = "/storage/v1/object/public/a/b.svg?download=x";
        let sent = Some((StatusCode::TEMPORARY_REDIRECT, Some(format!("https://files.example.com:8443{path}"))));
        assert_eq!(answer(Method::GET, "example.com", path, None), sent);
        assert_eq!(answer(Method::GET, "FILES.example.com:8443", path, None), None);
        assert_eq!(answer(Method::GET, "example.com", path, Some("Bearer a")), None);
        for (method, target) in [
            (Method::POST, "/storage/v1/object/a/b.svg"),
            (Method::GET, "/storage/v1/object/info/public/a/b.svg"),
            (Method::GET, "/storage/v1/bucket"),
        ] {
            assert_eq!(answer(method, "example.com", target, None), None, "{target}");
        }
    }

    #[test]
    fn host_of_content_has_nothing_else() {
        for (method, target) in [
            (Method::GET, "/"),
            (Method::GET, "/auth/v1/settings"),
            (Method::POST, "/storage/v1/object/a/b.svg"),
            (Method::GET, "/storage/v1/objects"),
        ] {
            let answered = answer(method, "files.example.com:8443", target, Some("Bearer a"));
            assert_eq!(answered, Some((StatusCode::NOT_FOUND, None)), "{target}");
        }
    }
}
