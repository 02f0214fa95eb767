//! One connection to a Valkey or Redis server.

use std::sync::Arc;

use foundation::limit_store::RedisAddress;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::error::StoreError;
use super::reply::{MAX_REPLY_BYTES, RedisReply, format_command, parse_reply};

/// A connection in either form.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The address of a server of the store.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    /// The host name or address.
    pub(super) host: &'a str,
    pub(super) port: u16,
}

/// A connection that is authenticated and has selected its database.
///
/// It must be dropped when a command on it fails or is interrupted: the next reply would be that of an earlier command.
pub(super) struct RedisConnection {
    stream: Box<dyn Stream>,
    received: Vec<u8>,
}

/// Builds the settings of TLS, with the trusted certificates of the system or of `SSL_CERT_FILE`.
pub(super) fn build_tls_config() -> Result<Arc<ClientConfig>, StoreError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = builder.and_then(BuilderVerifierExt::with_platform_verifier);
    Ok(Arc::new(config.map_err(|error| StoreError::Io(std::io::Error::other(error)))?.with_no_client_auth()))
}

/// Whether a server answers without TLS.
///
/// Such a server takes the beginning of TLS for half a command and stays silent.
pub(super) async fn answers_plain_text(Node { host, port }: Node<'_>) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect((host, port)).await?;
    stream.write_all(b"PING\r\n").await?;
    let mut first = [0];
    let count = stream.read(&mut first).await?;
    Ok(count == 1 && matches!(first, [b'+' | b'-']))
}

impl RedisConnection {
    /// Opens a connection to a node, which can differ from the configured one in a cluster.
    pub(super) async fn open(
        node: Node<'_>,
        address: &RedisAddress,
        tls: Option<&Arc<ClientConfig>>,
    ) -> Result<Self, StoreError> {
        let Node { host, port } = node;
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        let stream: Box<dyn Stream> = match tls {
            Some(config) => {
                let name = ServerName::try_from(host.to_owned()).map_err(std::io::Error::other)?;
                Box::new(TlsConnector::from(Arc::clone(config)).connect(name, stream).await?)
            }
            None => Box::new(stream),
        };
        let mut connection = Self { stream, received: Vec::new() };
        if let Some(password) = &address.password {
            let mut parts: Vec<&[u8]> = vec![b"AUTH"];
            parts.extend(address.user.as_ref().map(String::as_bytes));
            parts.push(password.reveal().as_bytes());
            let refused = |error| match error {
                StoreError::Refused(text) => StoreError::Refused(without_arguments(&text).to_owned()),
                other => other,
            };
            connection.require_ok(&parts).await.map_err(refused)?;
        }
        if address.database != 0 {
            connection.require_ok(&[b"SELECT", address.database.to_string().as_bytes()]).await?;
        }
        Ok(connection)
    }

    /// Sends a command whose reply is an error or of no interest.
    pub(super) async fn require_ok(&mut self, parts: &[&[u8]]) -> Result<(), StoreError> {
        match self.send(parts).await? {
            RedisReply::Error(text) => Err(StoreError::Refused(text)),
            _ => Ok(()),
        }
    }

    /// Sends a command and returns its reply.
    pub(super) async fn send(&mut self, parts: &[&[u8]]) -> Result<RedisReply, StoreError> {
        self.stream.write_all(&format_command(parts)).await?;
        self.stream.flush().await?;
        self.received.clear();
        loop {
            if let Some((reply, _)) = parse_reply(&self.received)? {
                return Ok(reply);
            }
            if self.received.len() > MAX_REPLY_BYTES {
                return Err(super::reply::MalformedReply.into());
            }
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
            }
        }
    }
}

/// Cuts off the arguments that Redis repeats of a command that it does not know: here the password.
fn without_arguments(text: &str) -> &str {
    text.split_once(", with args").map_or(text, |(before, _)| before)
}

impl std::fmt::Debug for RedisConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RedisConnection")
    }
}
