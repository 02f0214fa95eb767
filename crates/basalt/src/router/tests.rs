//! Tests of routing, API keys, CORS and forwarded headers.

use axum::body::Body;
use axum::routing::any;
use http::{HeaderMap, HeaderValue};
use platform::entropy::Entropy;

use proptest::prelude::*;
use serde_json::Map;

use std::time::Duration;

use super::paths::{KEYLESS_PATHS, KEYLESS_PREFIXES};
use super::*;
use crate::api_keys::{ApiKeys, LiveApiKeys};
use crate::assets::SiteConfig;
use crate::catalogue::Catalogue;
use crate::dev::Access;

const KEY: &str = "sb_publishable_p";

/// Builds a router whose services respond with the request that they receive.
fn echo_router() -> Arc<EdgeRouter> {
    let see = |name: &'static str| {
        Router::new().fallback(any(move |request: Request| async move {
            let header =
                |name: &str| request.headers().get(name).map_or("-", |value| value.to_str().expect("text")).to_owned();
            let resolved = request.extensions().get::<ResolvedRequest>().expect("the router resolves every request");
            assert_eq!(header("x-request-id"), resolved.id.as_str());
            let client = resolved.client.expect("the connection has an address").address().to_string();
            assert!(["-", &*client].contains(&&*header("x-forwarded-for")), "{client}");
            assert_ne!(header("x-panic"), "yes", "panic requested by the test");
            let seen = ["authorization", "x-forwarded-for", "origin"].map(header).join(" ");
            format!("{name} {} {seen}", request.uri())
        }))
    };
    let key = str::to_owned;
    let keys = ApiKeys {
        jwt_secret: key("secret"),
        anon_key: key("jwt.anon"),
        service_role_key: key("jwt.service"),
        publishable_key: key(KEY),
        secret_key: key("sb_secret_s"),
    };
    let site = SiteConfig { url: "", key: KEY, site_url: "" };
    let proxies = TrustedProxies::new(["10.0.0.0/8".parse().expect("a network")]);
    Arc::new(EdgeRouter {
        auth: see("auth"),
        functions: see("functions"),
        forwarded: None,
        data_api: None,
        storage: None,
        content_host: None,
        shop: watch::channel(Arc::new(Shop::load(&site, Arc::new(Catalogue::built_in()), None))).1,
        desk: None,
        form_visits: FormVisits::new(Arc::new(platform::clock::SystemClock)),
        orders: None,
        dev: DevelopmentPages::new(None, Access::default()),
        gateway: ApiKeyGateway::new(LiveApiKeys::new(&keys), |token, _| {
            let claims = [("sub", "u"), ("role", "authenticated")].map(|(name, value)| (name.to_owned(), value.into()));
            (token == "jwt.user").then(|| Arc::new(Map::from_iter(claims)))
        }),
        senders: AllowedSenders::new("http://localhost:54321", |_| false),
        is_in_development: false,
        proxies,
        transport_security: TransportSecurity::new(true, Duration::from_hours(1)),
        explanations: RouterExplanations::default(),
        links: None,
        entropy: Entropy::from_seed(1),
    })
}

struct TestResponse {
    status: u16,
    headers: HeaderMap,
    body: String,
}

async fn send(method: Method, target: &str, headers: &[(&'static str, &str)], peer: &str) -> TestResponse {
    let mut request = Request::new(Body::empty());
    *request.method_mut() = method;
    *request.uri_mut() = target.parse().expect("a target");
    for (name, value) in headers {
        request.headers_mut().append(*name, HeaderValue::try_from(*value).expect("a header"));
    }
    let peer: SocketAddr = peer.parse().expect("an address");
    request.extensions_mut().insert(ConnectInfo(peer));
    let response = echo_router().handle(request).await;
    let (head, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
    TestResponse {
        status: head.status.as_u16(),
        headers: head.headers,
        body: String::from_utf8_lossy(&bytes).into_owned(),
    }
}

async fn get(target: &str, headers: &[(&'static str, &str)]) -> TestResponse {
    send(Method::GET, target, headers, "127.0.0.1:9").await
}

#[tokio::test]
async fn pages_may_not_send_the_secret_key() {
    let site = |site| ("sec-fetch-site", site);
    let bearer = ("authorization", "Bearer sb_secret_s");
    for target in ["/auth/v1/settings", "/functions/v1/hello"] {
        for credentials in [&[("apikey", "sb_secret_s")][..], &[("apikey", KEY), bearer]] {
            for page in ["same-origin", "same-site", "cross-site", "unknown"] {
                let refused = get(target, &[credentials, &[site(page)]].concat()).await;
                assert_eq!(refused.status, 401, "{target} {page}");
                assert!(refused.body.contains("Forbidden use of secret API key in browser"), "{}", refused.body);
                assert_eq!(refused.headers["access-control-allow-origin"], "*");
            }
            // A server, and a person who types an address.
            assert_eq!(get(target, credentials).await.status, 200, "{target}");
            assert_eq!(get(target, &[credentials, &[site("none")]].concat()).await.status, 200, "{target}");
        }
        assert_eq!(get(target, &[("apikey", KEY), site("cross-site")]).await.status, 200, "{target}");
    }
    let in_url = get("/auth/v1/settings?apikey=sb_secret_s", &[site("cross-site")]).await;
    assert_eq!(in_url.status, 401);
}

#[tokio::test]
async fn requests_are_routed_by_raw_path() {
    let apikey = [("apikey", KEY)];
    let cases = [
        ("/auth/v1/settings?a=b", "auth /settings?a=b Bearer jwt.anon - -"),
        ("/auth/v1", "auth / Bearer jwt.anon - -"),
        ("/auth/v1/", "auth / Bearer jwt.anon - -"),
        ("/auth/v1//user", "auth //user Bearer jwt.anon - -"),
        ("/auth/v1/admin/users/%2e%2e%2fx", "auth /admin/users/%2e%2e%2fx Bearer jwt.anon - -"),
        ("http://elsewhere.example/auth/v1/user", "auth /user Bearer jwt.anon - -"),
        ("/functions/v1/hello/there?x", "functions /functions/v1/hello/there?x - - -"),
        ("/.well-known/oauth-authorization-server", "auth /.well-known/oauth-authorization-server - - -"),
    ];
    for (target, expected) in cases {
        assert_eq!(get(target, &apikey).await.body, expected, "{target}");
    }
    for target in ["/auth/v10", "/auth", "/auth/v1x/user", "/Auth/v1/user", "/./auth/v1/user"] {
        assert_eq!(get(target, &apikey).await.headers["content-type"], "text/html; charset=utf-8", "{target}");
    }
}

#[tokio::test]
async fn request_without_key_reaches_only_keyless_paths() {
    let open = [
        "/verify?token=x",
        "/verify/",
        "/callback",
        "/authorize",
        "/health",
        "/.well-known/jwks.json",
        "/sso/saml/acs",
        "/oauth/token",
        "/oauth/clients/register",
    ];
    let closed = [
        "/settings",
        "/verify/x",
        "/verifyx",
        "/healthy",
        "/user",
        "/sso",
        "/oauth/clients",
        "/.well-known/../admin/users",
        "/sso/saml/%2e%2e/x",
        "/verify//",
        "//verify",
        "",
    ];
    for path in open {
        assert_eq!(get(&format!("/auth/v1{path}"), &[]).await.status, 200, "{path}");
    }
    for path in closed {
        let seen = get(&format!("/auth/v1{path}"), &[]).await;
        assert_eq!(seen.status, 401, "{path}");
        assert!(seen.body.contains("\"message\":\"No API key found in request\",\"hint\":"), "{}", seen.body);
        assert_eq!(seen.headers["access-control-allow-origin"], "*");
    }
    let wrong = get("/auth/v1/settings", &[("apikey", "sb_secret_guess")]).await;
    assert_eq!((wrong.status, wrong.body.contains("Invalid API key")), (401, true));
    assert_eq!(get("/auth/v1/settings", &[("authorization", "Bearer jwt.user")]).await.status, 200);
}

#[tokio::test]
async fn cors_allows_any_origin_without_credentials() {
    let origin = [("origin", "https://app.example"), ("apikey", KEY)];
    for target in ["/auth/v1/settings", "/auth/v1/nothing", "/rest/v1/table"] {
        let seen = get(target, &origin).await;
        assert_eq!(seen.headers["access-control-allow-origin"], "*", "{target}");
        assert!(!seen.headers.contains_key("access-control-allow-credentials"), "{target}");
    }
    let requested = "apikey,authorization,content-type,x-client-info,x-supabase-api-version";
    let preflight = [
        ("origin", "https://a.example"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", requested),
    ];
    for target in ["/auth/v1/token", "/rest/v1/table"] {
        let seen = send(Method::OPTIONS, target, &preflight, "127.0.0.1:9").await;
        assert_eq!(
            (seen.status, seen.headers["access-control-allow-headers"].to_str().unwrap_or_default()),
            (204, requested),
            "{target}"
        );
    }
}

#[tokio::test]
async fn unsupported_supabase_services_are_not_found() {
    for target in ["/rest/v1/table", "/storage/v1/object", "/realtime/v1/websocket", "/graphql/v1"] {
        let seen = get(target, &[]).await;
        assert_eq!(seen.status, 404);
        assert_eq!(seen.headers["content-type"], "application/json");
        assert!(seen.body.starts_with("{\"message\":\"Basalt does not serve /"), "{}", seen.body);
    }
}

#[tokio::test]
async fn forwarded_address_is_accepted_from_trusted_proxy_only() {
    let forwarded =
        [("apikey", KEY), ("x-forwarded-for", "198.51.100.7, 192.0.2.3"), ("sb-forwarded-for", "192.0.2.9")];
    let cases = [
        ("203.0.113.5:9", "-"),
        ("127.0.0.1:9", "-"),
        ("10.1.2.3:9", "192.0.2.3"),
        ("[::ffff:10.1.2.3]:9", "192.0.2.3"),
    ];
    for (peer, expected) in cases {
        let seen = send(Method::GET, "/auth/v1/settings", &forwarded, peer).await;
        assert_eq!(seen.body, format!("auth /settings Bearer jwt.anon {expected} -"), "{peer}");
    }
}

#[tokio::test]
async fn panic_in_handler_is_500() {
    let seen = get("/auth/v1/settings", &[("apikey", KEY), ("x-panic", "yes")]).await;
    assert_eq!((seen.status, seen.body.contains("Internal Server Error")), (500, true));
}

#[tokio::test]
async fn response_carries_request_id() {
    assert_eq!(get("/", &[("x-request-id", "abc-1")]).await.headers["x-request-id"], "abc-1");
    for hostile in ["a b", "", "x\"y"] {
        let id = get("/", &[("x-request-id", hostile)]).await.headers["x-request-id"].clone();
        assert_eq!(id.len(), 36, "{hostile}");
    }
}

/// Normalizes a path as the most lenient parser would.
/// It is decoded twice, slashes merged, dots resolved, lower case.
fn normalize_leniently(path: &str) -> String {
    let mut text = path.to_owned();
    for _ in 0..2 {
        text = percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/")).to_ascii_lowercase()
}

proptest! {
    #[test]
    fn ambiguous_path_is_not_keyless(path in ambiguous_path()) {
        let read = normalize_leniently(&path);
        let open = KEYLESS_PATHS.contains(&read.as_str())
            || KEYLESS_PREFIXES.iter().any(|mount| format!("{read}/").starts_with(mount));
        prop_assert!(open || !is_keyless_path(&path), "{path} reads as {read}");
    }
}

fn ambiguous_path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("verify"),
        Just("sso"),
        Just("saml"),
        Just(".well-known"),
        Just("oauth"),
        Just("token"),
        Just("admin"),
        Just("users"),
        Just(".."),
        Just("."),
        Just(""),
        Just("%2e%2e"),
        Just("%252e%252e"),
        Just("..%2fadmin"),
        Just("x\\.."),
    ];
    proptest::collection::vec(part, 1..6).prop_map(|parts| format!("/{}", parts.join("/")))
}

/// Sends a form to a router whose function answers with a status.
/// Returns the answer and the function's call.
async fn send_form(form: &str, headers: &[(&'static str, &str)], status: u16) -> (TestResponse, Option<String>) {
    let (calls, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let function = any(move |request: Request| {
        let calls = calls.clone();
        async move {
            let (head, body) = request.into_parts();
            let client =
                head.extensions.get::<ResolvedRequest>().and_then(|resolved| resolved.client).expect("an address");
            let key = head.headers.get("apikey").and_then(|key| key.to_str().ok()).unwrap_or_default().to_owned();
            let body = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
            let call = format!("{} {key} {} {}", head.uri, client.address(), String::from_utf8_lossy(&body));
            calls.send(call).expect("the test reads it");
            http::StatusCode::from_u16(status).expect("a status")
        }
    });
    let mut router = Arc::into_inner(echo_router()).expect("the only owner");
    router.functions = Router::new().fallback(function);
    let mut request = Request::new(Body::from(form.to_owned()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = "/submit?template=9".parse().expect("a target");
    let form_type = [("content-type", "application/x-www-form-urlencoded")];
    for (name, value) in form_type.iter().chain(headers) {
        request.headers_mut().insert(*name, HeaderValue::try_from(*value).expect("a header"));
    }
    request.extensions_mut().insert(ConnectInfo("192.0.2.7:9".parse::<SocketAddr>().expect("an address")));
    let (head, body) = Arc::new(router).handle(request).await.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
    let body = String::from_utf8_lossy(&body).into_owned();
    (TestResponse { status: head.status.as_u16(), headers: head.headers, body }, seen.try_recv().ok())
}

#[tokio::test]
#[cfg_attr(not(frontend_built), ignore = "needs the built frontend: make build")]
async fn form_becomes_a_call_of_the_function() {
    let (answer, call) = send_form("description=a%0D%0Ab+%26+c", &[], 200).await;
    let expected = format!(
        "/functions/v1/send-submission {KEY} 192.0.2.7 {}",
        serde_json::json!({ "description": "a\nb & c", "template": 9 })
    );
    assert_eq!(call, Some(expected));
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("Submission Received!"), "{}", answer.body);
    assert_eq!(answer.headers["cache-control"], "no-store");
}

#[tokio::test]
#[cfg_attr(not(frontend_built), ignore = "needs the built frontend: make build")]
async fn refused_form_has_the_specified_words_and_its_text() {
    let long = "x".repeat(1001);
    for (details, words) in [("+%0D%0A", "Details are required"), (&long, "Details must be less than 1000 characters")]
    {
        let (answer, call) = send_form(&format!("description={details}"), &[], 200).await;
        assert_eq!((answer.status, call), (400, None));
        assert!(answer.body.contains(words), "{}", answer.body);
    }
    let (answer, _) = send_form(&format!("description={long}"), &[], 200).await;
    assert!(answer.body.contains(&format!("{long}</textarea>")), "{}", answer.body);
}

#[tokio::test]
#[cfg_attr(not(frontend_built), ignore = "needs the built frontend: make build")]
async fn failed_form_is_shown_again_with_its_text_alone() {
    type Headers = &'static [(&'static str, &'static str)];
    let cases: [(&str, Headers, u16, u16); 6] = [
        ("description=kept+text", &[], 503, 503),
        ("description=kept+text", &[], 429, 429),
        ("description=kept+text", &[("sec-fetch-site", "cross-site")], 200, 403),
        ("description=kept+text%00", &[], 200, 400),
        ("description=kept+text", &[("content-type", "text/plain")], 200, 400),
        ("description=%ff", &[], 200, 400),
    ];
    for (form, headers, function, expected) in cases {
        let (answer, _) = send_form(form, headers, function).await;
        assert_eq!(answer.status, expected, "{form}");
        let is_kept = form.contains("kept") && headers.first().is_none_or(|(name, _)| *name != "content-type");
        assert_eq!(answer.body.contains(">kept text"), is_kept, "{form}: {}", answer.body);
        assert!(!answer.body.contains("Details are required") && !answer.body.contains("Received!"), "{form}");
    }
}

#[tokio::test]
async fn browsers_are_kept_at_https_except_on_this_machine() {
    for (host, expected) in [
        ("shop.example", Some("max-age=3600")),
        ("shop.example:8443", Some("max-age=3600")),
        ("localhost:54321", None),
        ("127.0.0.1:54321", None),
        ("[::1]", None),
    ] {
        let found = send(Method::GET, "/nothing", &[("host", host)], "127.0.0.1:9").await;
        let header = found.headers.get("strict-transport-security").map(|value| value.to_str().expect("text"));
        assert_eq!(header, expected, "{host}");
    }
}
