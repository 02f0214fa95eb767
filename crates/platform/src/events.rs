//! The latest events of a backend: requests, decisions, audit entries and messages.
//!
//! Their ids increase. They are kept in memory, in a limited number. Nothing is recorded where no log is configured.

mod event;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

pub use self::event::{Event, EventKind, NewEvent};

/// The usual limits of a log.
const LIMITS: EventLimits = EventLimits { events: 2_000, bytes: 2 * 1024 * 1024 };
/// The longest wait of one call.
const MAX_PATIENCE: Duration = Duration::from_mins(10);

/// The limits of a log; the oldest events are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLimits {
    /// The maximum number of events.
    pub events: usize,
    /// The maximum size of their JSON together.
    pub bytes: usize,
}

/// A selection of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only events of this kind.
    pub kind: Option<EventKind>,
    /// Only events of this user.
    pub user_id: Option<Uuid>,
}

impl EventFilter {
    fn matches(&self, event: &Event) -> bool {
        self.kind.is_none_or(|kind| kind == event.kind) && self.user_id.is_none_or(|id| event.user_id == Some(id))
    }
}

/// The latest events of a backend; clones share them.
#[derive(Debug, Clone)]
pub struct EventLog(Arc<SharedLog>);

#[derive(Debug)]
struct SharedLog {
    limits: EventLimits,
    state: Mutex<LogState>,
    recorded: Notify,
}

#[derive(Debug, Default)]
struct LogState {
    latest_id: u64,
    bytes: usize,
    events: VecDeque<Arc<Event>>,
}

impl Default for EventLog {
    fn default() -> Self {
        Self::new(LIMITS)
    }
}

impl EventLog {
    /// Creates an empty log.
    pub fn new(limits: EventLimits) -> Self {
        Self(Arc::new(SharedLog { limits, state: Mutex::default(), recorded: Notify::new() }))
    }

    /// Appends an event, wakes those who wait, and returns the id.
    pub fn record(&self, event: &NewEvent) -> u64 {
        let SharedLog { limits, recorded, .. } = &*self.0;
        let mut state = self.lock();
        state.latest_id += 1;
        let event = Event::new(state.latest_id, event);
        let id = event.id;
        state.bytes += event.as_json().len();
        state.events.push_back(Arc::new(event));
        while state.events.len() > limits.events || state.bytes > limits.bytes {
            let Some(removed) = state.events.pop_front() else { break };
            state.bytes -= removed.as_json().len();
        }
        drop(state);
        recorded.notify_waiters();
        id
    }

    /// Returns the id of the latest event; 0 before the first.
    pub fn latest_id(&self) -> u64 {
        self.lock().latest_id
    }

    /// Returns the id of the oldest event that is kept; `None` without events.
    pub fn oldest_id(&self) -> Option<u64> {
        self.lock().events.front().map(|event| event.id)
    }

    /// Returns the events after the one with this id, oldest first.
    pub fn list(&self, after: u64, filter: EventFilter) -> Vec<Arc<Event>> {
        let state = self.lock();
        state.events.iter().filter(|event| event.id > after && filter.matches(event)).cloned().collect()
    }

    /// Returns what [`EventLog::list`] returns, and waits for an event if there is none.
    ///
    /// `patience` is real time, whatever clock the backend has; at most ten minutes.
    pub async fn wait(&self, after: u64, filter: EventFilter, patience: Duration) -> Vec<Arc<Event>> {
        let end = Instant::now() + patience.min(MAX_PATIENCE);
        loop {
            let mut recorded = std::pin::pin!(self.0.recorded.notified());
            recorded.as_mut().enable();
            let found = self.list(after, filter);
            if !found.is_empty() || timeout_at(end, recorded).await.is_err() {
                return found;
            }
        }
    }

    /// Subscribes to the events after the one with this id.
    pub fn subscribe(&self, after: u64, filter: EventFilter) -> EventSubscriber {
        EventSubscriber { log: self.clone(), filter, last_id: after, pending: VecDeque::new() }
    }

    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader of an event stream.
///
/// It holds a position and no queue: a slow reader misses the oldest events.
#[derive(Debug)]
pub struct EventSubscriber {
    log: EventLog,
    filter: EventFilter,
    last_id: u64,
    pending: VecDeque<Arc<Event>>,
}

impl EventSubscriber {
    /// Returns the next event; `None` if there was none within `patience`.
    pub async fn next(&mut self, patience: Duration) -> Option<Arc<Event>> {
        if self.pending.is_empty() {
            self.pending = self.log.wait(self.last_id, self.filter, patience).await.into();
        }
        let next = self.pending.pop_front()?;
        self.last_id = next.id;
        Some(next)
    }
}
