//! Tests of access to the pages and of their content.

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use futures::future::BoxFuture;
use http::HeaderValue;
use http::header::CONTENT_SECURITY_POLICY;

use super::*;

type Headers = &'static [(&'static str, &'static str)];

/// An inbox with one hostile mail.
struct FakeInbox;

impl Inbox for FakeInbox {
    fn list_mails<'a>(
        &'a self,
        to: Option<&'a str>,
        patience: Duration,
    ) -> BoxFuture<'a, anyhow::Result<Vec<InboxMessage>>> {
        let hostile = "<script>alert(1)</script>".to_owned();
        let mail = InboxMessage {
            id: "1".to_owned(),
            to: to.unwrap_or("a@example.com").to_owned(),
            subject: hostile.clone(),
            link: Some("javascript:alert(1)".to_owned()),
            code: Some(patience.as_secs().to_string()),
            html: hostile,
            ..InboxMessage::default()
        };
        Box::pin(std::future::ready(Ok(vec![mail])))
    }

    fn find_mail<'a>(&'a self, id: &'a str) -> BoxFuture<'a, anyhow::Result<Option<InboxMessage>>> {
        Box::pin(async move { Ok(self.list_mails(None, Duration::ZERO).await?.into_iter().find(|mail| mail.id == id)) })
    }
}

fn request(path: &str, peer: &str, headers: &[(&'static str, &str)]) -> Request {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = path.parse().expect("a path");
    for (name, value) in headers {
        request.headers_mut().append(*name, HeaderValue::try_from(*value).expect("a header"));
    }
    let peer: SocketAddr = peer.parse().expect("an address");
    request.extensions_mut().insert(ConnectInfo(peer));
    request
}

fn dev(token: Option<&str>) -> DevelopmentPages {
    let (closing, received) = tokio::sync::watch::channel(false);
    // The sender is leaked, so that the channel stays open during the test.
    std::mem::forget(closing);
    DevelopmentPages::new(Some(Arc::new(FakeInbox)), Access::new(true, token.map(str::to_owned)), received)
}

async fn body(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[tokio::test]
async fn inbox_without_token_requires_local_request() {
    const HERE: &str = "127.0.0.1:5";
    let cases: [(&str, Headers, bool); 17] = [
        (HERE, &[("host", "127.0.0.1:54321")], true),
        (HERE, &[("host", "LOCALHOST:54321")], true),
        (HERE, &[("host", "shop.localhost")], true),
        ("[::1]:5", &[("host", "[::1]:54321")], true),
        ("[::ffff:127.0.0.1]:5", &[("host", "localhost")], true),
        (HERE, &[("host", "localhost:1"), ("origin", "http://localhost:1"), ("sec-fetch-site", "same-origin")], true),
        (HERE, &[], false),
        (HERE, &[("host", "attacker.example")], false),
        (HERE, &[("host", "localhost.attacker.example")], false),
        (HERE, &[("host", "127.0.0.1.nip.io:54321")], false),
        (HERE, &[("host", "localhost"), ("host", "attacker.example")], false),
        (HERE, &[("host", "localhost:1"), ("origin", "https://attacker.example")], false),
        (HERE, &[("host", "localhost:1"), ("origin", "http://localhost:3000")], false),
        (HERE, &[("host", "localhost:1"), ("origin", "null")], false),
        (HERE, &[("host", "localhost:1"), ("sec-fetch-site", "cross-site")], false),
        (HERE, &[("host", "localhost:1"), ("x-forwarded-for", "192.0.2.1")], false),
        ("192.0.2.1:5", &[("host", "localhost:54321")], false),
    ];
    for (peer, headers, allowed) in cases {
        let dev = dev(None);
        let status = dev.answer(request("/_dev/inbox.json", peer, headers)).await.status();
        assert_eq!(status == StatusCode::OK, allowed, "{peer} {headers:?}");
    }
}

#[tokio::test]
async fn inbox_token_grants_remote_access() {
    let dev = dev(Some("right"));
    let cases: [(&str, Headers, StatusCode); 4] = [
        ("/_dev/inbox?token=right", &[], StatusCode::OK),
        ("/_dev/inbox", &[("authorization", "Bearer right")], StatusCode::OK),
        ("/_dev/inbox?token=wrong", &[], StatusCode::FORBIDDEN),
        ("/_dev/inbox?token=", &[], StatusCode::FORBIDDEN),
    ];
    for (path, headers, status) in cases {
        assert_eq!(dev.answer(request(path, "192.0.2.1:5", headers)).await.status(), status, "{path}");
    }
}

#[tokio::test]
async fn inbox_json_filters_by_address_and_limits_wait() {
    for (wait, expected) in [("5", "5"), ("999999999999", "60"), ("soon", "0")] {
        let path = format!("/_dev/inbox.json?to=a%2Bb@example.com&wait={wait}");
        let answer = dev(None).answer(request(&path, "127.0.0.1:5", &[("host", "localhost")])).await;
        let messages: serde_json::Value = serde_json::from_str(&body(answer).await).expect("JSON");
        assert_eq!(messages["messages"][0]["to"], "a+b@example.com");
        assert_eq!(messages["messages"][0]["code"], expected, "{wait}");
    }
}

#[tokio::test]
async fn mail_content_is_escaped_and_sandboxed() {
    let dev = dev(None);
    let listing = dev.answer(request("/_dev/inbox", "127.0.0.1:5", &[("host", "localhost")])).await;
    let page = body(listing).await;
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
    assert!(!page.contains("javascript:"), "{page}");
    let mail = dev.answer(request("/_dev/inbox/1", "127.0.0.1:5", &[("host", "localhost")])).await;
    let policy = mail.headers()[CONTENT_SECURITY_POLICY].to_str().expect("text");
    assert!(policy.starts_with("sandbox;") && policy.contains("default-src 'none'"), "{policy}");
}
