//! Whether the client of a request is still connected: for handlers whose work is of no use without it.

use std::sync::Arc;

use crate::state::ConnectionState;

/// The presence of a client; an extension of every request.
///
/// A request runs to its end although its client disconnects. A handler that may be cancelled waits for this,
/// and work that has not started may be skipped.
#[derive(Debug, Clone)]
pub struct ClientPresence(pub(crate) Arc<ConnectionState>);

impl ClientPresence {
    /// Waits until the client disconnects before the response begins; forever if it does not.
    pub async fn wait_until_gone(&self) {
        self.0.wait_until_gone().await;
    }

    /// Returns whether the client disconnected before the response began.
    pub fn is_gone(&self) -> bool {
        self.0.is_gone()
    }
}

/// Reports a disconnected client when it is dropped before the response begins.
pub(crate) struct PresenceGuard(Option<Arc<ConnectionState>>);

impl PresenceGuard {
    /// Watches the client of the connection of `state`.
    pub(crate) fn new(state: &Arc<ConnectionState>) -> Self {
        Self(Some(Arc::clone(state)))
    }

    /// Ends the watch, because the response begins.
    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for PresenceGuard {
    fn drop(&mut self) {
        if let Some(state) = self.0.take() {
            state.set_gone();
        }
    }
}
