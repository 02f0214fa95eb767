//! Faults of outbound calls, which a test environment injects.

use std::fmt;
use std::time::Duration;

use super::{HttpError, HttpResponse, ResponseLimits};
use crate::ports::clock::{Clock, SystemClock};

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
    Respond(HttpResponse),
}

/// Selects the faults of outbound calls. No setting enables it: only the code of a test environment supplies one.
pub trait OutboundFaultInjector: fmt::Debug + Send + Sync + 'static {
    /// Returns the fault of a call to this service, which is about to be made.
    fn fault_of(&self, service: &str) -> Option<OutboundFault>;
}

impl OutboundFault {
    /// Applies the fault; `None` if the call is made.
    pub(super) async fn apply(self, limits: ResponseLimits) -> Option<Result<HttpResponse, HttpError>> {
        // A stopped clock of the application does not stop the call.
        SystemClock.sleep(self.delay).await;
        match self.effect {
            OutboundEffect::Continue => None,
            OutboundEffect::Refuse => Some(Err(HttpError::InjectedRefusal)),
            OutboundEffect::TimeOut => {
                SystemClock.sleep(limits.time).await;
                Some(Err(HttpError::InjectedTimeout))
            }
            OutboundEffect::Respond(mut response) => {
                response.is_truncated = response.body.len() > limits.bytes;
                response.body.truncate(limits.bytes);
                Some(Ok(response))
            }
        }
    }
}
