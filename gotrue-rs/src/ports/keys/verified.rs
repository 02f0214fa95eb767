//! Claims of tokens whose signature has been verified before, so that it is verified once per token.

use std::hash::RandomState;
use std::sync::{Arc, Mutex, PoisonError};

use hashlink::LruCache;

use super::token::Object;

/// The most bytes that the remembered tokens have together: those of some 1,500 sessions.
const MAX_BYTES: usize = 1 << 20;
/// A longer token is not remembered.
const MAX_TOKEN: usize = 8 << 10;

/// The verified tokens that were used last.
///
/// Only whether a key has signed a token is remembered, which cannot change: times and sessions are checked anew with
/// each request. New keys begin with an empty list, because it belongs to the key ring. Tokens are found by a hash with
/// a random key, so that the time of a search tells nothing about remembered tokens.
#[derive(Debug)]
pub(super) struct VerifiedTokens(Mutex<Entries>);

#[derive(Debug)]
struct Entries {
    claims: LruCache<Box<str>, Arc<Object>, RandomState>,
    /// The length of all remembered tokens.
    bytes: usize,
}

impl VerifiedTokens {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Entries { claims: LruCache::with_hasher(usize::MAX, RandomState::new()), bytes: 0 }))
    }

    /// Returns the claims of a token that was verified before.
    pub(super) fn find(&self, token: &str) -> Option<Arc<Object>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).claims.get(token).cloned()
    }

    /// Remembers a token with a valid signature, and forgets the one that was not used for longest.
    pub(super) fn insert(&self, token: &str, claims: &Arc<Object>) {
        if token.len() > MAX_TOKEN {
            return;
        }
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.claims.insert(token.into(), Arc::clone(claims)).is_none() {
            entries.bytes += token.len();
        }
        while entries.bytes > MAX_BYTES {
            let Some((oldest, _)) = entries.claims.remove_lru() else { break };
            entries.bytes -= oldest.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_used_tokens_are_forgotten_and_long_ones_not_kept() {
        let verified = VerifiedTokens::new();
        let claims = Arc::new(Object::new());
        let token = |number: usize| format!("{number:01000}");
        for number in 0..2 * MAX_BYTES / 1000 {
            verified.insert(&token(number), &claims);
            assert!(verified.find(&token(0)).is_some(), "it is in use");
        }
        let entries = verified.0.lock().expect("no panic");
        assert!(entries.bytes <= MAX_BYTES && entries.bytes > MAX_BYTES - 1000, "{}", entries.bytes);
        assert_eq!(entries.claims.iter().map(|(token, _)| token.len()).sum::<usize>(), entries.bytes);
        drop(entries);
        assert!(verified.find(&token(1)).is_none(), "it was not used for longest");
        verified.insert(&"x".repeat(MAX_TOKEN + 1), &claims);
        assert!(verified.find(&"x".repeat(MAX_TOKEN + 1)).is_none());
    }

    #[test]
    fn token_that_is_inserted_twice_counts_once() {
        let verified = VerifiedTokens::new();
        let claims = Arc::new(Object::new());
        verified.insert("token", &claims);
        verified.insert("token", &claims);
        assert_eq!(verified.0.lock().expect("no panic").bytes, 5);
    }
}
