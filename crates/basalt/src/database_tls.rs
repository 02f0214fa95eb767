//! What TLS connections to the database trust.
//!
//! As libpq and the driver of the reference do: `sslrootcert` alone if the URL names one, else the roots of the system; and
//! `sslmode=require` with `sslrootcert` verifies the certificate as `verify-ca` does
//! ([libpq](https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-CERTIFICATES)).

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sqlx::postgres::{PgConnectOptions, PgSslMode};

/// The variable of libpq in place of `sslrootcert`, which the driver reads.
const ROOT_VARIABLE: &str = "PGSSLROOTCERT";

/// Completes what the driver reads of the URL. `names_root`: whether it has `sslrootcert`.
///
/// # Errors
/// The certificate has to be verified, no authority is named, and the system has no trusted roots.
pub(crate) fn with_trusted_roots(options: PgConnectOptions, names_root: bool) -> anyhow::Result<PgConnectOptions> {
    let names_root = names_root || std::env::var_os(ROOT_VARIABLE).is_some_and(|path| !path.is_empty());
    match (options.get_ssl_mode(), names_root) {
        (PgSslMode::Require, true) => Ok(options.ssl_mode(PgSslMode::VerifyCa)),
        (PgSslMode::VerifyCa | PgSslMode::VerifyFull, false) => Ok(options.ssl_root_cert_from_pem(system_roots()?)),
        _ => Ok(options),
    }
}

/// The trusted roots of the system as PEM.
fn system_roots() -> anyhow::Result<Vec<u8>> {
    let roots = rustls_native_certs::load_native_certs().certs;
    anyhow::ensure!(
        !roots.is_empty(),
        "the database's certificate cannot be verified: this system has no trusted roots. Name the certificate of its \
         authority by sslrootcert in the database's URL, or install ca-certificates."
    );
    let mut pem = String::new();
    for root in roots {
        let _ = writeln!(pem, "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----", STANDARD.encode(root));
    }
    Ok(pem.into_bytes())
}
