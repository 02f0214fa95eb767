//! A host of its own for a part of the server.

use axum::extract::Request;
use http::header::HOST;
use http_edge::request::single_header;
use url::{Position, Url};

/// Host and port of a URL, as requests name them.
#[derive(Debug, Clone)]
pub(crate) struct OwnHost {
    /// In lower case.
    name: String,
    /// What a proxy may write after the name: the port that the URL leaves out.
    default_port: &'static str,
}

impl OwnHost {
    /// The host of a URL.
    pub(crate) fn new(url: &Url) -> Self {
        Self {
            name: url[Position::BeforeHost..Position::AfterPort].to_ascii_lowercase(),
            default_port: match (url.port(), url.scheme()) {
                (None, "https") => ":443",
                (None, _) => ":80",
                (Some(_), _) => "",
            },
        }
    }

    /// Whether a request is for this host.
    pub(super) fn is_of(&self, request: &Request) -> bool {
        let host = single_header(request.headers(), &HOST).present();
        host.is_some_and(|host| {
            let name = host.strip_suffix(self.default_port).unwrap_or(host);
            name.strip_suffix('.').unwrap_or(name).eq_ignore_ascii_case(&self.name)
        })
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::HeaderValue;

    use super::*;

    #[test]
    fn host_may_be_written_with_its_port_or_a_dot() {
        let own = OwnHost::new(&Url::parse("https://files.example.com").expect("a URL"));
        for (host, is_own) in [
            ("files.example.com", true),
            ("FILES.example.com:443", true),
            ("files.example.com.", true),
            ("files.example.com:80", false),
            ("files.example.com.evil.example", false),
        ] {
            let mut request = Request::new(Body::empty());
            request.headers_mut().insert(HOST, HeaderValue::from_str(host).expect("a host"));
            assert_eq!(own.is_of(&request), is_own, "{host}");
        }
    }
}
