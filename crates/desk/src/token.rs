//! Secrets that the desk issues: of links, tickets and sessions. The database has their digests.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use platform::entropy::Entropy;
use subtle::ConstantTimeEq;

/// The length of a token as text: 32 bytes.
const TEXT_LENGTH: usize = 43;

/// A random secret and its digest.
#[derive(Debug)]
pub(crate) struct Token {
    /// The secret, URL-safe.
    pub text: String,
    /// Its SHA-256 digest.
    pub hash: Vec<u8>,
}

impl Token {
    /// Generates a secret of 256 bits.
    pub(crate) fn generate(entropy: &Entropy) -> Self {
        let text = URL_SAFE_NO_PAD.encode(entropy.bytes::<32>());
        let hash = hash_text(&text);
        Self { text, hash }
    }
}

/// Returns the digest of a token as a client presents it; `None` if it has not the form of one.
pub(crate) fn hash_presented(text: &str) -> Option<Vec<u8>> {
    let is_token = text.len() == TEXT_LENGTH && URL_SAFE_NO_PAD.decode(text).is_ok();
    is_token.then(|| hash_text(text))
}

/// Derives the token that a page sends with each change from the token of its session.
pub(crate) fn derive_csrf_token(session_token: &str) -> String {
    URL_SAFE_NO_PAD.encode(hash_text(&format!("csrf:{session_token}")))
}

/// Compares two secrets in constant time.
pub(crate) fn is_equal(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

fn hash_text(text: &str) -> Vec<u8> {
    digest(&SHA256, text.as_bytes()).as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn presented_token_has_the_stored_digest() {
        let token = Token::generate(&Entropy::from_seed(1));
        assert_eq!(hash_presented(&token.text), Some(token.hash));
        assert_eq!(hash_presented(&token.text[1..]), None);
        assert_ne!(derive_csrf_token(&token.text), token.text);
    }

    proptest! {
        #[test]
        fn arbitrary_texts_do_not_panic(text in "\\PC{0,50}") {
            let _ = hash_presented(&text);
        }
    }
}
