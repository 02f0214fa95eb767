//! State that the stream, the bodies and the service of one connection share.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::upgrade::UpgradeSender;

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Between two requests, or before the first.
    Idle,
    /// A request's head has begun to arrive.
    Head,
    /// A request is being answered.
    Busy,
}

/// The state of one connection.
/// The phase and a counter of changes share one integer, so that a timer can distinguish a phase from a later one of
/// the same kind.
#[derive(Debug, Default)]
pub(crate) struct ConnectionState {
    phase: AtomicU32,
    should_linger: AtomicBool,
    gone: Notify,
    is_gone: AtomicBool,
    upgrade: Mutex<Option<UpgradeSender>>,
}

const PHASE_COUNT: u32 = 4;

impl ConnectionState {
    /// Returns the phase and its number, which differs from that of any recent phase.
    pub(crate) fn phase(&self) -> (Phase, u32) {
        let number = self.phase.load(Ordering::Acquire);
        let phase = match number % PHASE_COUNT {
            0 => Phase::Idle,
            1 => Phase::Head,
            _ => Phase::Busy,
        };
        (phase, number)
    }

    pub(crate) fn enter(&self, phase: Phase) {
        let kind = match phase {
            Phase::Idle => 0,
            Phase::Head => 1,
            Phase::Busy => 2,
        };
        let count = self.phase.load(Ordering::Acquire) / PHASE_COUNT;
        self.phase.store(count.wrapping_add(1).wrapping_mul(PHASE_COUNT).wrapping_add(kind), Ordering::Release);
    }

    /// Marks that a response was given before the request was read.
    /// Remaining input is then read before the connection is closed: otherwise it would be reset and the response lost.
    pub(crate) fn set_linger(&self) {
        self.should_linger.store(true, Ordering::Release);
    }

    /// Returns whether to read remaining input before closing.
    pub(crate) fn should_linger(&self) -> bool {
        self.should_linger.load(Ordering::Acquire)
    }

    /// Reports that the client disconnected before the response of its request.
    pub(crate) fn set_gone(&self) {
        self.is_gone.store(true, Ordering::Release);
        self.gone.notify_one();
    }

    /// Returns whether [`ConnectionState::set_gone`] was called.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    /// Waits for [`ConnectionState::set_gone`].
    pub(crate) async fn wait_until_gone(&self) {
        self.gone.notified().await;
    }

    /// Switches the protocol after the current response; `sender` then receives the stream.
    pub(crate) fn set_upgrade(&self, sender: UpgradeSender) {
        *self.upgrade.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
    }

    /// Returns whether the protocol is switched after the current response.
    pub(crate) fn has_upgrade(&self) -> bool {
        self.upgrade.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Returns the receiver of the stream, if the protocol is switched.
    pub(crate) fn take_upgrade(&self) -> Option<UpgradeSender> {
        self.upgrade.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
