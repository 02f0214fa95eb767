//! The host that stored content is read at: it has nothing else, and other hosts send readers there.

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, CONTENT_DISPOSITION, LOCATION, VARY};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_edge::request::APIKEY;
use url::Url;

use super::own_host::OwnHost;
use super::paths::is_below;

/// The paths below which objects are read.
const CONTENT: [&str; 2] = ["/storage/v1/object", "/storage/v1/render/image"];
/// Below it the API tells about objects.
const INFORMATION: &str = "/storage/v1/object/info";

/// What decides what a reader gets, and whether it is sent to the host of content.
pub(super) const VARIES_BY: &str = "authorization, apikey";

/// A host for stored content.
#[derive(Debug, Clone)]
pub(crate) struct ContentHost {
    /// Its origin, without a slash at its end.
    origin: String,
    host: OwnHost,
}

impl ContentHost {
    /// The host of a URL.
    pub(crate) fn new(url: &Url) -> Self {
        Self { origin: url.origin().ascii_serialization(), host: OwnHost::new(url) }
    }

    /// Whether a request is for this host.
    pub(super) fn is_of(&self, request: &Request) -> bool {
        self.host.is_of(request)
    }

    /// Answers in place of the storage API: 404 for what this host does not have, and a redirect of readers to it.
    ///
    /// A reader with an API key or a token is a program: what it reads is no document of the other host, and it would lose both
    /// with a redirect. A browser sends Basic credentials of the dashboard by itself.
    pub(super) fn answer(&self, request: &Request) -> Option<Response> {
        let headers = request.headers();
        let is_basic = |value: &HeaderValue| {
            value.as_bytes().get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"basic "))
        };
        let is_program =
            headers.contains_key(APIKEY) || headers.get(AUTHORIZATION).is_some_and(|value| !is_basic(value));
        match (self.is_of(request), is_read_of_content(request)) {
            (true, false) => Some(StatusCode::NOT_FOUND.into_response()),
            (false, true) if !is_program => Some(self.redirect(request)),
            (true, true) | (false, _) => None,
        }
    }

    /// Tells caches what the answer to a reader depends on, and browsers at another host to download what they open: content
    /// of signed requests of the S3 protocol, which cannot be redirected.
    pub(super) fn add_reader_headers(is_here: bool, headers: &mut HeaderMap) {
        headers.append(VARY, HeaderValue::from_static(VARIES_BY));
        let is_download = |value: &HeaderValue| value.as_bytes().starts_with(b"attachment");
        if !is_here && !headers.get(CONTENT_DISPOSITION).is_some_and(is_download) {
            headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
        }
    }

    fn redirect(&self, request: &Request) -> Response {
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
        match HeaderValue::try_from(format!("{}{target}", self.origin)) {
            Ok(location) => {
                let headers = [(LOCATION, location), (VARY, HeaderValue::from_static(VARIES_BY))];
                (StatusCode::TEMPORARY_REDIRECT, headers).into_response()
            }
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
    use http::header::HOST;

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
        assert_eq!(
            answer(Method::GET, "example.com", path, Some("Basic YTpi")),
            sent,
            "browsers send it by themselves"
        );
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

    #[test]
    fn content_elsewhere_is_downloaded_and_caches_are_told() {
        let mut headers = HeaderMap::new();
        ContentHost::add_reader_headers(true, &mut headers);
        assert!(headers.contains_key(VARY) && !headers.contains_key(CONTENT_DISPOSITION));
        ContentHost::add_reader_headers(false, &mut headers);
        assert_eq!(headers[CONTENT_DISPOSITION], "attachment");
        let mut named =
            HeaderMap::from_iter([(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=a"))]);
        ContentHost::add_reader_headers(false, &mut named);
        assert_eq!(named[CONTENT_DISPOSITION], "attachment; filename=a");
    }
}
