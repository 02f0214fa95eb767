//! What is known of each issuer: of a bounded number, since anybody can name more of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gotrue_rules::domain::external::keys::KeySet;

use super::kept::Kept;
use super::{Discovery, Source};

/// So many are known at a time.
const MOST: usize = 256;

/// The issuers known.
#[derive(Debug, Default)]
pub(super) struct Sources(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    known: HashMap<Source, (u64, Arc<Known>)>,
    /// Counts the uses: who was used longest ago has the smallest number.
    uses: u64,
}

/// What is known of one.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub document: Kept<Discovery>,
    pub keys: Kept<KeySet>,
}

impl Sources {
    /// Nothing is known of this one any longer.
    pub(super) fn forget(&self, source: &Source) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).known.remove(source);
    }

    /// What is known of this one. For a new one, another goes that never answered, else the one used longest ago.
    pub(super) fn known(&self, source: &Source) -> Arc<Known> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.uses += 1;
        let now = inner.uses;
        if let Some((used, known)) = inner.known.get_mut(source) {
            *used = now;
            return known.clone();
        }
        if inner.known.len() >= MOST {
            let last = inner.known.iter().min_by_key(|(_, (used, known))| (!known.document.is_empty(), *used));
            if let Some(last) = last.map(|(last, _)| last.clone()) {
                inner.known.remove(&last);
            }
        }
        let known = Arc::<Known>::default();
        inner.known.insert(source.clone(), (now, known.clone()));
        known
    }
}
