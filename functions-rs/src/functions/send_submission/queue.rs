//! One at a time for each visitor, in memory and before a connection is taken: who sends a hundred at once waits for himself and
//! keeps nobody else from the database.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ipnet::IpNet;
use tokio::sync::OwnedMutexGuard;

type Line = Arc<tokio::sync::Mutex<()>>;

/// The lines of visitors.
#[derive(Debug, Default)]
pub struct Queue(Arc<Mutex<HashMap<IpNet, Line>>>);

/// The longest line of one visitor.
const LONGEST: usize = 32;

/// It is somebody's turn until this is dropped.
#[derive(Debug)]
pub struct Turn {
    queue: Queue,
    network: IpNet,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Queue {
    /// Waits for a turn; none where the line is too long.
    pub async fn turn(&self, network: IpNet) -> Option<Turn> {
        let line = {
            let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let line = lines.entry(network).or_default();
            // One reference is the table's, one each is with who stands in it.
            if Arc::strong_count(line) > LONGEST {
                return None;
            }
            Arc::clone(line)
        };
        let mut turn = Turn { queue: Self(Arc::clone(&self.0)), network, guard: None };
        turn.guard = Some(line.lock_owned().await);
        Some(turn)
    }

    /// How many visitors have a line.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether nobody has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Drop for Turn {
    /// Also when the wait was given up.
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
    async fn one_visitor_waits_for_himself_and_for_nobody_else() {
        let queue = Queue::default();
        let first = queue.turn(network(1)).await.expect("a turn");
        assert!(queue.turn(network(1)).now_or_never().is_none());
        assert!(queue.turn(network(2)).now_or_never().flatten().is_some());
        drop(first);
        assert!(queue.turn(network(1)).now_or_never().flatten().is_some());
        assert!(queue.is_empty());
    }

    #[tokio::test]
    async fn a_line_has_an_end_and_leaves_nothing_behind() {
        let queue = Queue::default();
        let first = queue.turn(network(1)).await.expect("a turn");
        let mut waiting: Vec<_> = (1..LONGEST).map(|_| Box::pin(queue.turn(network(1)))).collect();
        assert!(waiting.iter_mut().all(|turn| turn.now_or_never().is_none()));
        assert!(queue.turn(network(1)).now_or_never().expect("an answer at once").is_none());
        waiting.truncate(20);
        drop(first);
        let turns = join_all(waiting.into_iter().map(|turn| async { turn.await.is_some() })).await;
        assert_eq!(turns, vec![true; 20]);
        assert!(queue.is_empty());
    }
}
