//! The caches of issuers. Their number is bounded, because callers can name arbitrary issuers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gotrue_rules::domain::external::keys::KeySet;

use super::cache::Cached;
use super::discovery::Discovery;
use super::issuer::IssuerSource;

/// The maximum number of cached issuers.
const MAX_ISSUERS: usize = 256;

/// The cached issuers.
#[derive(Debug, Default)]
pub(super) struct IssuerCaches(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    known: HashMap<IssuerSource, (u64, Arc<IssuerCache>)>,
    /// The use counter: the least recently used issuer has the smallest number.
    uses: u64,
}

/// The cached data of an issuer.
#[derive(Debug, Default)]
pub(super) struct IssuerCache {
    pub document: Cached<Discovery>,
    pub keys: Cached<KeySet>,
}

impl IssuerCaches {
    pub(super) fn evict(&self, source: &IssuerSource) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).known.remove(source);
    }

    /// Returns the cache of an issuer.
    ///
    /// A new one evicts one that never responded, else the least recently used.
    pub(super) fn get_or_insert(&self, source: &IssuerSource) -> Arc<IssuerCache> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.uses += 1;
        let now = inner.uses;
        if let Some((used, known)) = inner.known.get_mut(source) {
            *used = now;
            return known.clone();
        }
        if inner.known.len() >= MAX_ISSUERS {
            let last = inner.known.iter().min_by_key(|(_, (used, known))| (!known.document.is_empty(), *used));
            if let Some(last) = last.map(|(last, _)| last.clone()) {
                inner.known.remove(&last);
            }
        }
        let known = Arc::<IssuerCache>::default();
        inner.known.insert(source.clone(), (now, known.clone()));
        known
    }
}
