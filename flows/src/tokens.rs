//! Digests, and tokens with symmetric signatures.

use std::fmt::Write as _;

use aws_lc_rs::{digest, hmac};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// Returns the SHA-256 digest.
pub fn sha256(bytes: &[u8]) -> Vec<u8> {
    digest::digest(&digest::SHA256, bytes).as_ref().to_vec()
}

/// Formats bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Signs claims as an HS256 token.
pub fn sign_token(claims: &Value, secret: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let signed = format!("{}.{}", part(r#"{"alg":"HS256","typ":"JWT"}"#), part(&claims.to_string()));
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
}
