//! Checks of a request's form that run before the handlers (RFC 9112).

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use http::uri::Authority;
use http::{HeaderValue, Request, StatusCode, Version};

/// Returns an error response for a request without exactly one valid `Host` (RFC 9112 §3.2), or without one where
/// `accepts_repeated`.
pub(crate) fn reject_invalid_host<B>(request: &Request<B>, accepts_repeated: bool) -> Option<Response> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let refused = match (hosts.next(), hosts.next()) {
        (None, _) if request.version() < Version::HTTP_11 => None,
        (None, _) => Some("400 Bad Request: the header Host is missing"),
        (Some(_), Some(_)) if accepts_repeated => None,
        (Some(_), Some(_)) => Some("400 Bad Request: the header Host is given more than once"),
        (Some(host), None) if is_host(host.as_bytes()) => None,
        (Some(_), None) => Some("400 Bad Request: the header Host is malformed"),
    };
    refused.map(|text| {
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = StatusCode::BAD_REQUEST;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        response
    })
}

/// Returns whether the connection closes after this request, as it does for a chunked body.
/// A chunked body may come with a `Content-Length`, which hyper removes. An intermediary that frames requests by that
/// length sees another request behind the body (RFC 9112 §6.1).
pub(crate) fn is_last<B>(request: &Request<B>) -> bool {
    request.headers().contains_key(TRANSFER_ENCODING)
}

/// Returns whether `host` is a host with an optional port.
/// It may be empty, as for a target without an authority.
fn is_host(host: &[u8]) -> bool {
    host.is_empty() || Authority::try_from(host).is_ok_and(|host| !host.as_str().contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(version: Version, hosts: &[&str]) -> Option<u16> {
        let mut request = Request::new(());
        *request.version_mut() = version;
        for host in hosts {
            request.headers_mut().append(HOST, host.parse().expect("a header"));
        }
        reject_invalid_host(&request, false).map(|response| response.status().as_u16())
    }

    #[test]
    fn http_1_1_request_needs_exactly_one_valid_host() {
        for hosts in [&["a.example"][..], &["a.example:80"], &["127.0.0.1:1"], &["[::1]:1"], &[""]] {
            assert_eq!(status(Version::HTTP_11, hosts), None, "{hosts:?}");
        }
        for hosts in [&[][..], &["a", "a"], &["a", "b"], &["a b"], &["a/b"], &["user@a"], &["a:b:c"]] {
            assert_eq!(status(Version::HTTP_11, hosts), Some(400), "{hosts:?}");
        }
        assert_eq!(status(Version::HTTP_10, &[]), None);
        assert_eq!(status(Version::HTTP_10, &["a", "b"]), Some(400));
    }
}
