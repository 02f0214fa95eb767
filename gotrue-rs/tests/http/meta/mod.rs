//! What the server tells about itself.

mod headers;

use gotrue_rs::testing::World;
use http::Method;

#[tokio::test]
async fn health_sends_no_statement() {
    let world = World::new().await;
    let answer = world.get("/health").await.expect(200);
    assert_eq!(answer.str("name"), "GoTrue");
    assert!(world.journal().statements().is_empty());
}

#[tokio::test]
async fn unknown_path_returns_plain_text_404() {
    let world = World::new().await;
    let answer = world.get("/nowhere").await.expect(404);
    assert_eq!(answer.text, "404 page not found\n");
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
