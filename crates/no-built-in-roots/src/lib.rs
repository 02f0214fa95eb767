//! Replaces the crate `webpki-roots`, whose authorities the database driver trusts besides the one that a URL names.
//!
//! `docs/decisions/0139-the-database-is-verified-by-named-roots.md` says why.

use rustls_pki_types::TrustAnchor;

/// The trusted authorities: none.
pub const TLS_SERVER_ROOTS: &[TrustAnchor<'static>] = &[];
