//! The recording proxy in front of servers that do not behave.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use flows::record::ProxyLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::proxied::{LIMIT, Proxy, read_until, send, start_server};

const SHORT: Duration = Duration::from_millis(150);

/// What a server has seen.
#[derive(Default)]
struct Counts {
    requests: AtomicUsize,
    closed: AtomicUsize,
}

impl Counts {
    async fn wait(&self, of: fn(&Self) -> &AtomicUsize, number: usize) {
        let reached = async {
            while of(self).load(Ordering::SeqCst) < number {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LIMIT, reached).await.expect("the server sees it");
    }
}

/// Answers one request by its path: not at all, with a half or an endless body, or with `{}`.
async fn answer(mut stream: TcpStream, counts: Arc<Counts>) {
    let Some(head) = read_until(&mut stream, b"\r\n\r\n").await else { return };
    counts.requests.fetch_add(1, Ordering::SeqCst);
    let json = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    let reply = match head.split(['/', ' ']).find(|part| ["silent", "half", "endless"].contains(part)) {
        Some("silent") => String::new(),
        Some("half") => format!("{json}content-length: 100\r\n\r\n{{\"half\":"),
        Some(_) => format!("{json}transfer-encoding: chunked\r\n\r\n6\r\n{{\"a\": \r\n"),
        None => format!("{json}content-length: 2\r\n\r\n{{}}"),
    };
    stream.write_all(reply.as_bytes()).await.expect("the proxy reads");
    if reply.is_empty() || reply.contains("chunked") {
        let _ = stream.read(&mut [0]).await;
    }
    counts.closed.fetch_add(1, Ordering::SeqCst);
}

/// Starts a server and a proxy in front of it.
async fn start(limits: ProxyLimits) -> (Proxy, Arc<Counts>) {
    let counts = Arc::<Counts>::default();
    let counted = Arc::clone(&counts);
    let host = start_server(move |stream| answer(stream, Arc::clone(&counted))).await;
    (Proxy::start(format!("http://{host}"), limits).await, counts)
}

#[tokio::test]
async fn requests_without_a_response_do_not_keep_others_from_the_server() {
    let limits = ProxyLimits { recorder: SHORT, ..ProxyLimits::default() };
    let (proxy, counts) = start(limits).await;
    let silent = format!("{}/auth/v1/silent", proxy.url);
    let open: Vec<_> = (0..64).map(|_| tokio::spawn(proxy.client.get(&silent).send())).collect();
    counts.wait(|counts| &counts.requests, 64).await;
    assert_eq!(proxy.get("/graphql/v1/items").await.status(), 200);
    assert_eq!(proxy.get("/auth/v1/health").await.status(), 200);
    open.iter().for_each(tokio::task::JoinHandle::abort);
    // The server learns that the clients have left, besides the two connections of before.
    counts.wait(|counts| &counts.closed, 66).await;
    assert_eq!(proxy.get("/auth/v1/settings").await.status(), 200);
    let recorded = proxy.finish().await;
    assert!(recorded.contains("\"/settings\""), "{recorded}");
    assert!(!recorded.contains("/health") && !recorded.contains("/silent"), "{recorded}");
}

#[tokio::test]
async fn body_that_ends_early_is_not_recorded() {
    let (proxy, counts) = start(ProxyLimits::default()).await;
    assert!(proxy.get("/auth/v1/half").await.bytes().await.is_err());
    // This client leaves before the end.
    let mut endless = proxy.get("/auth/v1/endless").await;
    assert_eq!(endless.chunk().await.expect("a part").expect("a part"), "{\"a\": ");
    drop(endless);
    counts.wait(|counts| &counts.closed, 2).await;
    assert_eq!(proxy.get("/auth/v1/user").await.text().await.expect("text"), "{}");
    let recorded = proxy.finish().await;
    assert!(recorded.contains("\"/user\""), "{recorded}");
    assert!(!recorded.contains("/half") && !recorded.contains("/endless"), "{recorded}");
}

#[tokio::test]
async fn server_that_stops_is_not_awaited_for_ever() {
    let limits = ProxyLimits { response: SHORT, part: SHORT, ..ProxyLimits::default() };
    let (proxy, _) = start(limits).await;
    for path in ["/auth/v1/silent", "/graphql/v1/silent"] {
        let response = proxy.get(path).await;
        assert_eq!(response.status(), 504, "{path}");
        assert!(response.text().await.expect("text").contains("no response after"), "{path}");
    }
    for path in ["/auth/v1/endless", "/graphql/v1/endless"] {
        let body = proxy.get(path).await.bytes();
        assert!(timeout(LIMIT, body).await.expect("it ends").is_err(), "{path}");
    }
    assert_eq!(proxy.get("/auth/v1/user").await.status(), 200);
    let recorded = proxy.finish().await;
    assert!(recorded.contains("\"/user\"") && !recorded.contains("less"), "{recorded}");
}

#[tokio::test]
async fn open_streams_do_not_keep_the_recorder_from_its_end() {
    let (proxy, _) = start(ProxyLimits::default()).await;
    assert_eq!(proxy.get("/auth/v1/user").await.status(), 200);
    let endless = proxy.get("/auth/v1/endless").await;
    let _ = proxy.closing.send(true);
    // The edge waits for open connections for twenty seconds, and then for their requests.
    timeout(2 * LIMIT + LIMIT, proxy.serving).await.expect("it ends").expect("no panic");
    let recorder = proxy.recorder;
    let joined = timeout(LIMIT, tokio::task::spawn_blocking(|| recorder.join())).await;
    assert_eq!(joined.expect("the thread ends").unwrap().expect("no panic").counts(), (1, 1));
    drop(endless);
}

#[tokio::test]
async fn counts_of_rows_are_recorded_and_the_s3_protocol_is_passed_on() {
    let (proxy, _) = start(ProxyLimits::default()).await;
    for path in ["/rest/v1/counted", "/storage/v1/object/papers/a.txt", "/auth/v1/asked"] {
        assert_eq!(send(proxy.client.head(format!("{}{path}", proxy.url))).await.status(), 200, "{path}");
    }
    for path in ["/storage/v1/s3/papers/b.txt", "/storage/v1/s3?list-type=2", "/storage/v1/bucket"] {
        assert_eq!(proxy.get(path).await.status(), 200, "{path}");
    }
    let recorded = proxy.finish().await;
    for path in ["\"/counted\"", "\"/object/papers/", "\"/bucket\""] {
        assert!(recorded.contains(path), "{path}: {recorded}");
    }
    assert!(!recorded.contains("/asked") && !recorded.contains("s3"), "{recorded}");
}
