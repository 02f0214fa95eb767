//! Serializes the submissions of each visitor, in memory and before a database connection is acquired.
//! A visitor with many concurrent submissions thus occupies one connection at most.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ipnet::IpNet;
use tokio::sync::OwnedMutexGuard;

type Line = Arc<tokio::sync::Mutex<()>>;

/// The queues of all visitors.
#[derive(Debug, Default)]
pub struct VisitorQueues(Arc<Mutex<HashMap<IpNet, Line>>>);

/// Maximum number of calls in one visitor's queue.
const MAX_QUEUE_LENGTH: usize = 32;

/// The permission to proceed; released when dropped.
#[derive(Debug)]
pub struct QueueTurn {
    queue: VisitorQueues,
    network: IpNet,
    guard: Option<OwnedMutexGuard<()>>,
}

impl VisitorQueues {
    /// Waits for a turn; returns `None` if the queue is full.
    pub async fn wait_for_turn(&self, network: IpNet) -> Option<QueueTurn> {
        let line = {
            let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let line = lines.entry(network).or_default();
            // One reference belongs to the map, the others to queued calls.
            if Arc::strong_count(line) > MAX_QUEUE_LENGTH {
                return None;
            }
            Arc::clone(line)
        };
        let mut turn = QueueTurn { queue: Self(Arc::clone(&self.0)), network, guard: None };
        turn.guard = Some(line.lock_owned().await);
        Some(turn)
    }

    /// Returns the number of visitors with a queue.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns whether there are no queues.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Drop for QueueTurn {
    /// Releases the turn, also after an abandoned wait.
    fn drop(&mut self) {
        self.guard = None;
        let mut lines = self.queue.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.get(&self.network).is_some_and(|line| Arc::strong_count(line) == 1) {
            lines.remove(&self.network);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::join_all;

    use super::*;

    fn network(last: u8) -> IpNet {
        IpNet::from(std::net::IpAddr::from([192, 0, 2, last]))
    }

    #[tokio::test]
    async fn visitors_do_not_block_each_other() {
        let queue = VisitorQueues::default();
        let first = queue.wait_for_turn(network(1)).await.expect("a turn");
        assert!(queue.wait_for_turn(network(1)).now_or_never().is_none());
        assert!(queue.wait_for_turn(network(2)).now_or_never().flatten().is_some());
        drop(first);
        assert!(queue.wait_for_turn(network(1)).now_or_never().flatten().is_some());
        assert!(queue.is_empty());
    }

    #[tokio::test]
    async fn full_queue_rejects_and_is_removed_when_empty() {
        let queue = VisitorQueues::default();
        let first = queue.wait_for_turn(network(1)).await.expect("a turn");
        let mut waiting: Vec<_> = (1..MAX_QUEUE_LENGTH).map(|_| Box::pin(queue.wait_for_turn(network(1)))).collect();
        assert!(waiting.iter_mut().all(|turn| turn.now_or_never().is_none()));
        assert!(queue.wait_for_turn(network(1)).now_or_never().expect("an answer at once").is_none());
        waiting.truncate(20);
        drop(first);
        let turns = join_all(waiting.into_iter().map(|turn| async { turn.await.is_some() })).await;
        assert_eq!(turns, vec![true; 20]);
        assert!(queue.is_empty());
    }
}
