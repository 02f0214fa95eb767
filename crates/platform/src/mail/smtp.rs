//! Sends mail over SMTP with verified certificates, connection reuse and time limits.
//!
//! Port 465 means implicit TLS; otherwise STARTTLS is used where it is offered. [`super::compose`] builds the mails.

mod connections;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use foundation::secret::Secret;
use futures::future::BoxFuture;
use lettre::address::Envelope;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use telemetry::catalog::{MAIL_DURATION, MAILS};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use tracing::Instrument;
use tracing::field::Empty;

use self::connections::Connections;
use super::compose::{MailSender, compose};
use super::{EmailMessage, MailError, Mailer};

/// A mail server and the client's credentials.
#[derive(Debug, Clone)]
pub struct SmtpServer {
    /// The host name or address.
    pub host: String,
    /// The port; 465 means implicit TLS.
    pub port: u16,
    /// The user name; empty for no authentication.
    pub user: String,
    /// The password of `user`.
    pub password: Secret,
    /// The client's name in EHLO: the host of the external URL.
    pub hello: String,
    /// Trusted roots as PEM that replace the system's.
    pub trusted_roots: Option<Vec<u8>>,
}

/// Time limits and the number of connections.
#[derive(Debug, Clone, Copy)]
pub struct SmtpLimits {
    /// To connect, greet, start TLS and authenticate. Default 10 s.
    pub connect: Duration,
    /// For the reply to a command. Default 10 s.
    pub command: Duration,
    /// For the reply to the content, which the server may scan first. Default 20 s.
    pub content: Duration,
    /// For one mail, including the wait for a connection. Default 30 s.
    pub mail: Duration,
    /// The maximum number of connections.
    ///
    /// A server that accepts fewer rejects some, and then fewer are used. Default 64.
    pub connections: usize,
}

impl Default for SmtpLimits {
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

/// The time limit of QUIT after a rejection.
const QUIT_TIMEOUT: Duration = Duration::from_secs(2);
/// The port with implicit TLS.
const SMTPS: u16 = 465;

/// Sends mails through one server.
pub struct SmtpMailer {
    server: SmtpServer,
    hello: ClientId,
    /// Prepared when the server first offers TLS, unless the trusted roots are given.
    tls: OnceCell<TlsParameters>,
    sender: MailSender,
    limits: SmtpLimits,
    connections: Connections,
    is_logging: bool,
}

/// Why a mail server did not accept a command or a mail.
enum SmtpFault {
    /// No reply within the limit.
    Timeout(Duration),
    /// A rejection or a broken connection.
    Rejected(SmtpError),
    /// The server lacks a required extension.
    MissingExtension(&'static str),
}

/// Records a delivery when it ends, also if its request ended before.
struct DeliveryRecord {
    started: Instant,
    /// The outcome; `None` if the delivery did not end.
    outcome: Option<&'static str>,
}

impl Drop for DeliveryRecord {
    fn drop(&mut self) {
        MAILS.increment(&[self.outcome.unwrap_or("interrupted")]);
        MAIL_DURATION.record(&[], self.started.elapsed());
        if self.outcome.is_none() {
            tracing::warn!("mail delivery failed: the mail server did not answer before the request ended");
        }
    }
}

impl SmtpMailer {
    /// Prepares everything that can fail without connecting.
    pub fn new(mut server: SmtpServer, sender: MailSender) -> Result<Self, MailError> {
        // Not kept: they are part of the TLS parameters.
        let tls = server.trusted_roots.take().map(|pem| tls_with_roots(&server.host, &pem)).transpose()?;
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
        let limits = SmtpLimits::default();
        let connections = Connections::new(limits.connections);
        Ok(Self { server, hello, tls: OnceCell::new_with(tls), sender, limits, connections, is_logging: false })
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_limits(self, limits: SmtpLimits) -> Self {
        Self { limits, connections: Connections::new(limits.connections), ..self }
    }

    /// Enables a log line for each mail, without address and content.
    #[must_use]
    pub fn with_logging(self, logs: bool) -> Self {
        Self { is_logging: logs, ..self }
    }

    /// Delivers a mail in a span, which holds neither address nor content.
    async fn deliver(&self, message: &EmailMessage) -> Result<(), MailError> {
        let span = tracing::info_span!(
            "mail_delivery",
            server.address = self.server.host,
            server.port = self.server.port,
            mail.purpose = %message.purpose,
            outcome = Empty,
        );
        let mut record = DeliveryRecord { started: Instant::now(), outcome: None };
        let outcome = self.compose_and_transmit(message).instrument(span.clone()).await;
        let kind = outcome.as_ref().err().map_or("sent", MailError::kind);
        span.record("outcome", kind);
        record.outcome = Some(kind);
        outcome
    }

    async fn compose_and_transmit(&self, message: &EmailMessage) -> Result<(), MailError> {
        let (envelope, bytes) = compose(&self.sender, message)?;
        let mail = EncodedMail::new(&envelope, bytes)?;
        with_time_limit(self.limits.mail, Box::pin(self.transmit(&mail))).await?;
        if self.is_logging {
            tracing::info!(mail.purpose = %message.purpose, mail.id = message.message_id, "mail sent");
        }
        Ok(())
    }

    async fn transmit(&self, mail: &EncodedMail<'_>) -> Result<(), MailError> {
        loop {
            let mut lease = self.connections.lease(|| with_time_limit(self.limits.connect, self.connect())).await?;
            let connection = &mut lease.connection;
            let begun = mail.begin_mail(connection, &self.limits).await;
            if lease.is_reused && begun.as_ref().is_err_and(SmtpFault::is_lost_connection) {
                // The server closed the connection after the previous mail and has seen nothing of this one.
                continue;
            }
            let sent = match begun {
                Ok(()) => mail.send_content(connection, &self.limits).await,
                Err(fault) => Err(fault),
            };
            return match sent {
                Ok(()) => {
                    lease.keep();
                    Ok(())
                }
                Err(fault) => {
                    if !fault.is_lost_connection() {
                        drop(timeout(QUIT_TIMEOUT, connection.abort()).await);
                    }
                    Err(fault.into())
                }
            };
        }
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, MailError> {
        let SmtpServer { host, port, user, password, .. } = &self.server;
        let address = (host.as_str(), *port);
        let mut connection = if *port == SMTPS {
            let tls = Some(self.tls_parameters().await?);
            AsyncSmtpConnection::connect_tokio1(address, Some(self.limits.connect), &self.hello, tls, None).await
        } else {
            let unreachable = |error: std::io::Error| MailError::Failed(format!("connection error: {error}"));
            let stream = TcpStream::connect(address).await.map_err(unreachable)?;
            stream.set_nodelay(true).map_err(unreachable)?;
            AsyncSmtpConnection::connect_with_transport(Box::new(stream), &self.hello).await
        }
        .map_err(to_mail_error)?;
        if connection.can_starttls() {
            connection.starttls(self.tls_parameters().await?, &self.hello).await.map_err(to_mail_error)?;
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
            connection.auth(&[Mechanism::Plain, Mechanism::Login], &credentials).await.map_err(to_mail_error)?;
        }
        Ok(connection)
    }

    /// Returns the parameters of TLS.
    ///
    /// The first call reads the trusted roots of the system, if none are given.
    async fn tls_parameters(&self) -> Result<TlsParameters, MailError> {
        let build = || {
            let builder = TlsParameters::builder(self.server.host.clone());
            let reading = tokio::task::spawn_blocking(|| builder.build());
            async {
                reading.await.map_err(|error| MailError::Failed(error.to_string()))?.map_err(|error| {
                    MailError::Failed(format!(
                        "no trusted roots, install ca-certificates or set SSL_CERT_FILE: {error}"
                    ))
                })
            }
        };
        self.tls.get_or_try_init(build).await.cloned()
    }
}

fn tls_with_roots(host: &str, pem: &[u8]) -> Result<TlsParameters, MailError> {
    let roots = Certificate::from_pem(pem)
        .map_err(|error| MailError::Header(format!("the trusted roots cannot be read: {error}")))?;
    TlsParameters::builder(host.to_owned())
        .certificate_store(CertificateStore::None)
        .add_root_certificate(roots)
        .build()
        .map_err(|error| MailError::Header(format!("TLS to {host:?} cannot be set up: {error}")))
}

impl std::fmt::Debug for SmtpMailer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { server, connections, .. } = self;
        f.debug_struct("Smtp").field("server", server).field("connections", connections).finish_non_exhaustive()
    }
}

impl Mailer for SmtpMailer {
    fn send<'a>(&'a self, message: &'a EmailMessage) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(self.deliver(message))
    }
}

/// A mail in SMTP form.
struct EncodedMail<'a> {
    envelope: &'a Envelope,
    /// The content with its final dot, written at once.
    ///
    /// In two writes the second would wait for the acknowledgement of the first, which the server may delay by 40 ms.
    content: String,
    is_ascii: bool,
}

impl<'a> EncodedMail<'a> {
    /// Doubles the dots at the beginning of lines (RFC 5321 §4.5.2).
    fn new(envelope: &'a Envelope, bytes: Vec<u8>) -> Result<Self, MailError> {
        let text = String::from_utf8(bytes).map_err(|_| MailError::Header("the mail is no text".to_owned()))?;
        let mut content = String::with_capacity(text.len() + text.len() / 32 + 5);
        for line in text.split_inclusive('\n') {
            if line.starts_with('.') {
                content.push('.');
            }
            content.push_str(line);
        }
        content.push_str("\r\n.\r\n");
        Ok(Self { envelope, is_ascii: content.is_ascii(), content })
    }

    /// Sends `MAIL FROM`. The server is not yet responsible for the mail.
    async fn begin_mail(&self, connection: &mut AsyncSmtpConnection, limits: &SmtpLimits) -> Result<(), SmtpFault> {
        let mut parameters = Vec::new();
        let mut addresses = self.envelope.to().iter().chain(self.envelope.from());
        if !addresses.all(|address| AsRef::<str>::as_ref(address).is_ascii()) {
            if !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
                return Err(SmtpFault::MissingExtension("it takes no addresses outside of ASCII"));
            }
            parameters.push(MailParameter::SmtpUtfEight);
        }
        if !self.is_ascii {
            if !connection.server_info().supports_feature(Extension::EightBitMime) {
                return Err(SmtpFault::MissingExtension("it takes no content outside of ASCII"));
            }
            parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        send_command(connection, limits.command, Mail::new(self.envelope.from().cloned(), parameters)).await
    }

    /// Sends recipient and content.
    async fn send_content(&self, connection: &mut AsyncSmtpConnection, limits: &SmtpLimits) -> Result<(), SmtpFault> {
        for recipient in self.envelope.to() {
            send_command(connection, limits.command, Rcpt::new(recipient.clone(), Vec::new())).await?;
        }
        send_command(connection, limits.command, Data).await?;
        send_command(connection, limits.content, &self.content).await
    }
}

async fn send_command(
    connection: &mut AsyncSmtpConnection,
    limit: Duration,
    text: impl std::fmt::Display,
) -> Result<(), SmtpFault> {
    match timeout(limit, connection.command(text)).await {
        Ok(answer) => answer.map(drop).map_err(SmtpFault::Rejected),
        Err(_) => Err(SmtpFault::Timeout(limit)),
    }
}

impl SmtpFault {
    /// Whether the connection is lost, as opposed to a rejection.
    fn is_lost_connection(&self) -> bool {
        const CLOSING: u16 = 421;
        match self {
            Self::Timeout(_) => true,
            Self::Rejected(error) => error.status().is_none_or(|code| u16::from(code) == CLOSING),
            Self::MissingExtension(_) => false,
        }
    }
}

impl From<SmtpFault> for MailError {
    fn from(fault: SmtpFault) -> Self {
        match fault {
            SmtpFault::Timeout(limit) => timeout_error(limit),
            SmtpFault::Rejected(error) => to_mail_error(error),
            SmtpFault::MissingExtension(why) => Self::Refused(why.to_owned()),
        }
    }
}

async fn with_time_limit<T>(limit: Duration, work: impl Future<Output = Result<T, MailError>>) -> Result<T, MailError> {
    timeout(limit, work).await.unwrap_or_else(|_| Err(timeout_error(limit)))
}

fn timeout_error(limit: Duration) -> MailError {
    MailError::Failed(format!("no answer in {} s", limit.as_secs()))
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes the error by value")]
fn to_mail_error(error: SmtpError) -> MailError {
    if error.is_permanent() || error.is_client() {
        MailError::Refused(error.to_string())
    } else {
        MailError::Failed(error.to_string())
    }
}

/// Whether the host is the local machine, so that the connection cannot be intercepted.
fn is_local(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
