//! What the server tells about itself.

mod headers;

use gotrue_rs::testing::World;
use http::Method;

#[tokio::test]
async fn health_sends_no_statement() {
    let world = World::new().await;
    let answer = world.get("/health").await.expect(200);
    assert_eq!(answer.str("name"), "GoTrue");
    assert_eq!(answer.str("version"), "v2.196.0");
    assert!(answer.json.get("basalt_version").is_none());
    let served = World::with(|policy| policy.api.shows_own_version = true).await.get("/health").await.expect(200);
    assert_eq!(
        (served.str("version"), served.str("basalt_version")),
        ("v2.196.0", concat!("v", env!("CARGO_PKG_VERSION")))
    );
    assert!(world.journal().statements().is_empty());
}

#[tokio::test]
async fn unknown_path_returns_plain_text_404() {
    let world = World::new().await;
    let answer = world.get("/nowhere").await.expect(404);
    assert_eq!(answer.text, "404 page not found\n");
}

#[tokio::test]
async fn non_standard_method_is_refused_on_every_path() {
    let world = World::new().await;
    for method in ["PROPFIND", "LINK", "get"] {
        for path in ["/", "/nowhere", "/health", "/user", "/admin/users", "/callback"] {
            let method = Method::from_bytes(method.as_bytes()).expect("a method");
            let answer = world.request(method.clone(), path, &[], None).await.expect(405);
            assert_eq!((&*answer.text, answer.header("allow")), ("", ""), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn invalid_escape_in_the_path_returns_plain_text_400() {
    let world = World::new().await;
    for (method, path) in [(Method::GET, "/health/%zz"), (Method::GET, "/user/%2"), (Method::OPTIONS, "/%")] {
        let answer = world.request(method, path, &[("origin", "http://shop.example.com")], None).await.expect(400);
        assert_eq!(answer.text, "400 Bad Request", "{path}");
        let headers = ["content-type", "connection", "vary", "access-control-allow-origin"];
        let expected = ["text/plain; charset=utf-8", "close", "", ""];
        assert_eq!(headers.map(|name| answer.header(name)), expected, "{path}");
    }
    world.get("/health?x=%zz").await.expect(200);
    world.get("/nowhere%00").await.expect(404);
}

#[tokio::test]
async fn wrong_method_returns_the_allow_header() {
    let world = World::new().await;
    let invented = Method::from_bytes(b"PURGE").expect("a method");
    for (method, allowed) in [(Method::POST, "GET"), (Method::HEAD, "GET"), (invented, "")] {
        let answer = world.request(method.clone(), "/health", &[], None).await.expect(405);
        assert_eq!(answer.header("allow"), allowed, "{method}");
    }
}
