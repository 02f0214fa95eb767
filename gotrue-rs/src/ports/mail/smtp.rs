//! Mail over SMTP: TLS from the first byte on port 465, STARTTLS where it is offered, certificates always checked, a
//! few connections kept for the next mail. What is sent is made by [`super::compose`].

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use gotrue_rules::domain::secret::Secret;
use lettre::address::Envelope;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use tokio::sync::Semaphore;

use super::compose::{Sender, compose};
use super::{MailError, Mailer, Message};

/// A mail server and who we are there.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its host name or address.
    pub host: String,
    /// Its port; 465 means TLS from the first byte.
    pub port: u16,
    /// Our name there; empty: we do not log in.
    pub user: String,
    /// The password of `user`.
    pub password: Secret,
    /// What we call ourselves in EHLO: the host of the external URL.
    pub hello: String,
    /// Trusted roots as PEM in the place of the built-in ones; absent: those.
    pub trusted_roots: Option<Vec<u8>>,
}

/// Longest time to connect, say hello, encrypt and log in.
const CONNECTING: Duration = Duration::from_secs(10);
/// Longest time to hand over one mail.
const SENDING: Duration = Duration::from_secs(30);
/// How long a connection waits for the next mail.
const IDLE: Duration = Duration::from_secs(30);
/// Most connections at a time.
const CONNECTIONS: usize = 8;

/// Sends mails through one server.
pub struct Smtp {
    server: Server,
    hello: ClientId,
    tls: TlsParameters,
    sender: Sender,
    idle: Arc<Idle>,
    permits: Semaphore,
    logs: bool,
}

/// Connections that wait for the next mail, the longest waiting first.
#[derive(Default)]
struct Idle(Mutex<Vec<(Instant, AsyncSmtpConnection)>>);

impl Smtp {
    /// Prepares everything that can fail; connects to nobody yet.
    pub fn new(server: Server, sender: Sender) -> Result<Self, MailError> {
        let mut tls = TlsParameters::builder(server.host.clone());
        if let Some(pem) = &server.trusted_roots {
            let roots = Certificate::from_pem(pem)
                .map_err(|error| MailError::Header(format!("the trusted roots cannot be read: {error}")))?;
            tls = tls.certificate_store(CertificateStore::None).add_root_certificate(roots);
        }
        let tls = tls
            .build()
            .map_err(|error| MailError::Header(format!("TLS to {:?} cannot be set up: {error}", server.host)))?;
        let hello = match server.hello.parse::<IpAddr>() {
            Ok(IpAddr::V4(address)) => ClientId::Ipv4(address),
            Ok(IpAddr::V6(address)) => ClientId::Ipv6(address),
            Err(_)
                if server.hello.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
                    && !server.hello.is_empty() =>
            {
                ClientId::Domain(server.hello.clone())
            }
            Err(_) => ClientId::Domain("localhost".to_owned()),
        };
        Ok(Self { server, hello, tls, sender, idle: Arc::default(), permits: Semaphore::new(CONNECTIONS), logs: false })
    }

    /// Tells of each mail in the log, without address and content.
    #[must_use]
    pub fn logging(self, logs: bool) -> Self {
        Self { logs, ..self }
    }

    async fn deliver(&self, message: &Message) -> Result<(), MailError> {
        let (envelope, bytes) = compose(&self.sender, message)?;
        let _permit = self.permits.acquire().await.map_err(|_| MailError::Failed("shutting down".to_owned()))?;
        let mut connection = match self.idle.take().await {
            Some(connection) => connection,
            None => within(CONNECTING, self.connect()).await?,
        };
        let sent = within(SENDING, hand_over(&mut connection, &envelope, &bytes)).await;
        if !connection.has_broken() && sent.is_ok() {
            self.idle.put(connection);
        }
        if self.logs && sent.is_ok() {
            tracing::info!(mail.purpose = %message.purpose, mail.id = message.message_id, "a mail was handed over");
        }
        sent
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, MailError> {
        let Server { host, port, user, password, .. } = &self.server;
        let tls = (*port == 465).then(|| self.tls.clone());
        let address = (host.as_str(), *port);
        let mut connection = AsyncSmtpConnection::connect_tokio1(address, Some(CONNECTING), &self.hello, tls, None)
            .await
            .map_err(failure)?;
        if connection.can_starttls() {
            connection.starttls(self.tls.clone(), &self.hello).await.map_err(failure)?;
        }
        let offered = [Mechanism::Plain, Mechanism::Login]
            .into_iter()
            .any(|one| connection.server_info().supports_auth_mechanism(one));
        if !user.is_empty() && offered {
            if !connection.is_encrypted() && !is_local(host) {
                let text = "it offers no TLS, and our password is not sent in the clear; use a server with STARTTLS or port 465";
                return Err(MailError::Refused(text.to_owned()));
            }
            let credentials = Credentials::new(user.clone(), password.reveal().to_owned());
            connection.auth(&[Mechanism::Plain, Mechanism::Login], &credentials).await.map_err(failure)?;
        }
        Ok(connection)
    }
}

impl std::fmt::Debug for Smtp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Smtp").field("server", &self.server).field("idle", &self.idle).finish_non_exhaustive()
    }
}

impl Mailer for Smtp {
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(self.deliver(message))
    }
}

impl Idle {
    /// A connection whose server still answers.
    async fn take(&self) -> Option<AsyncSmtpConnection> {
        loop {
            let (_, mut connection) = self.lock().pop()?;
            if tokio::time::timeout(Duration::from_secs(2), connection.test_connected()).await == Ok(true) {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection, and closes it politely when nobody wants it in time.
    fn put(self: &Arc<Self>, connection: AsyncSmtpConnection) {
        self.lock().push((Instant::now(), connection));
        let idle: Weak<Self> = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            let Some(idle) = idle.upgrade() else { return };
            let old = idle.drain_older_than(IDLE);
            for mut connection in old {
                drop(tokio::time::timeout(Duration::from_secs(2), connection.quit()).await);
            }
        });
    }

    fn drain_older_than(&self, age: Duration) -> Vec<AsyncSmtpConnection> {
        let mut connections = self.lock();
        let fresh = connections.iter().position(|(since, _)| since.elapsed() < age).unwrap_or(connections.len());
        connections.drain(..fresh).map(|(_, connection)| connection).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Instant, AsyncSmtpConnection)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Idle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} idle", self.lock().len())
    }
}

async fn hand_over(connection: &mut AsyncSmtpConnection, envelope: &Envelope, bytes: &[u8]) -> Result<(), MailError> {
    connection.send(envelope, bytes).await.map(drop).map_err(failure)
}

async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, MailError>>) -> Result<T, MailError> {
    let late = || MailError::Failed(format!("no answer in {} s", limit.as_secs()));
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(late()))
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of map_err")]
fn failure(error: SmtpError) -> MailError {
    if error.is_permanent() || error.is_client() {
        MailError::Refused(error.to_string())
    } else {
        MailError::Failed(error.to_string())
    }
}

/// Whether nobody else can listen on the way.
fn is_local(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
