use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gotrue_rs::ports::mail::addresses::{AddressChecker, AddressVerdict};
use gotrue_rules::domain::policy::AddressCheck;
use hickory_resolver::proto::op::{Message, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, MX};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use platform::http_client::{HttpClient, OutboundOptions};
use tokio::net::{TcpListener, UdpSocket};

use crate::ports::pages::Pages;

/// What the DNS of a test knows of a domain.
#[derive(Clone)]
enum Known {
    Mail(&'static str),
    Address([u8; 4]),
    Nothing,
    Broken,
    Silent,
}

#[derive(Clone)]
struct NameServer {
    address: SocketAddr,
    requested: Arc<AtomicUsize>,
}

impl NameServer {
    async fn knowing(domains: &[(&'static str, Known)]) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
        let address = socket.local_addr().expect("an address");
        let domains: HashMap<String, Known> =
            domains.iter().map(|(domain, known)| (format!("{domain}."), known.clone())).collect();
        let server = Self { address, requested: Arc::default() };
        let requested = Arc::clone(&server.requested);
        tokio::spawn(async move {
            let mut buffer = [0; 1500];
            while let Ok((size, from)) = socket.recv_from(&mut buffer).await {
                requested.fetch_add(1, Ordering::SeqCst);
                let question = Message::from_vec(&buffer[..size]).expect("a question");
                if let Some(answer) = answer(&question, &domains) {
                    socket.send_to(&answer.to_vec().expect("bytes"), from).await.expect("sent");
                }
            }
        });
        server
    }
}

fn answer(question: &Message, domains: &HashMap<String, Known>) -> Option<Message> {
    let query = question.queries.first()?.clone();
    let known = domains.get(&query.name().to_string()).cloned();
    let mut answer = Message::response(question.id, question.op_code);
    let record = |data| Record::from_rdata(query.name().clone(), 300, data);
    match (known, query.query_type()) {
        (Some(Known::Silent), _) => return None,
        (Some(Known::Broken), _) => answer.metadata.response_code = ResponseCode::ServFail,
        (Some(Known::Mail(host)), RecordType::MX) => {
            answer.add_answer(record(RData::MX(MX::new(10, Name::from_ascii(host).expect("a name")))));
        }
        (Some(Known::Address([a, b, c, d])), RecordType::A) => {
            answer.add_answer(record(RData::A(A::new(a, b, c, d))));
        }
        (Some(_), _) => {}
        (None, _) => answer.metadata.response_code = ResponseCode::NXDomain,
    }
    answer.add_query(query);
    Some(answer)
}

fn extended(blocked: &[&str]) -> AddressCheck {
    let blocked_mx = blocked.iter().map(|host| (*host).to_owned()).collect();
    AddressCheck { extended: true, blocked_mx, ..AddressCheck::default() }
}

fn addresses(policy: &AddressCheck, server: &NameServer) -> AddressChecker {
    AddressChecker::new(policy, &Arc::new(HttpClient::new(OutboundOptions::default()))).with_name_server(server.address)
}

#[tokio::test]
async fn domains_without_mail_servers_are_refused_by_dns() {
    let server = NameServer::knowing(&[
        ("mail.dev", Known::Mail("mx.mail.dev.")),
        ("web.dev", Known::Address([192, 0, 2, 1])),
        ("empty.dev", Known::Nothing),
        ("broken.dev", Known::Broken),
        ("blocked.dev", Known::Mail("mx.blocked.dev.")),
        ("blocked-address.dev", Known::Address([192, 0, 2, 9])),
    ])
    .await;
    let checker = addresses(&extended(&["mx.blocked.dev", "192.0.2.9"]), &server);
    for (address, verdict) in [
        ("ann@mail.dev", AddressVerdict::Accepted),
        ("ann@web.dev", AddressVerdict::Accepted),
        ("ann@empty.dev", AddressVerdict::Invalid),
        ("ann@unknown.dev", AddressVerdict::Invalid),
        ("ann@broken.dev", AddressVerdict::Accepted),
        ("ann@blocked.dev", AddressVerdict::Blocked),
        ("ann@blocked-address.dev", AddressVerdict::Blocked),
        ("ann@example.com", AddressVerdict::Invalid),
    ] {
        assert_eq!(checker.check(address).await, verdict, "{address}");
    }
}

#[tokio::test]
async fn dns_results_are_cached_and_large_providers_skip_lookup() {
    let server = NameServer::knowing(&[("mail.dev", Known::Mail("mx.mail.dev."))]).await;
    let checker = addresses(&extended(&[]), &server);
    assert_eq!(checker.check("somebody@gmail.com").await, AddressVerdict::Accepted);
    assert_eq!(server.requested.load(Ordering::SeqCst), 0);
    for address in ["ann@mail.dev", "bob@mail.dev"] {
        assert_eq!(checker.check(address).await, AddressVerdict::Accepted);
    }
    assert_eq!(server.requested.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn unresponsive_dns_times_out_after_three_seconds_and_accepts() {
    let server = NameServer::knowing(&[("silent.dev", Known::Silent)]).await;
    let checker = addresses(&extended(&[]), &server);
    let started = Instant::now();
    assert_eq!(checker.check("ann@silent.dev").await, AddressVerdict::Accepted);
    assert!(started.elapsed() < Duration::from_millis(3500), "{:?}", started.elapsed());
}

#[tokio::test]
async fn validation_service_refuses_only_with_explicit_result() {
    let pages = Pages::serve(&[]).await;
    let policy = AddressCheck { service_url: format!("{}/check", pages.base), ..AddressCheck::default() };
    let checker = AddressChecker::new(&policy, &Arc::new(HttpClient::new(OutboundOptions::default())));
    assert_eq!(checker.check("ann@example.com").await, AddressVerdict::Accepted, "status 404");
    for (answer, verdict) in [
        (r#"{"valid":false}"#, AddressVerdict::Invalid),
        (r#"{"valid":false} and so on"#, AddressVerdict::Invalid),
        (r#"{"valid":true}"#, AddressVerdict::Accepted),
        (r#"{"valid":null}"#, AddressVerdict::Accepted),
        (r#"{"valid":"false"}"#, AddressVerdict::Accepted),
        ("{}", AddressVerdict::Accepted),
        ("null", AddressVerdict::Accepted),
        ("no JSON", AddressVerdict::Accepted),
        (r#"{"reason":"it is far too long to be read","valid":false}"#, AddressVerdict::Accepted),
        ("redirect:http://127.0.0.1:9/", AddressVerdict::Accepted),
    ] {
        pages.put("/check", answer);
        assert_eq!(checker.check("ann@example.com").await, verdict, "{answer}");
    }
    assert_eq!(pages.request_count("/check"), 11);
}

#[tokio::test]
async fn unresponsive_validation_service_times_out_after_three_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/check", listener.local_addr().expect("an address"));
    let policy = AddressCheck { service_url: url, ..AddressCheck::default() };
    let checker = AddressChecker::new(&policy, &Arc::new(HttpClient::new(OutboundOptions::default())));
    let started = Instant::now();
    assert_eq!(checker.check("ann@example.com").await, AddressVerdict::Accepted);
    assert!(started.elapsed() < Duration::from_millis(3500), "{:?}", started.elapsed());
}
