//! The bounded queue of the hashing threads.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::compute::HashMemory;

/// A job that waits for a thread.
pub(super) trait QueuedJob: Send {
    /// Whether the result is not wanted any more.
    fn is_abandoned(&self) -> bool;

    /// Computes the result and delivers it.
    fn run(self: Box<Self>, memory: &mut HashMemory);
}

/// Jobs in the order of their arrival.
pub(super) struct JobQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    capacity: usize,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<Box<dyn QueuedJob>>,
    running: usize,
    is_closed: bool,
}

impl QueueState {
    fn unfinished(&self) -> usize {
        self.waiting.len() + self.running
    }
}

impl JobQueue {
    /// Creates a queue of at most `capacity` waiting jobs.
    pub(super) fn new(capacity: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), capacity }
    }

    /// Appends a job if there is room and `is_in_time` accepts the number of unfinished jobs before it.
    ///
    /// Abandoned jobs are removed before a job is refused.
    ///
    /// # Errors
    ///
    /// The number of waiting jobs, if the job is refused.
    pub(super) fn push(&self, job: Box<dyn QueuedJob>, is_in_time: impl Fn(usize) -> bool) -> Result<(), usize> {
        let mut state = self.state();
        let has_room = |state: &QueueState| state.waiting.len() < self.capacity && is_in_time(state.unfinished());
        if !has_room(&state) {
            state.waiting.retain(|job| !job.is_abandoned());
            if !has_room(&state) {
                return Err(state.waiting.len());
            }
        }
        state.waiting.push_back(job);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Waits for the next job that is not abandoned; `None` once the queue is closed and empty.
    pub(super) fn next(&self) -> Option<Box<dyn QueuedJob>> {
        let mut state = self.state();
        loop {
            match state.waiting.pop_front() {
                Some(job) if job.is_abandoned() => {}
                Some(job) => {
                    state.running += 1;
                    return Some(job);
                }
                None if state.is_closed => return None,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Records the end of a job that [`Self::next`] returned.
    pub(super) fn finish_job(&self) {
        self.state().running -= 1;
    }

    /// Ends the threads after the waiting jobs.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    /// Returns the number of jobs that wait or run.
    pub(super) fn unfinished(&self) -> usize {
        self.state().unfinished()
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for JobQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobQueue").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}
