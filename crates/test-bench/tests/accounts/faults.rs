//! Faults of requests, over HTTP.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use futures::FutureExt;
use gotrue_rs::testing::World;
use http_edge::HttpLimits;
use serde_json::{Value, json};
use test_bench::faults::{self, FaultRules};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower::ServiceExt;

/// A server of a world with rules.
struct FaultyServer {
    world: World,
    rules: Arc<FaultRules>,
    port: u16,
    _closing: watch::Sender<bool>,
}

impl FaultyServer {
    async fn start(rule: Value) -> Self {
        let world = World::new().await;
        let rules = Arc::new(FaultRules::new(1));
        rules.add(rule.to_string().as_bytes()).expect("a valid rule");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (closing, closed) = watch::channel(false);
        let (app, shared) = (Arc::clone(&world.app), Arc::clone(&rules));
        let router = gotrue_rs::router(Arc::clone(&app));
        let answer = move |request: Request| {
            let (app, rules, router) = (Arc::clone(&app), Arc::clone(&shared), router.clone());
            async move {
                let forward =
                    |request| router.oneshot(request).map(|answered| answered.unwrap_or_else(|never| match never {}));
                faults::serve(&rules, &app, request, forward).await
            }
        };
        tokio::spawn(http_edge::serve(listener, closed, HttpLimits::default(), answer));
        Self { world, rules, port, _closing: closing }
    }

    /// Sends a request and returns everything that arrives until the connection is closed.
    async fn get(&self, path: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.expect("the server listens");
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.expect("the request is sent");
        let mut received = Vec::new();
        // A connection that is reset has been closed, too.
        drop(stream.read_to_end(&mut received).await);
        String::from_utf8(received).expect("text")
    }
}

fn body(response: &str) -> &str {
    response.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

#[tokio::test]
async fn error_has_the_form_of_the_api_version() {
    let action = json!({"error_code": "over_request_rate_limit", "retry_after": 30});
    let server = FaultyServer::start(json!({"match": {"path": "/health"}, "do": action})).await;
    let response = server.get("/health", "").await;
    assert!(response.starts_with("HTTP/1.1 429 "), "{response}");
    for header in ["retry-after: 30", "x-sb-error-code: over_request_rate_limit", "access-control-allow-origin: *"] {
        assert!(response.contains(header), "{response}");
    }
    let json: Value = serde_json::from_str(body(&response)).expect("JSON");
    assert_eq!((&json["code"], &json["error_code"]), (&json!(429), &json!("over_request_rate_limit")));
    let response = server.get("/health", "x-supabase-api-version: 2024-01-01\r\n").await;
    let json: Value = serde_json::from_str(body(&response)).expect("JSON");
    assert_eq!(json["code"], "over_request_rate_limit");
    assert!(server.get("/settings", "").await.starts_with("HTTP/1.1 200 "));
    assert_eq!(server.rules.list()["faults"][0]["hits"], 2);
}

#[tokio::test]
async fn response_has_the_given_status_and_body() {
    let server = FaultyServer::start(json!({"do": {"status": 502, "body": "<html>"}, "count": 1})).await;
    let response = server.get("/health", "").await;
    assert!(response.starts_with("HTTP/1.1 502 ") && response.contains("content-type: text/plain"), "{response}");
    assert_eq!(body(&response), "<html>");
    assert!(server.get("/health", "").await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn dropped_connection_sends_nothing() {
    let server = FaultyServer::start(json!({"do": {"drop": true}, "count": 1})).await;
    assert_eq!(server.get("/health", "").await, "");
    assert!(server.get("/health", "").await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn truncated_body_is_shorter_than_its_length() {
    let server = FaultyServer::start(json!({"do": {"truncate": 10}})).await;
    let response = server.get("/health", "").await;
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    let length = response.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
    assert_eq!(body(&response).len(), 10, "{response}");
    assert!(length.parse::<usize>().expect("a number") > 10);
}

#[tokio::test]
async fn delay_is_in_real_time() {
    let server = FaultyServer::start(json!({"do": {"delay_ms": 120}})).await;
    let started = Instant::now();
    assert!(server.get("/health", "").await.starts_with("HTTP/1.1 200 "));
    assert!(started.elapsed() >= Duration::from_millis(120));
}

#[tokio::test]
async fn user_of_the_access_token_is_affected() {
    let rule = json!({"match": {"user": "ann@example.com", "path": "/user"}, "do": {"error_code": "user_banned"}});
    let server = FaultyServer::start(rule).await;
    let (ann, bob) =
        (server.world.create_user("ann@example.com").await, server.world.create_user("bob@example.com").await);
    let bearer = |token: &str| format!("authorization: Bearer {token}\r\n");
    assert!(server.get("/user", &bearer(&ann.access_token)).await.starts_with("HTTP/1.1 403 "));
    assert!(server.get("/user", &bearer(&bob.access_token)).await.starts_with("HTTP/1.1 200 "));
    assert!(server.get("/user", &bearer("x")).await.contains("bad_jwt"));
}

#[tokio::test]
async fn requests_without_a_matching_rule_are_forwarded() {
    let server = FaultyServer::start(json!({"match": {"path": "/other"}, "do": {"status": 500}})).await;
    let request = Request::builder().uri("/health").body(Body::empty()).expect("a request");
    let forwarded = faults::serve(&server.rules, &server.world.app, request, |_| async {
        axum::response::Response::new(Body::from("forwarded"))
    });
    assert_eq!(forwarded.await.status().as_u16(), 200);
    server.rules.clear(None).expect("cleared");
    assert!(server.get("/other", "").await.starts_with("HTTP/1.1 404 "));
}
