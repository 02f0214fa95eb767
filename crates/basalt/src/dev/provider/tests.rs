//! Tests of access to the simulator.

use std::sync::Arc;

use axum::body::Body;
use http::HeaderValue;
use platform::clock::SystemClock;
use platform::entropy::Entropy;

use super::*;
use crate::dev::Access;
use crate::dev::tests::set_connection;

const HERE: &str = "127.0.0.1:5";
const HOST: (&str, &str) = ("host", "127.0.0.1:54321");
const ELSEWHERE: (&str, &str) = ("sec-fetch-site", "cross-site");

fn simulator() -> Simulator {
    let options = simulator_options("http://127.0.0.1:54321", "http://127.0.0.1:54321/auth/v1/");
    Simulator::new(options, Arc::new(SystemClock), Entropy::from_seed(1)).expect("a key")
}

#[test]
fn provider_is_local_except_for_navigation_to_its_pages() {
    let simulator = simulator();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let is_allowed = |method: Method, path: &str, peer: &str, headers: &[(&'static str, &'static str)]| {
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().expect("a path");
        set_connection(&mut request, peer);
        for (name, value) in headers {
            request.headers_mut().insert(*name, HeaderValue::from_static(value));
        }
        let allowed = Access::new(true, None).is_allowed(&request, access_rule(&simulator, &request));
        runtime.block_on(allowed)
    };
    let tab = [HOST, ELSEWHERE, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
    let frame = [HOST, ELSEWHERE, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
    let github = "/_dev/provider/github/github.com/login/oauth/authorize";
    for page in ["/_dev/provider/authorize", github] {
        assert!(is_allowed(Method::GET, page, HERE, &tab), "{page}");
        assert!(!is_allowed(Method::GET, page, HERE, &frame), "{page}");
        assert!(!is_allowed(Method::POST, page, HERE, &tab), "{page}");
        assert!(!is_allowed(Method::GET, page, "192.0.2.1:5", &tab), "{page}");
        assert!(!is_allowed(Method::GET, page, HERE, &[("host", "evil.example"), tab[1], tab[2], tab[3]]), "{page}");
        let forwarded = [HOST, tab[1], tab[2], tab[3], ("x-forwarded-for", "192.0.2.1")];
        assert!(!is_allowed(Method::GET, page, HERE, &forwarded), "{page}");
    }
    for other in ["/_dev/provider/jwks", "/_dev/provider/google/id_token", "/_dev/provider/github/api.github.com/user"]
    {
        assert!(is_allowed(Method::GET, other, HERE, &[HOST]), "{other}");
        assert!(!is_allowed(Method::GET, other, HERE, &tab), "{other}");
    }
}
