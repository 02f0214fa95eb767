//! Tests of access to the pages.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::OnceLock;

use axum::body::Body;
use axum::extract::ConnectInfo;
use http::HeaderValue;
use http_edge::LocalAddress;
use messages::MessageSender;
use platform::clock::SystemClock;
use platform::entropy::Entropy;
use platform::mail::outbox::MailDestination;
use platform::store::outbox::OutboxTable;
use platform::store::{PgConnectOptions, Pool, PoolOptions};

use super::*;

type Headers = &'static [(&'static str, &'static str)];

fn request(path: &str, peer: &str, headers: &[(&'static str, &str)]) -> Request {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = path.parse().expect("a path");
    for (name, value) in headers {
        request.headers_mut().append(*name, HeaderValue::try_from(*value).expect("a header"));
    }
    set_connection(&mut request, peer);
    request
}

/// Gives a request the ends of its connection; a loopback peer stands for an open connection of this process.
pub(super) fn set_connection(request: &mut Request, peer: &str) {
    static OPEN: OnceLock<Vec<(TcpListener, TcpStream)>> = OnceLock::new();
    let open = OPEN.get_or_init(|| {
        let listeners = ["127.0.0.1:0", "[::1]:0"].into_iter().filter_map(|host| TcpListener::bind(host).ok());
        let connected = listeners.map(|listener| {
            let address = listener.local_addr().expect("an address");
            (listener, TcpStream::connect(address).expect("connected"))
        });
        connected.collect()
    });
    let peer: SocketAddr = peer.parse().expect("an address");
    let ends = open.iter().map(|(listener, stream)| (stream.local_addr(), listener.local_addr()));
    let mut ends = ends.map(|(client, server)| (client.expect("an address"), server.expect("an address")));
    let (client, server) = ends.find(|(client, _)| client.ip() == peer.ip().to_canonical()).unwrap_or((peer, peer));
    request.extensions_mut().insert(ConnectInfo(SocketAddr::new(peer.ip(), client.port())));
    request.extensions_mut().insert(LocalAddress(server));
}

/// The pages with an inbox whose database is unreachable: the page itself needs none.
fn dev(token: Option<&str>) -> DevelopmentPages {
    let pool = Pool::new(PoolOptions::new(PgConnectOptions::new_without_pgpass()));
    let (table, entropy) = (OutboxTable::new(pool), Entropy::from_seed(1));
    let outbox = Arc::new(Outbox::new(table, Arc::new(SystemClock), entropy, MailDestination::Inbox));
    let (_, closed) = tokio::sync::watch::channel(false);
    let inbox = InboxPages::new(&outbox, MessageSender::default(), closed);
    DevelopmentPages::new(Some(inbox), Access::new(true, token.map(str::to_owned)))
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
        let status = dev.answer(request("/_dev/inbox", peer, headers)).await.status();
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
