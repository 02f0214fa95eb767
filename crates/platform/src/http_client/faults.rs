//! Faults of outbound calls, which a test environment injects.

use std::fmt;
use std::time::Duration;

use reqwest::header::HeaderMap;

/// A fault of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundFault {
    /// How long the call waits first.
    pub delay: Duration,
    /// What happens then.
    pub effect: OutboundEffect,
}

/// The effect of a fault after its delay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboundEffect {
    /// The call is made.
    Continue,
    /// The connection is refused.
    Refuse,
    /// No response arrives in time.
    TimeOut,
    /// This response arrives, and nothing is sent.
    Respond { status: u16, headers: HeaderMap, body: Vec<u8> },
}

/// Selects the faults of outbound calls; for test environments.
///
/// No setting enables it: only the code of a test environment supplies one.
pub trait OutboundFaultInjector: fmt::Debug + Send + Sync + 'static {
    /// Returns the fault of a call to this service, which is about to be made.
    fn fault_of(&self, service: &str) -> Option<OutboundFault>;
}
