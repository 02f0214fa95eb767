//! A local SMTP server that records commands and whose extensions and refusals are configurable.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What a server offers, and what it refuses.
#[derive(Clone, Default)]
pub(crate) struct ServerBehavior {
    /// The mechanisms after `AUTH`; empty: none.
    pub auth: &'static str,
    /// The name in the certificate it shows after STARTTLS; absent: no STARTTLS.
    pub certificate: Option<&'static str>,
    /// A command and the reply it gets in the place of a good one.
    pub refuses: Option<(&'static str, &'static str)>,
    /// Takes this long to take a mail.
    pub dawdles: Option<Duration>,
    /// Hangs up after this many mails.
    pub hangs_up_after: Option<usize>,
    /// Turns connections away while it has this many.
    pub most_connections: Option<usize>,
    /// A command, `(connected)` or the final dot, after which it says nothing any more.
    pub falls_silent_at: Option<&'static str>,
}

#[derive(Clone, Default)]
pub(crate) struct MailServer {
    habits: ServerBehavior,
    lines: Arc<Mutex<Vec<String>>>,
    open: Arc<AtomicUsize>,
    pub port: u16,
}

trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

impl MailServer {
    pub(crate) async fn start(habits: ServerBehavior) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let server = Self { habits, port, ..Self::default() };
        let accepting = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = accepting.clone();
                server.note("(connected)");
                tokio::spawn(async move {
                    let open = server.open.fetch_add(1, Ordering::AcqRel);
                    server.welcome(open, stream).await;
                    server.open.fetch_sub(1, Ordering::AcqRel);
                });
            }
        });
        server
    }

    /// The received lines in order.
    pub(crate) fn received_commands(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many lines begin like this.
    pub(crate) fn count(&self, start: &str) -> usize {
        self.received_commands().iter().filter(|line| line.starts_with(start)).count()
    }

    fn note(&self, line: &str) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
    }

    async fn welcome(&self, open: usize, stream: TcpStream) -> Option<()> {
        let mut wire: BufStream<Box<dyn Wire>> = BufStream::new(Box::new(stream));
        self.silence("(connected)").await;
        if self.habits.most_connections.is_some_and(|most| open >= most) {
            self.note("(turned away)");
            return say(&mut wire, "421 too many connections").await;
        }
        self.talk(wire).await
    }

    async fn silence(&self, at: &str) {
        if self.habits.falls_silent_at == Some(at) {
            std::future::pending::<()>().await;
        }
    }

    async fn talk(&self, mut wire: BufStream<Box<dyn Wire>>) -> Option<()> {
        say(&mut wire, "220 here").await?;
        let (mut encrypted, mut mails) = (false, 0);
        loop {
            let line = read_line(&mut wire).await?;
            self.note(&line);
            let verb = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
            self.silence(&verb).await;
            match (verb.as_str(), self.habits.refuses) {
                (verb, Some((refused, reply))) if verb == refused => say(&mut wire, reply).await?,
                ("EHLO", _) => say(&mut wire, &self.greeting(encrypted)).await?,
                ("STARTTLS", _) => {
                    say(&mut wire, "220 go on").await?;
                    let acceptor = acceptor(self.habits.certificate?);
                    wire = BufStream::new(Box::new(acceptor.accept(wire.into_inner()).await.ok()?));
                    encrypted = true;
                }
                ("AUTH", _) => say(&mut wire, "235 welcome").await?,
                ("DATA", _) => {
                    say(&mut wire, "354 go on").await?;
                    while let Some(line) = read_line(&mut wire).await.filter(|line| line != ".") {
                        self.note(&format!("  {line}"));
                    }
                    self.silence(".").await;
                    if let Some(long) = self.habits.dawdles {
                        tokio::time::timeout(long, std::future::pending::<()>()).await.ok();
                    }
                    say(&mut wire, "250 kept").await?;
                    mails += 1;
                    if self.habits.hangs_up_after == Some(mails) {
                        return None;
                    }
                }
                ("QUIT", _) => return say(&mut wire, "221 bye").await,
                _ => say(&mut wire, "250 fine").await?,
            }
        }
    }

    fn greeting(&self, encrypted: bool) -> String {
        let mut offers = vec!["here".to_owned(), "8BITMIME".to_owned(), "SMTPUTF8".to_owned()];
        if self.habits.certificate.is_some() && !encrypted {
            offers.push("STARTTLS".to_owned());
        }
        if !self.habits.auth.is_empty() {
            offers.push(format!("AUTH {}", self.habits.auth));
        }
        let last = offers.pop().unwrap_or_default();
        format!("250-{}\r\n250 {last}", offers.join("\r\n250-"))
    }
}

async fn say(wire: &mut BufStream<Box<dyn Wire>>, line: &str) -> Option<()> {
    wire.write_all(format!("{line}\r\n").as_bytes()).await.ok()?;
    wire.flush().await.ok()
}

async fn read_line(wire: &mut BufStream<Box<dyn Wire>>) -> Option<String> {
    let mut line = String::new();
    let read = wire.read_line(&mut line).await.ok()?;
    (read > 0).then(|| line.trim_end().to_owned())
}

fn acceptor(name: &str) -> TlsAcceptor {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/ports/mail/tls");
    let chain = vec![CertificateDer::from_pem_file(format!("{folder}/{name}.pem")).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_file(format!("{folder}/{name}.key")).expect("a key");
    let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
    TlsAcceptor::from(Arc::new(config.with_no_client_auth().with_single_cert(chain, key).expect("a pair")))
}
