//! Granted attempts that are independent of other callers: the requester of a code can always try it.

use std::collections::HashMap;

use foundation::time::Time;

/// The maximum number of grants: about 5 MB.
const MAX_GRANTS: usize = 30_000;

/// Grants by their keys.
#[derive(Debug, Default)]
pub(super) struct Grants(HashMap<Box<str>, Grant>);

#[derive(Debug, Clone, Copy)]
struct Grant {
    tries: u8,
    until: Time,
}

impl Grants {
    /// Stores a grant and replaces an earlier one of the same key.
    pub(super) fn insert(&mut self, to: Box<str>, tries: u8, until: Time, now: Time) {
        if self.0.len() >= MAX_GRANTS && !self.0.contains_key(&to) {
            self.evict(now);
        }
        self.0.insert(to, Grant { tries, until });
    }

    /// Consumes one attempt; false if none is left.
    pub(super) fn consume(&mut self, of: &str, now: Time) -> bool {
        let Some(grant) = self.0.get_mut(of).filter(|grant| grant.tries > 0 && now < grant.until) else { return false };
        grant.tries -= 1;
        true
    }

    /// Evicts expired grants, or else the half that expires first.
    fn evict(&mut self, now: Time) {
        self.0.retain(|_, grant| grant.tries > 0 && now < grant.until);
        if self.0.len() < MAX_GRANTS {
            return;
        }
        let mut ends: Vec<Time> = self.0.values().map(|grant| grant.until).collect();
        let half = ends.len() / 2;
        let (_, median, _) = ends.select_nth_unstable(half);
        let (median, mut left) = (*median, half + 1);
        self.0.retain(|_, grant| {
            let goes = left > 0 && grant.until <= median;
            left -= usize::from(goes);
            !goes
        });
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}
