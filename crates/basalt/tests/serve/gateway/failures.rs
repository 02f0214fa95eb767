//! Services that are down, silent, slow or broken.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::Response;
use serde_json::Value;

use super::upstream::{self, connect, serve};
use crate::support::{Basalt, eventually, free_port};

async fn get(server: &Basalt, path: &str) -> Response {
    let request = server.client.get(server.url(path)).header("apikey", server.text("publishable_key"));
    request.send().await.expect("a response")
}

/// Asserts status and message of an error response, which pages of any origin can read.
async fn assert_error(response: Response, status: u16, message: &str) {
    assert_eq!(response.status(), status);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
    assert_eq!(response.headers().contains_key("retry-after"), status == 503);
    let body: Value = response.json().await.expect("JSON");
    assert_eq!(body["message"], message);
    assert!(body["hint"].as_str().is_some_and(|hint| !hint.is_empty()));
}

#[tokio::test]
async fn unreachable_service_is_503_and_others_are_not_affected() {
    let url = upstream::start(|mut exchange| exchange.respond("works"));
    let (_scratch, server) = serve(&format!("rest = \"http://127.0.0.1:{}\"\nstorage = \"{url}\"", free_port()));
    for _ in 0..5 {
        assert_error(get(&server, "/rest/v1/todos").await, 503, "The service rest cannot be reached").await;
    }
    assert_eq!(get(&server, "/storage/v1/object/a").await.text().await.expect("text"), "works");
    let failed = "request to a service failed";
    eventually("the failure is logged", || server.log().contains(failed));
    assert_eq!(server.log().matches(failed).count(), 1, "one line a minute");
}

#[tokio::test]
async fn silent_service_is_504_and_broken_one_502() {
    let url = upstream::start(|mut exchange| match exchange.head[0].split(' ').nth(1) {
        Some("/silent") => std::thread::sleep(Duration::from_secs(20)),
        Some("/garbage") => exchange.send("SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        Some("/both") => {
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab");
        }
        _ => {}
    });
    let (_scratch, server) = serve(&format!("rest = \"{url}\"\nresponse_timeout = \"300ms\""));
    let started = Instant::now();
    let silent = get(&server, "/rest/v1/silent").await;
    assert_error(silent, 504, "The service rest did not respond within 300 ms").await;
    assert!((300..3_000).contains(&started.elapsed().as_millis()), "{:?}", started.elapsed());
    for path in ["/rest/v1/garbage", "/rest/v1/both", "/rest/v1/ends"] {
        let message = "An invalid response was received from the service rest";
        assert_error(get(&server, path).await, 502, message).await;
    }
}

#[test]
fn slow_upload_is_not_a_timeout_but_a_stalled_service_is() {
    let url = upstream::start(|mut exchange| {
        if exchange.head[0].contains("/slow") {
            exchange.read_body();
            exchange.respond("all of it");
        } else {
            std::thread::sleep(Duration::from_secs(20));
        }
    });
    let (_scratch, server) = serve(&format!("storage = \"{url}\"\nresponse_timeout = \"400ms\""));
    let exchange = |path: &str| {
        let mut stream = connect(&server);
        let head =
            format!("POST /storage/v1{path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 6\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("the server reads");
        for part in ["a", "b", "c", "d", "e", "f"] {
            if stream.write_all(part.as_bytes()).is_err() {
                break;
            }
            std::thread::sleep(Duration::from_millis(150));
        }
        let mut response = String::new();
        drop(stream.read_to_string(&mut response));
        response
    };
    assert!(exchange("/slow").ends_with("all of it"));
    assert!(exchange("/stalled").starts_with("HTTP/1.1 504"));
}

#[tokio::test]
async fn response_that_breaks_off_is_not_completed() {
    let url = upstream::start(|mut exchange| exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"));
    let (_scratch, server) = serve(&format!("rest = \"{url}\""));
    let response = get(&server, "/rest/v1/todos").await;
    assert_eq!(response.status(), 200);
    assert!(response.bytes().await.is_err(), "an incomplete body is an error for the client");
}

#[tokio::test]
async fn length_beside_chunks_is_not_that_of_the_body() {
    let url = upstream::start(|mut exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n");
        exchange.send("a\r\n0123456789\r\n0\r\n\r\n");
    });
    let (_scratch, server) = serve(&format!("rest = \"{url}\""));
    let response = get(&server, "/rest/v1/todos").await;
    assert_eq!(response.text().await.expect("a body"), "0123456789");
}

#[tokio::test]
async fn requests_beyond_the_limit_are_503_and_ten_are_concurrent() {
    let url = upstream::start(|mut exchange| {
        std::thread::sleep(Duration::from_millis(700));
        exchange.respond("done");
    });
    let (_scratch, server) = serve(&format!("rest = \"{url}\"\nmax_requests = 10"));
    let started = Instant::now();
    let requests = (0..11).map(|_| get(&server, "/rest/v1/todos"));
    let mut statuses: Vec<u16> =
        futures::future::join_all(requests).await.iter().map(|response| response.status().as_u16()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 503]);
    assert!(started.elapsed() < Duration::from_secs(4), "they ran one after the other: {:?}", started.elapsed());
    assert_eq!(get(&server, "/rest/v1/todos").await.status(), 200);
}

/// Uploads that never end hold the permits of their own network alone.
#[tokio::test]
async fn one_network_leaves_requests_for_others() {
    let uploads = Arc::<AtomicUsize>::default();
    let counter = Arc::clone(&uploads);
    let url = upstream::start(move |mut exchange| {
        counter.fetch_add(1, Ordering::Relaxed);
        exchange.read_body();
        exchange.respond("done");
    });
    let scratch = crate::support::TempFolder::new();
    let settings = format!(
        "[basalt]\ntrusted_proxies = [\"127.0.0.1\"]\n[basalt.upstreams]\nstorage = \"{url}\"\nmax_requests = 8\n"
    );
    let server = Basalt::serve(&["--ephemeral", "--config", &scratch.write("config.toml", &settings)]);
    let _streams: Vec<_> = (0..8)
        .map(|at| {
            let mut stream = connect(&server);
            let head = format!(
                "POST /storage/v1/object/a HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 2001:db8::{at}\r\nContent-Length: 100\r\n\r\na"
            );
            stream.write_all(head.as_bytes()).expect("the server reads");
            stream
        })
        .collect();
    let request = |client: &str| {
        let request = server.client.get(server.url("/storage/v1/object/public/a")).header("x-forwarded-for", client);
        async { request.send().await.expect("a response").status().as_u16() }
    };
    eventually("the network has its share", || uploads.load(Ordering::Relaxed) == 2);
    assert_eq!((request("2001:db8::99").await, request("192.0.2.9").await), (503, 200));
}

#[tokio::test]
async fn server_as_its_own_service_is_a_loop() {
    let port = free_port();
    let scratch = crate::support::TempFolder::new();
    let config = scratch
        .write("config.toml", &format!("[basalt.upstreams]\nstorage = \"http://127.0.0.1:{port}/storage/v1\"\n"));
    let server = Basalt::serve(&["--ephemeral", "--config", &config, "--port", &port.to_string()]);
    assert_error(get(&server, "/storage/v1/object/a").await, 508, "The service storage is this server").await;
}
