//! The token of a download link: order and generation, signed.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

/// Bytes of the id and the generation.
const CONTENT_LENGTH: usize = 20;
/// Bytes of the signature.
const SIGNATURE_LENGTH: usize = 32;
/// The longest text that is decoded.
const MAX_TEXT: usize = 100;

/// What a link gives access to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DownloadGrant {
    pub order: Uuid,
    /// The number of the link; only the latest of an order is valid.
    pub generation: i32,
}

/// The key that signs links. `Debug` does not print it.
#[derive(Debug, Clone)]
pub struct DownloadKey(hmac::Key);

impl DownloadKey {
    /// Reads a stored key: 32 bytes, hexadecimal.
    pub fn parse(stored: &str) -> Option<Self> {
        let bytes = hex::decode(stored).ok().filter(|bytes| bytes.len() == 32)?;
        Some(Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// Returns the token of a link.
    pub fn sign(&self, grant: DownloadGrant) -> String {
        let mut bytes = Vec::with_capacity(CONTENT_LENGTH + SIGNATURE_LENGTH);
        bytes.extend_from_slice(grant.order.as_bytes());
        bytes.extend_from_slice(&grant.generation.to_be_bytes());
        let signature = hmac::sign(&self.0, &bytes);
        bytes.extend_from_slice(signature.as_ref());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Returns what a token gives access to, if this key has signed it.
    pub fn verify(&self, token: &str) -> Option<DownloadGrant> {
        let bytes = (token.len() <= MAX_TEXT).then(|| URL_SAFE_NO_PAD.decode(token).ok()).flatten()?;
        let (content, signature) = bytes.split_at_checked(CONTENT_LENGTH)?;
        hmac::verify(&self.0, content, signature).ok()?;
        let (order, generation) = content.split_at_checked(16)?;
        let order = Uuid::from_slice(order).ok()?;
        Some(DownloadGrant { order, generation: i32::from_be_bytes(generation.try_into().ok()?) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(byte: u8) -> DownloadKey {
        DownloadKey::parse(&format!("{byte:02x}").repeat(32)).expect("a key")
    }

    proptest! {
        #[test]
        fn only_own_tokens_are_accepted(order: u128, generation: i32, position in 0_usize..69, other in "[A-Za-z0-9_-]") {
            let grant = DownloadGrant { order: Uuid::from_u128(order), generation };
            let token = key(1).sign(grant);
            prop_assert_eq!(key(1).verify(&token), Some(grant));
            prop_assert_eq!(key(2).verify(&token), None);
            let mut changed = token.clone();
            changed.replace_range(position..=position, &other);
            prop_assert!(changed == token || key(1).verify(&changed).is_none());
        }

        #[test]
        fn arbitrary_tokens_do_not_panic(token in "\\PC{0,120}") {
            prop_assert_eq!(key(1).verify(&token), None);
        }
    }
}
