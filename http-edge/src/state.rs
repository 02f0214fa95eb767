//! What stream, bodies and service of one connection know of each other.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Between two requests, or before the first.
    Idle,
    /// A request's head has begun to arrive.
    Head,
    /// A request is being answered.
    Busy,
}

/// The state of one connection. The phase and a count of changes share a number, so that a timer can tell a phase from a
/// later one of the same kind.
#[derive(Debug, Default)]
pub struct ConnectionState {
    phase: AtomicU32,
    lingers: AtomicBool,
}

const KINDS: u32 = 4;

impl ConnectionState {
    /// The phase, and a number that no other phase nearby has.
    pub fn phase(&self) -> (Phase, u32) {
        let number = self.phase.load(Ordering::Acquire);
        let phase = match number % KINDS {
            0 => Phase::Idle,
            1 => Phase::Head,
            _ => Phase::Busy,
        };
        (phase, number)
    }

    /// Goes on to another phase.
    pub fn enter(&self, phase: Phase) {
        let kind = match phase {
            Phase::Idle => 0,
            Phase::Head => 1,
            Phase::Busy => 2,
        };
        let count = self.phase.load(Ordering::Acquire) / KINDS;
        self.phase.store(count.wrapping_add(1).wrapping_mul(KINDS).wrapping_add(kind), Ordering::Release);
    }

    /// A response was given before the request was read: what the client still sends is read before the connection is
    /// closed, for it would be reset otherwise, and the response lost.
    pub fn linger(&self) {
        self.lingers.store(true, Ordering::Release);
    }

    /// Whether to read on before closing.
    pub fn lingers(&self) -> bool {
        self.lingers.load(Ordering::Acquire)
    }
}
