//! TLS of connections to the database, with the modes of libpq.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use super::channel::Channel;
use super::spool::Diversion;

/// What of the server's certificate is verified (libpq, §34.19.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// Nothing: `sslmode=prefer` and `require` without a root certificate.
    None,
    /// Its issuer: `verify-ca`, and `require` with a root certificate.
    Issuer,
    /// Its issuer and the name of the server: `verify-full`.
    Name,
}

/// What TLS streams verify.
#[derive(Debug, Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
}

impl Tls {
    /// TLS with the issuers of a file, or those of the system.
    ///
    /// # Errors
    /// The file cannot be read, or holds no certificate.
    pub fn new(verification: Verification, roots: Option<&Path>) -> Result<Self, String> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let issuers: Option<Arc<dyn ServerCertVerifier>> = match (verification, roots) {
            (Verification::None, _) => None,
            (_, Some(path)) => Some(of_file(path, &provider)?),
            (_, None) => {
                let verifier = rustls_platform_verifier::Verifier::new(Arc::clone(&provider));
                Some(Arc::new(verifier.map_err(|error| error.to_string())?))
            }
        };
        let verifier = CertificateVerifier { verification, issuers, provider: Arc::clone(&provider) };
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| error.to_string())?.dangerous();
        let config = builder.with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth();
        Ok(Self { config: Arc::new(config) })
    }
}

/// The issuers of a file in PEM.
fn of_file(path: &Path, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("sslrootcert {}: {error}", path.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unreadable(&error))? {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate).map_err(|error| unreadable(&error))?;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
    Ok(verifier.map_err(|error| unreadable(&error))?)
}

/// Verifies as much of a certificate as the mode asks for; signatures of the handshake always.
#[derive(Debug)]
struct CertificateVerifier {
    verification: Verification,
    issuers: Option<Arc<dyn ServerCertVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(issuers) = &self.issuers else { return Ok(ServerCertVerified::assertion()) };
        // The name is compared after everything else.
        match issuers.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.verification == Verification::Issuer => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// How a stream is encrypted before its first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// Not at all.
    Off,
    /// If the server offers it.
    Offered,
    /// Always: by a request of PostgreSQL's protocol.
    Required,
    /// Always: without such a request (`sslnegotiation=direct`).
    Direct,
}

/// Opens streams of messages: encrypted as the mode asks for, with large values diverted.
#[derive(Debug, Clone)]
pub struct StreamOpener {
    pub(super) tls: Tls,
    pub(super) encryption: Encryption,
    pub(super) diversion: Arc<Diversion>,
}

impl<S> MakeTlsConnect<S> for StreamOpener
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type TlsConnect = Opening;
    type Error = std::convert::Infallible;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Opening, Self::Error> {
        // A socket has no name, and no TLS either.
        Ok(Opening { opener: self.clone(), name: ServerName::try_from(domain.to_owned()) })
    }
}

/// A stream that is being opened.
pub struct Opening {
    opener: StreamOpener,
    name: Result<ServerName<'static>, InvalidDnsNameError>,
}

impl Opening {
    /// Opens a stream over a socket of this machine, which is not encrypted.
    pub(super) fn of_socket(opener: StreamOpener) -> Self {
        let opener = StreamOpener { encryption: Encryption::Off, ..opener };
        Self { opener, name: Err(InvalidDnsNameError) }
    }
}

/// The request for TLS (PostgreSQL, "Message Formats", `SSLRequest`).
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

impl<S> TlsConnect<S> for Opening
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Encrypted<S>>>;

    fn connect(self, mut stream: S) -> Self::Future {
        Box::pin(async move {
            let StreamOpener { tls, encryption, diversion } = self.opener;
            let is_encrypted = match encryption {
                Encryption::Off => false,
                Encryption::Direct => true,
                Encryption::Offered | Encryption::Required => {
                    stream.write_all(&TLS_REQUEST).await?;
                    stream.flush().await?;
                    let is_offered = stream.read_u8().await? == b'S';
                    if !is_offered && encryption == Encryption::Required {
                        return Err(io::Error::other("server does not support TLS"));
                    }
                    is_offered
                }
            };
            let stream = if is_encrypted {
                let name = self.name.map_err(io::Error::other)?;
                let connector = TlsConnector::from(Arc::clone(&tls.config));
                Stream::Encrypted(Box::new(connector.connect(name, stream).await?))
            } else {
                Stream::Plain(stream)
            };
            Ok(Encrypted(Channel::new(stream, diversion)))
        })
    }
}

/// The stream of a connection.
pub struct Encrypted<S>(Channel<Stream<S>>);

#[derive(Debug)]
enum Stream<S> {
    Plain(S),
    Encrypted(Box<tokio_rustls::client::TlsStream<S>>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Encrypted(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buffer),
            Self::Encrypted(stream) => Pin::new(stream).poll_write(cx, buffer),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Encrypted(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Encrypted(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
