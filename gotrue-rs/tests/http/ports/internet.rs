//! A fake internet: a proxy that answers every HTTPS URL, with a certificate for its host.
//!
//! It records all requests.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foundation::secret::Secret;
use platform::http_client::{OutboundOptions, TrustedRoots};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// The authority that signs the certificates of all hosts.
static AUTHORITY: LazyLock<CertifiedIssuer<'static, KeyPair>> = LazyLock::new(|| {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a certificate")
});

/// The fake internet of one test.
#[derive(Clone)]
pub(crate) struct Internet {
    state: Arc<Mutex<InternetState>>,
    proxy: String,
}

#[derive(Default)]
struct InternetState {
    answers: HashMap<String, Reply>,
    requests: Vec<RecordedRequest>,
}

/// What an address answers.
#[derive(Clone)]
pub(crate) struct Reply {
    pub status: u16,
    pub body: String,
    pub after: Duration,
}

/// A request that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedRequest {
    pub method: String,
    pub url: String,
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Internet {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let proxy = format!("http://{}", listener.local_addr().expect("an address"));
        let internet = Self { state: Arc::default(), proxy };
        let accepting = internet.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(accepting.clone().tunnel(stream));
            }
        });
        internet
    }

    /// The way there: through the proxy, trusting its authority.
    pub(crate) fn outbound(&self) -> OutboundOptions {
        OutboundOptions {
            https_proxy: Some(Secret::new(&self.proxy)),
            trusted_roots: Some(TrustedRoots::Pem(AUTHORITY.pem().into_bytes())),
            ..OutboundOptions::default()
        }
    }

    /// What an address (without its query) answers from now on; before that, 404.
    pub(crate) fn put(&self, url: &str, status: u16, body: &impl ToString) {
        self.put_late(url, status, body, Duration::ZERO);
    }

    /// The same, after a while.
    pub(crate) fn put_late(&self, url: &str, status: u16, body: &impl ToString, after: Duration) {
        self.state().answers.insert(url.to_owned(), Reply { status, body: body.to_string(), after });
    }

    /// Takes the requests since the last call.
    pub(crate) fn take_requests(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut self.state().requests)
    }

    fn state(&self) -> MutexGuard<'_, InternetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `CONNECT host:port`, then TLS, then requests one after the other.
    async fn tunnel(self, mut stream: TcpStream) -> Option<()> {
        let head = head(&mut BufReader::new(&mut stream)).await?;
        let host = head.first()?.strip_prefix("CONNECT ")?.split(':').next()?.to_owned();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
        let mut wire = BufStream::new(acceptor(&host).accept(stream).await.ok()?);
        loop {
            let response = read(&mut wire, &host).await?;
            let address = response.url.split('?').next().unwrap_or_default().to_owned();
            let reply = {
                let mut reported = self.state();
                reported.requests.push(response);
                reported.answers.get(&address).cloned()
            };
            let Reply { status, body, after } =
                reply.unwrap_or(Reply { status: 404, body: String::new(), after: Duration::ZERO });
            tokio::time::timeout(after, std::future::pending::<()>()).await.ok();
            let text = format!("HTTP/1.1 {status} Said\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            wire.write_all(text.as_bytes()).await.ok()?;
            wire.flush().await.ok()?;
        }
    }
}

async fn read<W: AsyncBufRead + Unpin>(wire: &mut W, host: &str) -> Option<RecordedRequest> {
    let lines = head(wire).await?;
    let mut first = lines.first()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?);
    let header = |line: &String| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let headers: HashMap<String, String> = lines.iter().skip(1).filter_map(header).collect();
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
    let mut body = vec![0; length];
    wire.read_exact(&mut body).await.ok()?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Some(RecordedRequest { method, url: format!("https://{host}{path}"), headers, body })
}

async fn head<W: AsyncBufRead + Unpin>(wire: &mut W) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        wire.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
        match line.trim_end() {
            "" => return Some(lines),
            line => lines.push(line.to_owned()),
        }
    }
}

/// Accepts TLS with a certificate for the host.
fn acceptor(host: &str) -> TlsAcceptor {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new([host.to_owned()]).expect("a name of a host");
    let chain = vec![params.signed_by(&key, &AUTHORITY).expect("a certificate").into()];
    let key = key.into();
    let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
    TlsAcceptor::from(Arc::new(config.with_no_client_auth().with_single_cert(chain, key).expect("a pair")))
}
