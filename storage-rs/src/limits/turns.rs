//! Turns of uploads: each has blocks of content in memory and a file open, so that only some may be at work at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::load_limits::LoadLimits;
use crate::error::Error;

/// How long an upload waits for its turn. Nothing of its body is read meanwhile.
const WAIT: Duration = Duration::from_secs(10);

/// The turns of all networks together, and those of each.
#[derive(Debug)]
pub(crate) struct UploadTurns {
    all: Arc<Semaphore>,
    per_network: usize,
    networks: Arc<Mutex<HashMap<String, NetworkTurns>>>,
    wait: Duration,
}

/// The turns of a network, from which uploads come or wait to.
#[derive(Debug)]
struct NetworkTurns {
    turns: Arc<Semaphore>,
    uploads: usize,
}

/// The right to read the content of an upload.
#[derive(Debug)]
pub(crate) struct UploadTurn {
    _permits: (Option<OwnedSemaphorePermit>, OwnedSemaphorePermit),
    _place: Option<Place>,
}

/// An upload that has or wants a turn. The last one of a network removes its entry.
#[derive(Debug)]
struct Place {
    networks: Arc<Mutex<HashMap<String, NetworkTurns>>>,
    network: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turns) = networks.get_mut(&self.network) {
            turns.uploads -= 1;
            if turns.uploads == 0 {
                networks.remove(&self.network);
            }
        }
    }
}

impl UploadTurns {
    /// Turns that nobody has taken.
    pub(crate) fn new(limits: LoadLimits) -> Self {
        let clamp = |number: usize| number.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            all: Arc::new(Semaphore::new(clamp(limits.uploads))),
            per_network: clamp(limits.uploads_per_network),
            networks: Arc::default(),
            wait: WAIT,
        }
    }

    /// Waits for the turn of an upload. One whose network is not known counts only among all.
    ///
    /// # Errors
    /// 429: the uploads before it take too long.
    pub(crate) async fn wait(&self, network: Option<String>) -> Result<UploadTurn, Error> {
        let (place, own) = network.map(|network| self.enter(network)).unzip();
        let taking = async {
            // First the turn of the network, so that those who wait for it take none from others.
            let own = match own {
                Some(turns) => Some(turns.acquire_owned().await?),
                None => None,
            };
            Ok::<_, tokio::sync::AcquireError>((own, Arc::clone(&self.all).acquire_owned().await?))
        };
        match tokio::time::timeout(self.wait, taking).await {
            Ok(Ok(permits)) => Ok(UploadTurn { _permits: permits, _place: place }),
            Ok(Err(_)) | Err(_) => Err(Error::too_many_requests("Too many uploads at a time", WAIT)),
        }
    }

    fn enter(&self, network: String) -> (Place, Arc<Semaphore>) {
        let mut networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = networks
            .entry(network.clone())
            .or_insert_with(|| NetworkTurns { turns: Arc::new(Semaphore::new(self.per_network)), uploads: 0 });
        entry.uploads += 1;
        (Place { networks: Arc::clone(&self.networks), network }, Arc::clone(&entry.turns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(uploads: usize, uploads_per_network: usize) -> UploadTurns {
        let limits = LoadLimits { uploads, uploads_per_network, ..LoadLimits::default() };
        UploadTurns { wait: Duration::from_millis(20), ..UploadTurns::new(limits) }
    }

    #[tokio::test]
    async fn network_takes_no_more_than_its_turns() {
        let turns = turns(3, 2);
        let network = |name: &str| Some(name.to_owned());
        let (first, second) = (turns.wait(network("a")).await.unwrap(), turns.wait(network("a")).await.unwrap());
        let refused = turns.wait(network("a")).await.unwrap_err();
        assert_eq!((refused.status, refused.retry_after), (429, Some(10)));
        let other = turns.wait(network("b")).await.unwrap();
        assert!(turns.wait(network("b")).await.is_err() && turns.wait(None).await.is_err(), "of all together");
        drop(first);
        assert!(turns.wait(network("a")).await.is_ok());
        drop((second, other));
        assert!(turns.networks.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn upload_waits_for_the_one_before() {
        let turns = UploadTurns { wait: Duration::from_secs(30), ..turns(1, 1) };
        let first = turns.wait(None).await.unwrap();
        let ending = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            drop(first);
        };
        let (second, ()) = tokio::join!(turns.wait(None), ending);
        assert!(second.is_ok());
    }
}
