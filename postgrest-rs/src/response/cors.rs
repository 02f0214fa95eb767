//! Cross-origin requests (Fetch Standard, CORS protocol).

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response};

/// The methods that other origins may use.
const METHODS: &str = "GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD";

/// The request header fields that need no permission, which preflight answers list too.
const SAFE_REQUEST_HEADERS: [&str; 3] = ["Accept", "Accept-Language", "Content-Language"];

/// The response header fields that scripts may read.
const EXPOSED: &str = "Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, Transfer-Encoding, Range-Unit";

/// How long a preflight answer counts, in seconds.
const MAXIMUM_AGE: &str = "86400";

/// What an origin is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    origin: HeaderValue,
    has_credentials: bool,
}

/// What the origin of a request may do, `None` without an origin or for one that is not allowed. Without a list all are allowed.
pub fn grant(headers: &HeaderMap, allowed: Option<&[String]>) -> Option<Grant> {
    let origin = headers.get("origin")?;
    match allowed {
        None => Some(Grant { origin: HeaderValue::from_static("*"), has_credentials: false }),
        Some(list) => list
            .iter()
            .any(|listed| listed.as_bytes() == origin.as_bytes())
            .then(|| Grant { origin: origin.clone(), has_credentials: true }),
    }
}

impl Grant {
    /// The answer to a preflight request, `None` when the request is none.
    pub fn preflight(&self, method: &Method, headers: &HeaderMap) -> Option<Response<Bytes>> {
        if method != Method::OPTIONS {
            return None;
        }
        let wanted = headers.get("access-control-request-method")?.to_str().ok()?;
        if !METHODS.split(", ").any(|method| method == wanted) {
            return None;
        }
        let requested = headers.get("access-control-request-headers").and_then(|value| value.to_str().ok());
        let mut response = Response::new(Bytes::new());
        self.add_origin(response.headers_mut());
        let fields = response.headers_mut();
        fields.insert("access-control-allow-methods", HeaderValue::from_static(METHODS));
        if let Some(requested) = requested
            && let Ok(value) = HeaderValue::from_str(&list_allowed(requested))
        {
            fields.insert("access-control-allow-headers", value);
        }
        fields.insert("access-control-max-age", HeaderValue::from_static(MAXIMUM_AGE));
        Some(response)
    }

    /// Adds the header fields of an answer that is no preflight answer.
    pub fn apply(&self, fields: &mut HeaderMap) {
        self.add_origin(fields);
        fields.insert("access-control-expose-headers", HeaderValue::from_static(EXPOSED));
    }

    fn add_origin(&self, fields: &mut HeaderMap) {
        fields.insert("access-control-allow-origin", self.origin.clone());
        if self.has_credentials {
            fields.insert("access-control-allow-credentials", HeaderValue::from_static("true"));
        }
    }
}

/// The request header fields that may be sent: those that were asked for, and those that need no permission.
fn list_allowed(requested: &str) -> String {
    let mut list = vec!["Authorization"];
    list.extend(requested.split(',').map(str::trim).filter(|name| !name.is_empty()));
    let missing =
        SAFE_REQUEST_HEADERS.into_iter().filter(|safe| !list.iter().any(|name| name.eq_ignore_ascii_case(safe)));
    let missing: Vec<_> = missing.collect();
    list.extend(missing);
    list.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn origin_of_the_list_gets_credentials_and_others_nothing() {
        let list = ["https://a.test".to_owned()];
        let granted = grant(&headers(&[("origin", "https://a.test")]), Some(&list)).unwrap();
        let mut fields = HeaderMap::new();
        granted.apply(&mut fields);
        assert_eq!(fields["access-control-allow-origin"], "https://a.test");
        assert_eq!(fields["access-control-allow-credentials"], "true");
        assert_eq!(grant(&headers(&[("origin", "https://b.test")]), Some(&list)), None);
        assert_eq!(grant(&headers(&[]), None), None);
    }

    #[test]
    fn preflight_echoes_the_headers_asked_for() {
        let request = headers(&[
            ("origin", "https://a.test"),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "X-One, apikey"),
        ]);
        let granted = grant(&request, None).unwrap();
        let response = granted.preflight(&Method::OPTIONS, &request).unwrap();
        let listed = &response.headers()["access-control-allow-headers"];
        assert_eq!(listed, "Authorization, X-One, apikey, Accept, Accept-Language, Content-Language");
        assert_eq!(list_allowed("accept"), "Authorization, accept, Accept-Language, Content-Language");
        let without = headers(&[("origin", "https://a.test"), ("access-control-request-method", "POST")]);
        let response = granted.preflight(&Method::OPTIONS, &without).unwrap();
        assert_eq!(response.headers().get("access-control-allow-headers"), None);
        assert!(granted.preflight(&Method::GET, &request).is_none());
        assert!(granted.preflight(&Method::OPTIONS, &headers(&[("origin", "x")])).is_none());
    }
}
