//! TLS of a listener: certificate and key from files, which can change while the server runs.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use crate::socket::Socket;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The files of a certificate, in PEM format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of the server, then those of its issuers.
    pub certificate: PathBuf,
    /// The private key: PKCS#8, PKCS#1 or SEC1, without a password.
    pub key: PathBuf,
}

/// Why the files cannot be used.
#[derive(Debug)]
pub struct TlsError {
    path: PathBuf,
    reason: String,
}

impl fmt::Display for TlsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for TlsError {}

/// The certificate of a listener.
pub struct TlsCertificate {
    files: TlsFiles,
    config: RwLock<Arc<ServerConfig>>,
}

impl TlsCertificate {
    /// Loads certificate and key.
    ///
    /// # Errors
    /// A file cannot be read or parsed, or the key is not that of the certificate.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let config = RwLock::new(Arc::new(files.build_config()?));
        Ok(Self { files, config })
    }

    /// Loads the files again: new connections use them, existing ones continue.
    ///
    /// # Errors
    /// As for [`TlsCertificate::load`]; the certificate stays as it is.
    pub fn reload(&self) -> Result<(), TlsError> {
        let config = Arc::new(self.files.build_config()?);
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// Returns the files.
    pub fn files(&self) -> &TlsFiles {
        &self.files
    }

    /// Performs the handshake of a connection.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let config = Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner));
        TlsAcceptor::from(config).accept(stream).await
    }
}

impl fmt::Debug for TlsCertificate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "TlsCertificate({})", self.files.certificate.display())
    }
}

impl TlsFiles {
    fn build_config(&self) -> Result<ServerConfig, TlsError> {
        let certificate_error = |reason: String| TlsError { path: self.certificate.clone(), reason };
        let key_error = |reason: String| TlsError { path: self.key.clone(), reason };
        let text = read(&self.certificate).map_err(|error| certificate_error(error.to_string()))?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        let chain = chain.map_err(|error| certificate_error(error.to_string()))?;
        if chain.is_empty() {
            return Err(certificate_error("has no certificate in PEM format".to_owned()));
        }
        let text = read(&self.key).map_err(|error| key_error(error.to_string()))?;
        let key = PrivateKeyDer::from_pem_slice(&text)
            .map_err(|_| key_error("has no private key in PEM format without a password".to_owned()))?;
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| certificate_error(error.to_string()))?;
        let mut config = builder
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| key_error(format!("cannot be used with the certificate: {error}")))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn read(path: &PathBuf) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.len() > MAX_FILE_BYTES {
        return Err(io::Error::other("has more than 1 MiB"));
    }
    fs::read(path)
}

/// A listening socket, with TLS or without.
#[derive(Debug)]
pub struct Listener {
    pub(crate) socket: Socket,
    pub(crate) tls: Option<Arc<TlsCertificate>>,
}

impl Listener {
    /// Listens with TLS if there is a certificate.
    pub fn new(socket: TcpListener, tls: Option<Arc<TlsCertificate>>) -> Self {
        Self { socket: Socket::Tcp(socket), tls }
    }
}

impl From<TcpListener> for Listener {
    fn from(socket: TcpListener) -> Self {
        Self::new(socket, None)
    }
}

impl From<UnixListener> for Listener {
    fn from(socket: UnixListener) -> Self {
        Self { socket: Socket::Unix(socket), tls: None }
    }
}
