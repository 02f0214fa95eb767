//! Mail over SMTP: TLS from the first byte on port 465, STARTTLS where it is offered, certificates always checked,
//! connections kept for the next mail, a limit on every wait. What is sent is made by [`super::compose`].

mod connections;

use std::net::IpAddr;
use std::time::Duration;

use futures::future::BoxFuture;
use gotrue_rules::domain::secret::Secret;
use lettre::address::Envelope;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use tokio::net::TcpStream;
use tokio::time::timeout;

use self::connections::Connections;
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

/// How long a mail server may take, and how many connections to it there are.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Longest time to connect, say hello, encrypt and log in. Default 10 s.
    pub connect: Duration,
    /// Longest wait for the reply to a command. Default 10 s.
    pub command: Duration,
    /// Longest wait for the reply to the content, which the server may look through first. Default 20 s.
    pub content: Duration,
    /// Longest time for one mail, the wait for a connection included. Default 30 s.
    pub mail: Duration,
    /// Most connections at a time. A server that allows fewer turns some away, and then fewer are used. Default 64.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            command: Duration::from_secs(10),
            content: Duration::from_secs(20),
            mail: Duration::from_secs(30),
            connections: 64,
        }
    }
}

/// Longest time to say goodbye after a refusal.
const FAREWELL: Duration = Duration::from_secs(2);
/// TLS from the first byte.
const SMTPS: u16 = 465;

/// Sends mails through one server.
pub struct Smtp {
    server: Server,
    hello: ClientId,
    tls: TlsParameters,
    sender: Sender,
    limits: Limits,
    connections: Connections,
    logs: bool,
}

/// Why a mail server took a command or a mail not.
enum Fault {
    /// It did not answer in time.
    Silent(Duration),
    /// It said no, or the connection broke.
    Answer(SmtpError),
    /// It lacks an extension that the mail needs.
    Unable(&'static str),
}

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
        let limits = Limits::default();
        let connections = Connections::new(limits.connections);
        Ok(Self { server, hello, tls, sender, limits, connections, logs: false })
    }

    /// Waits and connects within other limits.
    #[must_use]
    pub fn limited(self, limits: Limits) -> Self {
        Self { limits, connections: Connections::new(limits.connections), ..self }
    }

    /// Tells of each mail in the log, without address and content.
    #[must_use]
    pub fn logging(self, logs: bool) -> Self {
        Self { logs, ..self }
    }

    async fn deliver(&self, message: &Message) -> Result<(), MailError> {
        let (envelope, bytes) = compose(&self.sender, message)?;
        let mail = EncodedMail::new(&envelope, bytes)?;
        within(self.limits.mail, Box::pin(self.hand_over(&mail))).await?;
        if self.logs {
            tracing::info!(mail.purpose = %message.purpose, mail.id = message.message_id, "a mail was handed over");
        }
        Ok(())
    }

    async fn hand_over(&self, mail: &EncodedMail<'_>) -> Result<(), MailError> {
        loop {
            let mut lease = self.connections.lease(|| within(self.limits.connect, self.connect())).await?;
            let connection = &mut lease.connection;
            let begun = mail.begin(connection, &self.limits).await;
            if lease.is_reused && begun.as_ref().is_err_and(Fault::is_lost_connection) {
                // The server closed the connection after the mail before, and has seen nothing of this one.
                continue;
            }
            let sent = match begun {
                Ok(()) => mail.finish(connection, &self.limits).await,
                Err(fault) => Err(fault),
            };
            return match sent {
                Ok(()) => {
                    lease.keep();
                    Ok(())
                }
                Err(fault) => {
                    if !fault.is_lost_connection() {
                        drop(timeout(FAREWELL, connection.abort()).await);
                    }
                    Err(fault.into())
                }
            };
        }
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, MailError> {
        let Server { host, port, user, password, .. } = &self.server;
        let address = (host.as_str(), *port);
        let mut connection = if *port == SMTPS {
            let tls = Some(self.tls.clone());
            AsyncSmtpConnection::connect_tokio1(address, Some(self.limits.connect), &self.hello, tls, None).await
        } else {
            let unreachable = |error: std::io::Error| MailError::Failed(format!("connection error: {error}"));
            let stream = TcpStream::connect(address).await.map_err(unreachable)?;
            stream.set_nodelay(true).map_err(unreachable)?;
            AsyncSmtpConnection::connect_with_transport(Box::new(stream), &self.hello).await
        }
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
        let Self { server, connections, .. } = self;
        f.debug_struct("Smtp").field("server", server).field("connections", connections).finish_non_exhaustive()
    }
}

impl Mailer for Smtp {
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(self.deliver(message))
    }
}

/// A mail as it is said to a server.
struct EncodedMail<'a> {
    envelope: &'a Envelope,
    /// The content with its final dot, to be written at once: in two parts the second would wait until the server
    /// acknowledges the first, which it may delay by 40 ms.
    content: String,
    is_ascii: bool,
}

impl<'a> EncodedMail<'a> {
    /// Doubles the dots that begin a line (RFC 5321 §4.5.2).
    fn new(envelope: &'a Envelope, bytes: Vec<u8>) -> Result<Self, MailError> {
        let text = String::from_utf8(bytes).map_err(|_| MailError::Header("the mail is no text".to_owned()))?;
        let first = if text.starts_with('.') { "." } else { "" };
        let content = format!("{first}{}\r\n.\r\n", text.replace("\r\n.", "\r\n.."));
        Ok(Self { envelope, is_ascii: content.is_ascii(), content })
    }

    /// Says who it is from. Nothing is the server's to deliver yet.
    async fn begin(&self, connection: &mut AsyncSmtpConnection, limits: &Limits) -> Result<(), Fault> {
        let mut parameters = Vec::new();
        let mut addresses = self.envelope.to().iter().chain(self.envelope.from());
        if !addresses.all(|address| AsRef::<str>::as_ref(address).is_ascii()) {
            if !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
                return Err(Fault::Unable("it takes no addresses outside of ASCII"));
            }
            parameters.push(MailParameter::SmtpUtfEight);
        }
        if !self.is_ascii {
            if !connection.server_info().supports_feature(Extension::EightBitMime) {
                return Err(Fault::Unable("it takes no content outside of ASCII"));
            }
            parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        command(connection, limits.command, Mail::new(self.envelope.from().cloned(), parameters)).await
    }

    /// Says whom it is for, and what it says.
    async fn finish(&self, connection: &mut AsyncSmtpConnection, limits: &Limits) -> Result<(), Fault> {
        for recipient in self.envelope.to() {
            command(connection, limits.command, Rcpt::new(recipient.clone(), Vec::new())).await?;
        }
        command(connection, limits.command, Data).await?;
        command(connection, limits.content, &self.content).await
    }
}

async fn command(
    connection: &mut AsyncSmtpConnection,
    limit: Duration,
    text: impl std::fmt::Display,
) -> Result<(), Fault> {
    match timeout(limit, connection.command(text)).await {
        Ok(answer) => answer.map(drop).map_err(Fault::Answer),
        Err(_) => Err(Fault::Silent(limit)),
    }
}

impl Fault {
    /// Whether the server is gone, rather than having refused.
    fn is_lost_connection(&self) -> bool {
        const CLOSING: u16 = 421;
        match self {
            Self::Silent(_) => true,
            Self::Answer(error) => error.status().is_none_or(|code| u16::from(code) == CLOSING),
            Self::Unable(_) => false,
        }
    }
}

impl From<Fault> for MailError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Silent(limit) => late(limit),
            Fault::Answer(error) => failure(error),
            Fault::Unable(why) => Self::Refused(why.to_owned()),
        }
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, MailError>>) -> Result<T, MailError> {
    timeout(limit, work).await.unwrap_or_else(|_| Err(late(limit)))
}

fn late(limit: Duration) -> MailError {
    MailError::Failed(format!("no answer in {} s", limit.as_secs()))
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
