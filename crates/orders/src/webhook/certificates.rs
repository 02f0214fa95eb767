//! The certificates that sign events of PayPal.
//!
//! A certificate is read from the host of the configured API only, so that an event cannot make the server call others, and
//! its chain ends at a trusted root.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use foundation::limits::Bucket;
use foundation::time::Time;
use platform::http_client::TrustedRoots;
use platform::limits::{CountedEvent, RateLimits};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};
use url::Url;
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use super::WebhookRejection;

/// The certificates that are kept.
const MAX_KEPT: usize = 8;
/// The certificates that are read at the same time.
const MAX_READING: usize = 2;
/// The reads that may fail for the events of one network.
///
/// Nothing is authenticated before the certificate is read.
const FAILED_READS: Bucket =
    Bucket { events: 1.0, per: Duration::from_mins(1), burst: 5.0, evicted_after: Duration::from_hours(1) };
/// The folder of certificates below the API.
const FOLDER: &str = "/v1/notifications/certs/";
/// The longest chain.
const MAX_CHAIN: usize = 8;

/// A certificate and those that issued it.
pub type Chain = Arc<Vec<CertificateDer<'static>>>;

/// The certificates that were read, and the roots.
#[derive(Debug)]
pub struct Certificates {
    ca_file: Option<PathBuf>,
    roots: OnceCell<Vec<TrustAnchor<'static>>>,
    /// The chains by their URLs, the oldest first.
    kept: Mutex<VecDeque<(String, Chain)>>,
    reading: Semaphore,
    failed: RateLimits,
}

/// A chain that is used without being read from its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedCertificate {
    /// The URL that events name.
    pub url: String,
    /// The chain as PEM; its last certificate is a root.
    pub pem: &'static str,
}

impl Certificates {
    /// Creates an empty store; roots are those of the file, else of the system.
    pub fn new(ca_file: Option<PathBuf>, now: Time) -> Self {
        let (roots, kept) = Default::default();
        Self { ca_file, roots, kept, reading: Semaphore::new(MAX_READING), failed: RateLimits::new(now) }
    }

    /// Returns a chain that was read before; its validity is verified for each event.
    pub fn find(&self, url: &str) -> Option<Chain> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| known == url).map(|(_, chain)| Arc::clone(chain))
    }

    /// Returns the permission to read a certificate for an event of this network.
    ///
    /// The read counts as failed until [`Certificates::keep`].
    ///
    /// # Errors
    /// Others are being read, or too many reads for this network have failed.
    pub fn begin_reading(&self, network: &str, now: Time) -> Result<SemaphorePermit<'_>, WebhookRejection> {
        let permit = self.reading.try_acquire().map_err(|_| WebhookRejection::CertificateLimit)?;
        let taken = self.failed.take(CountedEvent::FailedCalls, network, FAILED_READS, now);
        taken.map(|()| permit).map_err(|_| WebhookRejection::CertificateLimit)
    }

    /// Keeps a chain that was read for an event of this network, in place of the oldest if there are many.
    pub fn keep(&self, url: &str, chain: Chain, network: &str) {
        self.failed.refund(CountedEvent::FailedCalls, network);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| known != url);
        if kept.len() >= MAX_KEPT {
            kept.pop_front();
        }
        kept.push_back((url.to_owned(), chain));
    }

    /// Deletes a chain that is not valid any more.
    pub fn evict(&self, url: &str) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, _)| known != url);
    }

    /// Verifies a signature by the first certificate of a chain that ends at a trusted root.
    ///
    /// # Errors
    /// The chain cannot be used, or the signature is forged.
    pub async fn verify(
        &self,
        chain: &Chain,
        message: &[u8],
        signature: &[u8],
        now: Time,
    ) -> Result<(), WebhookRejection> {
        let load = || {
            let ca_file = self.ca_file.clone();
            async {
                tokio::task::spawn_blocking(move || load_roots(ca_file.as_deref()))
                    .await
                    .unwrap_or_else(|error| Err(error.to_string()))
            }
        };
        let roots = self.roots.get_or_try_init(load).await.map_err(WebhookRejection::Certificate)?;
        verify_signature(chain, roots, message, signature, now)
    }
}

/// Verifies a signature by a pinned chain.
///
/// # Errors
/// The chain cannot be used, or the signature is forged.
pub fn verify_pinned(pem: &str, message: &[u8], signature: &[u8], now: Time) -> Result<(), WebhookRejection> {
    let chain = parse_chain(pem.as_bytes())?;
    let roots: Vec<TrustAnchor<'_>> =
        chain.last().and_then(|root| anchor_from_trusted_cert(root).ok()).into_iter().collect();
    verify_signature(&chain, &roots, message, signature, now)
}

fn verify_signature(
    chain: &[CertificateDer<'_>],
    roots: &[TrustAnchor<'_>],
    message: &[u8],
    signature: &[u8],
    now: Time,
) -> Result<(), WebhookRejection> {
    let refuse = |error: webpki::Error| WebhookRejection::Certificate(error.to_string());
    let (first, others) = chain.split_first().ok_or_else(|| WebhookRejection::Certificate("it is empty".to_owned()))?;
    let certificate = EndEntityCert::try_from(first).map_err(refuse)?;
    let seconds = u64::try_from(now.timestamp()).unwrap_or_default();
    let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let algorithms = webpki::ALL_VERIFICATION_ALGS;
    certificate
        .verify_for_usage(algorithms, roots, others, time, KeyUsage::server_auth(), None, None)
        .map_err(refuse)?;
    let algorithm = webpki::aws_lc_rs::RSA_PKCS1_2048_8192_SHA256;
    certificate.verify_signature(algorithm, message, signature).map_err(|_| WebhookRejection::Forged)
}

/// Reads a chain of PEM, the signing certificate first.
///
/// # Errors
/// It is not PEM, empty, or too long.
pub fn parse_chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, WebhookRejection> {
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).take(MAX_CHAIN + 1).collect();
    match parsed {
        Ok(chain) if (1..=MAX_CHAIN).contains(&chain.len()) => Ok(chain),
        _ => Err(WebhookRejection::Certificate("it is no chain of certificates as PEM".to_owned())),
    }
}

fn load_roots(ca_file: Option<&Path>) -> Result<Vec<TrustAnchor<'static>>, String> {
    let certificates: Vec<CertificateDer<'static>> = match TrustedRoots::of_files(ca_file, None) {
        Some(roots) => {
            let pem = roots.read().map_err(|error| format!("ca_file cannot be read: {error}"))?;
            CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok).collect()
        }
        None => rustls_native_certs::load_native_certs().certs,
    };
    let anchors: Vec<TrustAnchor<'static>> = certificates
        .iter()
        .filter_map(|certificate| Some(anchor_from_trusted_cert(certificate).ok()?.to_owned()))
        .collect();
    if anchors.is_empty() { Err("there are no trusted roots".to_owned()) } else { Ok(anchors) }
}

/// Returns whether a certificate may be read from a URL.
///
/// It is at the API or at PayPal's host of certificates for it.
pub fn is_certificate_url(url: &str, api: &Url) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let origin = |url: &Url| (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default());
    let has_no_credentials = url.username().is_empty() && url.password().is_none();
    let has_no_extras = has_no_credentials && url.query().is_none() && url.fragment().is_none();
    let (path, base) = (url.path(), api.path().trim_end_matches('/'));
    let is_below = |base: &str| path.strip_prefix(base).is_some_and(|rest| rest.starts_with(FOLDER));
    if !has_no_extras || !(is_below("") || is_below(base)) {
        return false;
    }
    // The API is at api-m.paypal.com, its certificates are at api.paypal.com.
    let certificates = match api.host_str() {
        Some("api-m.paypal.com") => Some("api.paypal.com"),
        Some("api-m.sandbox.paypal.com") => Some("api.sandbox.paypal.com"),
        _ => None,
    };
    let is_at_certificates = url.scheme() == "https" && url.port().is_none() && url.host_str() == certificates;
    origin(&url) == origin(api) || (certificates.is_some() && is_at_certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_read_from_the_configured_host_only() {
        let live = Url::parse("https://api-m.paypal.com").expect("a URL");
        let other = Url::parse("https://paypal.test:8443/base").expect("a URL");
        for (url, api, expected) in [
            ("https://api.paypal.com/v1/notifications/certs/CERT-1", &live, true),
            ("https://api-m.paypal.com/v1/notifications/certs/CERT-1", &live, true),
            ("http://api.paypal.com/v1/notifications/certs/CERT-1", &live, false),
            ("https://api.paypal.com:8443/v1/notifications/certs/CERT-1", &live, false),
            ("https://api.sandbox.paypal.com/v1/notifications/certs/CERT-1", &live, false),
            ("https://api.paypal.com.evil.example/v1/notifications/certs/CERT-1", &live, false),
            ("https://api.paypal.com@evil.example/v1/notifications/certs/CERT-1", &live, false),
            ("https://evil@api.paypal.com/v1/notifications/certs/CERT-1", &live, false),
            ("https://127.0.0.1/v1/notifications/certs/CERT-1", &live, false),
            ("file:///etc/passwd", &live, false),
            ("https://paypal.test:8443/base/v1/notifications/certs/1", &other, true),
            ("https://paypal.test/v1/notifications/certs/1", &other, false),
            ("https://api.paypal.com/v1/notifications/certs/1", &other, false),
            ("https://api.paypal.com/v1/oauth2/token", &live, false),
            ("https://api.paypal.com/v1/notifications/certs/../../../v1/oauth2/token", &live, false),
            ("https://api.paypal.com/v1/notifications/certs/CERT-1?next=/v1/notifications/certs/", &live, false),
            ("https://api.paypal.com/files/v1/notifications/certs/CERT-1", &live, false),
            ("https://paypal.test:8443/v1/notifications/certs/1", &other, true),
            ("https://paypal.test:8443/other/v1/notifications/certs/1", &other, false),
            ("", &live, false),
        ] {
            assert_eq!(is_certificate_url(url, api), expected, "{url}");
        }
    }

    #[test]
    fn texts_that_are_no_chain_are_refused() {
        assert!(parse_chain(b"").is_err());
        assert!(parse_chain(b"-----BEGIN CERTIFICATE-----\nAAAA\n").is_err());
    }
}
