//! The keys with pending reservations.

use std::collections::HashMap;

use tokio::sync::watch;

use super::counted::CountedEvent;

/// A counted event and its key.
pub(super) type CountedKey = (CountedEvent, Box<str>);

/// Keys with pending reservations.
#[derive(Debug, Default)]
pub(super) struct PendingReservations(HashMap<CountedKey, PendingKey>);

/// The pending reservations of a key.
#[derive(Debug)]
struct PendingKey {
    count: usize,
    /// Signals each returned token; closed when the last reservation is settled.
    changed: watch::Sender<()>,
}

impl PendingReservations {
    pub(super) fn count_keys(&self) -> usize {
        self.0.len()
    }

    pub(super) fn add(&mut self, key: &CountedKey) {
        self.0.entry(key.clone()).or_default().count += 1;
    }

    /// Returns the signal of the key's next returned token; `None` if it has no pending reservation.
    pub(super) fn subscribe(&self, key: &CountedKey) -> Option<watch::Receiver<()>> {
        Some(self.0.get(key)?.changed.subscribe())
    }

    /// Removes a reservation of the key, and signals its token unless it counts.
    pub(super) fn settle(&mut self, key: &CountedKey, counts: bool) {
        let Some(holders) = self.0.get_mut(key) else { return };
        holders.count -= 1;
        if holders.count == 0 {
            self.0.remove(key);
        } else if !counts {
            holders.changed.send_replace(());
        }
    }
}

impl Default for PendingKey {
    fn default() -> Self {
        Self { count: 0, changed: watch::channel(()).0 }
    }
}
