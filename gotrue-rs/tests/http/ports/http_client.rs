//! Outbound requests: size and time limits, and private addresses refused for untrusted URLs.

use std::net::IpAddr;
use std::time::Duration;

use foundation::secret::Secret;
use platform::http_client::guard::{ForbiddenUrl, check_url, is_public};
use platform::http_client::{HttpClient, HttpError, OutboundOptions, ResponseLimits, TrustedRoots};
use reqwest::{Method, Request, Url};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::pages::Pages;

const LIMITS: ResponseLimits = ResponseLimits { bytes: 100, time: Duration::from_secs(5) };

#[tokio::test]
async fn response_body_is_limited() {
    let pages = Pages::serve(&[("/short", "hello"), ("/exact", &"x".repeat(100)), ("/long", &"x".repeat(5000))]).await;
    let client = HttpClient::new(OutboundOptions::default());
    for (path, length, truncated) in
        [("/short", 5, false), ("/exact", 100, false), ("/long", 100, true), ("/none", 0, false)]
    {
        let answer = client.get_trusted("test", &format!("{}{path}", pages.base), LIMITS).await.expect("an answer");
        assert_eq!((answer.body.len(), answer.is_truncated), (length, truncated), "{path}");
        assert_eq!(answer.status, if path == "/none" { 404 } else { 200 });
    }
}

#[tokio::test]
async fn unresponsive_server_times_out() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let limits = ResponseLimits { time: Duration::from_millis(200), ..LIMITS };
    let outcome = HttpClient::new(OutboundOptions::default()).get_trusted("test", &url, limits).await;
    assert!(matches!(outcome, Err(HttpError::Transport(error)) if error.is_timeout()));
}

#[test]
fn only_public_addresses_are_public() {
    let address = |text: &str| text.parse::<IpAddr>().expect("an address");
    for text in [
        "1.1.1.1",
        "93.184.215.14",
        "100.63.255.255",
        "172.32.0.1",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "2606:4700::1111",
        "2a00:1450::1",
        "64:ff9b::101:101",
        "2002:101:101::1",
    ] {
        assert!(is_public(address(text)), "{text}");
    }
    for text in [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "127.0.0.1",
        "127.9.9.9",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2001:db8::1",
        "2001::1",
        "2002:7f00:1::1",
        "2002:a00:1::1",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "ff02::1",
        "3fff::1",
        "::10.0.0.1",
        "100::1",
        "5f00::1",
    ] {
        assert!(!is_public(address(text)), "{text}");
    }
}

#[test]
fn untrusted_address_is_checked_before_connecting() {
    let verdict = |text: &str| check_url(&Url::parse(text).expect("a URL"));
    for text in ["https://example.com/a", "http://1.1.1.1/", "https://[2606:4700::1111]:8443/"] {
        assert_eq!(verdict(text), Ok(()), "{text}");
    }
    for text in [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://017700000001/",
        "http://127.1/",
        "http://[::ffff:7f00:1]/",
        "http://169.254.169.254/latest/meta-data",
        "https://0/",
    ] {
        assert_eq!(verdict(text), Err(ForbiddenUrl::NotPublic), "{text}");
    }
    assert_eq!(verdict("file:///etc/passwd"), Err(ForbiddenUrl::Scheme("file".to_owned())));
    assert_eq!(verdict("https://user@example.com/"), Err(ForbiddenUrl::UserInfo));
}

#[tokio::test]
async fn host_resolving_to_private_address_is_refused() {
    let pages = Pages::serve(&[("/secret", "secret")]).await;
    let port = Url::parse(&pages.base).expect("a URL").port().expect("a port");
    let client = HttpClient::new(OutboundOptions::default());
    for url in [
        format!("http://127.0.0.1:{port}/secret"),
        format!("http://localhost:{port}/secret"),
        format!("http://localhost.:{port}/secret"),
    ] {
        let outcome = client.send_untrusted("test", get(&url), LIMITS).await;
        assert!(outcome.is_err(), "{url}: {outcome:?}");
    }
    assert_eq!(pages.request_count("/secret"), 0);
}

/// A GET of that URL.
fn get(url: &str) -> Request {
    Request::new(Method::GET, Url::parse(url).expect("a URL"))
}

/// A proxy that answers every request with one text and records the target.
async fn proxy(answer: String) -> (String, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let (requested, questions) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 2048];
            let read = stream.read(&mut buffer).await.unwrap_or_default();
            let first = String::from_utf8_lossy(&buffer[..read]).lines().next().unwrap_or_default().to_owned();
            drop(requested.send(first));
            drop(stream.write_all(answer.as_bytes()).await);
        }
    });
    (base, questions)
}

const PAGE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

#[tokio::test]
async fn redirect_to_private_address_is_refused() {
    let pages = Pages::serve(&[("/secret", "secret")]).await;
    for target in [format!("{}/secret", pages.base), "http://169.254.169.254/".to_owned(), "ftp://1.1.1.1/".to_owned()]
    {
        let answer =
            format!("HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        let (base, mut questions) = proxy(answer).await;
        let client =
            HttpClient::new(OutboundOptions { http_proxy: Some(Secret::new(base)), ..OutboundOptions::default() });
        let outcome = client.send_untrusted("test", get("http://1.1.1.1/start"), LIMITS).await;
        assert!(outcome.is_err(), "{target}: {outcome:?}");
        assert_eq!(questions.recv().await.as_deref(), Some("GET http://1.1.1.1/start HTTP/1.1"));
    }
    assert_eq!(pages.request_count("/secret"), 0);
}

#[tokio::test]
async fn proxies_are_used_except_for_loopback_and_no_proxy() {
    let (base, mut questions) = proxy(PAGE.to_owned()).await;
    let pages = Pages::serve(&[("/here", "here")]).await;
    let client = HttpClient::new(OutboundOptions {
        http_proxy: Some(Secret::new(base.trim_start_matches("http://"))),
        no_proxy: "direct.invalid, .suffix.invalid,192.0.2.0/24".to_owned(),
        ..OutboundOptions::default()
    });
    let limits = ResponseLimits { time: Duration::from_millis(500), ..LIMITS };
    for url in ["http://somewhere.invalid/a", "http://suffix.invalid/b", "http://notdirect.invalid/c"] {
        assert_eq!(client.get_trusted("test", url, limits).await.expect("an answer").body, b"ok");
        assert_eq!(questions.recv().await, Some(format!("GET {url} HTTP/1.1")));
    }
    for url in ["http://direct.invalid/", "http://sub.direct.invalid/", "http://x.suffix.invalid/", "http://192.0.2.7/"]
    {
        assert!(client.get_trusted("test", url, limits).await.is_err(), "{url} has no proxy and does not exist");
    }
    assert_eq!(
        client.get_trusted("test", &format!("{}/here", pages.base), limits).await.expect("an answer").body,
        b"here"
    );
    assert!(questions.try_recv().is_err(), "the proxy got no further request");
    let everything = HttpClient::new(OutboundOptions {
        http_proxy: Some(Secret::new(base)),
        no_proxy: "*".to_owned(),
        ..OutboundOptions::default()
    });
    assert!(everything.get_trusted("test", "http://somewhere.invalid/", limits).await.is_err());
}

#[tokio::test]
async fn invalid_settings_are_reported() {
    for outbound in [
        OutboundOptions { https_proxy: Some(Secret::new("http://:not a proxy")), ..OutboundOptions::default() },
        OutboundOptions {
            trusted_roots: Some(TrustedRoots::Pem(
                b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec(),
            )),
            ..OutboundOptions::default()
        },
    ] {
        let outcome = HttpClient::new(outbound).get_trusted("test", "http://127.0.0.1:9/", LIMITS).await;
        assert!(matches!(outcome, Err(HttpError::Client(_))), "{outcome:?}");
    }
}

#[test]
fn files_of_roots_are_checked_first_and_read_later() {
    let folder = std::env::temp_dir().join(format!("basalt-roots-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("more")).expect("a folder");
    let (file, more) = (folder.join("roots.pem"), folder.join("more"));
    std::fs::write(&file, "first").expect("a file");
    std::fs::write(more.join("one.pem"), "second").expect("a file");
    let roots = TrustedRoots::of_files(Some(&file), more.to_str()).expect("files are given");
    roots.check().expect("all can be read");
    std::fs::write(&file, "changed").expect("a file");
    assert_eq!(roots.read().expect("all can be read"), b"changed\nsecond\n");
    std::fs::remove_dir_all(&folder).expect("a folder");
    assert!(roots.check().is_err());
    assert!(roots.read().is_err());
    assert_eq!(TrustedRoots::of_files(None, None), None);
}
