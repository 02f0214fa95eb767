//! Requests that are refused for their form, before anybody looks at what they ask for (RFC 9112).

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use http::uri::Authority;
use http::{HeaderValue, Request, StatusCode, Version};

/// The refusal of a request without exactly one usable `Host` (RFC 9112 §3.2); none for one that may go on.
pub fn refusal<B>(request: &Request<B>) -> Option<Response> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let refused = match (hosts.next(), hosts.next()) {
        (None, _) if request.version() < Version::HTTP_11 => None,
        (None, _) => Some("400 Bad Request: the header Host is missing"),
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

/// Whether the connection ends with this request. A chunked body may come with a `Content-Length`, which hyper removes
/// before anybody sees it: whoever frames requests by that length sees another request behind it (RFC 9112 §6.1).
pub fn is_last<B>(request: &Request<B>) -> bool {
    request.headers().contains_key(TRANSFER_ENCODING)
}

/// A host with or without a port. Nothing is a host too: of a target without an authority.
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
        refusal(&request).map(|response| response.status().as_u16())
    }

    #[test]
    fn a_request_of_http_1_1_has_one_host() {
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
