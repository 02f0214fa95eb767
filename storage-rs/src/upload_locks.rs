//! One request at a time writes to an upload. A later request asks the earlier one to end: its client is most often gone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use tokio::sync::{OwnedMutexGuard, watch};
use uuid::Uuid;

use crate::backend::Content;

/// How long a request waits for the one before.
const WAIT: Duration = Duration::from_secs(5);
/// How often a request asks the one before to end.
const REPETITION: Duration = Duration::from_millis(500);
/// How long a request that was asked to end goes on: it may be about to end on its own.
const GRACE: Duration = Duration::from_millis(500);

/// An upload that a request works on.
#[derive(Debug)]
struct Entry {
    holder: Arc<tokio::sync::Mutex<()>>,
    /// Counts those who ask the holder to end.
    requests: watch::Sender<u64>,
    /// The requests that hold or want the upload.
    users: usize,
}

/// The uploads that requests of this process work on.
#[derive(Debug, Clone)]
pub(crate) struct UploadLocks {
    entries: Arc<Mutex<HashMap<Uuid, Entry>>>,
    wait: Duration,
}

impl Default for UploadLocks {
    fn default() -> Self {
        Self { entries: Arc::default(), wait: WAIT }
    }
}

/// The right to write to an upload.
#[derive(Debug)]
pub(crate) struct UploadLock {
    _guard: OwnedMutexGuard<()>,
    requests: watch::Receiver<u64>,
    _interest: Interest,
}

/// A request that holds or wants an upload. The last one removes the entry.
#[derive(Debug)]
struct Interest {
    locks: UploadLocks,
    id: Uuid,
}

impl Drop for Interest {
    fn drop(&mut self) {
        let mut entries = self.locks.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get_mut(&self.id) {
            entry.users -= 1;
            if entry.users == 0 {
                entries.remove(&self.id);
            }
        }
    }
}

impl UploadLocks {
    /// Waits until no other request works on an upload; `None` if one does not end.
    pub(crate) async fn acquire(&self, id: Uuid) -> Option<UploadLock> {
        let (interest, holder, requests) = self.enter(id);
        let receiver = requests.subscribe();
        let guard = if let Ok(guard) = Arc::clone(&holder).try_lock_owned() {
            guard
        } else {
            let asking = async {
                loop {
                    requests.send_modify(|count| *count += 1);
                    tokio::time::sleep(REPETITION).await;
                }
            };
            tokio::select! {
                guard = tokio::time::timeout(self.wait, holder.lock_owned()) => guard.ok()?,
                () = asking => return None,
            }
        };
        // Requests to end from before this moment were for the former holder. Who still waits repeats its own.
        let mut receiver = receiver;
        receiver.mark_unchanged();
        Some(UploadLock { _guard: guard, requests: receiver, _interest: interest })
    }

    fn enter(&self, id: Uuid) -> (Interest, Arc<tokio::sync::Mutex<()>>, watch::Sender<u64>) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.entry(id).or_insert_with(|| Entry {
            holder: Arc::default(),
            requests: watch::Sender::new(0),
            users: 0,
        });
        entry.users += 1;
        let parts = (Arc::clone(&entry.holder), entry.requests.clone());
        (Interest { locks: self.clone(), id }, parts.0, parts.1)
    }
}

impl UploadLock {
    /// Content that ends soon after another request wants the upload. What arrived before is kept.
    pub(crate) fn bind(&self, content: Content) -> Content {
        let mut requests = self.requests.clone();
        let asked = async move {
            // The sender lives as long as the lock.
            if requests.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(GRACE).await;
        };
        content.take_until(Box::pin(asked)).boxed()
    }

    /// Whether another request wants the upload.
    pub(crate) fn is_wanted(&self) -> bool {
        self.requests.has_changed().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::stream;

    use super::*;

    #[tokio::test]
    async fn later_request_ends_the_earlier_one() {
        let locks = UploadLocks::default();
        let id = Uuid::from_u128(1);
        let first = locks.acquire(id).await.unwrap();
        let endless = stream::iter([Ok(Bytes::from_static(b"kept"))]).chain(stream::pending()).boxed();
        let mut content = first.bind(endless);
        assert!(content.next().await.is_some());
        assert!(!first.is_wanted());
        let second = tokio::spawn({
            let locks = locks.clone();
            async move { locks.acquire(id).await.is_some() }
        });
        assert!(content.next().await.is_none());
        assert!(first.is_wanted());
        drop((content, first));
        assert!(second.await.unwrap());
        assert!(locks.entries.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn request_that_does_not_end_is_not_waited_for() {
        let locks = UploadLocks { wait: Duration::from_millis(20), ..UploadLocks::default() };
        let id = Uuid::from_u128(1);
        let first = locks.acquire(id).await.unwrap();
        assert!(locks.acquire(id).await.is_none());
        assert!(locks.acquire(Uuid::from_u128(2)).await.is_some());
        drop(first);
        assert!(locks.acquire(id).await.is_some());
    }
}
