//! Digests, one-time passwords, and tokens with symmetric signatures.

use aws_lc_rs::{digest, hmac};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// Returns the SHA-256 digest.
pub fn sha256(bytes: &[u8]) -> Vec<u8> {
    digest::digest(&digest::SHA256, bytes).as_ref().to_vec()
}

/// Signs claims as an HS256 token.
pub fn sign_token(claims: &Value, secret: &str) -> String {
    sign_parts(r#"{"alg":"HS256","typ":"JWT"}"#, &claims.to_string(), secret)
}

/// Signs header and payload, whatever they say, by HMAC with SHA-256.
pub(crate) fn sign_parts(header: &str, payload: &str, secret: &str) -> String {
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(payload));
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
}

/// Returns the one-time password of a key and a counter (RFC 4226 §5.3), of one to nine digits.
pub(crate) fn one_time_password(key: &[u8], counter: u64, digits: u64) -> String {
    let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key), &counter.to_be_bytes());
    let mac = mac.as_ref();
    let offset = usize::from(mac[mac.len() - 1] & 15);
    let number =
        mac[offset..offset + 4].iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) & 0x7fff_ffff;
    let digits = usize::try_from(digits).unwrap_or_default().clamp(1, 9);
    let text = format!("{number:010}");
    text[text.len() - digits..].to_owned()
}

/// Decodes base32 (RFC 4648 §6) in either case, with or without padding; `None` for another character.
pub(crate) fn decode_base32(text: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    let (mut buffer, mut bits) = (0_u32, 0);
    for each in text.trim_end_matches('=').bytes() {
        let value = match each.to_ascii_uppercase() {
            capital @ b'A'..=b'Z' => capital - b'A',
            digit @ b'2'..=b'7' => digit - b'2' + 26,
            _ => return None,
        };
        buffer = (buffer << 5 | u32::from(value)) & 0xfff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            decoded.push(u8::try_from(buffer >> bits & 0xff).ok()?);
        }
    }
    Some(decoded)
}
