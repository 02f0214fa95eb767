//! Events that are counted in the round trip of an earlier event, before the handler asks for them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::counters::RateLimited;
use super::limit_operation::LimitOperation;
use super::shared::SharedLimits;

/// Events that a shared store has counted before they are asked for, in their order.
///
/// When this is dropped, those that were not asked for are returned to the store. A grant could not be returned if its
/// attempts were used meanwhile, so it is sent to the store when it is asked for, in the background.
#[derive(Debug)]
pub struct CountedAhead {
    limits: Arc<SharedLimits>,
    allowed: VecDeque<OwnedOperation>,
    /// The event after the allowed ones. Later ones were not counted.
    refused: Option<(OwnedOperation, RateLimited)>,
}

impl CountedAhead {
    /// Keeps events that were counted, and the one that was refused.
    pub(super) fn new(
        limits: &Arc<SharedLimits>,
        allowed: &[LimitOperation<'_>],
        refused: Option<(LimitOperation<'_>, RateLimited)>,
    ) -> Self {
        Self {
            limits: Arc::clone(limits),
            allowed: allowed.iter().map(OwnedOperation::new).collect(),
            refused: refused.map(|(operation, too_many)| (OwnedOperation::new(&operation), too_many)),
        }
    }

    /// Takes the next events; an error has the index of the refused one.
    ///
    /// Returns `None` and takes none if the next events are others.
    #[must_use = "the event can be refused"]
    pub fn take(&mut self, operations: &[LimitOperation<'_>]) -> Option<Result<(), (usize, RateLimited)>> {
        let pairs = operations.iter().zip(&self.allowed);
        let allowed = pairs.take_while(|(wanted, counted)| counted.to_operation() == **wanted).count();
        let Some(next) = operations.get(allowed) else {
            self.use_first(allowed);
            return Some(Ok(()));
        };
        let is_last = allowed == self.allowed.len();
        let (_, too_many) = self.refused.take_if(|(refused, _)| is_last && refused.to_operation() == *next)?;
        self.use_first(allowed);
        Some(Err((allowed, too_many)))
    }

    /// Removes the first events, which the request has asked for.
    fn use_first(&mut self, count: usize) {
        for operation in self.allowed.drain(..count) {
            if matches!(operation.operation, LimitOperation::Grant { .. }) {
                self.limits.apply_later(&operation.to_operation());
            }
        }
    }
}

impl Drop for CountedAhead {
    fn drop(&mut self) {
        for operation in &self.allowed {
            self.limits.give_back(&operation.to_operation());
        }
    }
}

/// An operation and its key.
#[derive(Debug)]
struct OwnedOperation {
    /// The operation with an empty key.
    operation: LimitOperation<'static>,
    key: String,
}

impl OwnedOperation {
    fn new(operation: &LimitOperation<'_>) -> Self {
        let (key, operation) = match *operation {
            LimitOperation::Take { what, key, bucket } => (key, LimitOperation::Take { what, key: "", bucket }),
            LimitOperation::Reserve { what, key, bucket } => (key, LimitOperation::Reserve { what, key: "", bucket }),
            LimitOperation::Quota(kind, quota) => ("", LimitOperation::Quota(kind, quota)),
            LimitOperation::Grant { to, tries, lifetime } => (to, LimitOperation::Grant { to: "", tries, lifetime }),
            LimitOperation::ConsumeGrant { of } => (of, LimitOperation::ConsumeGrant { of: "" }),
        };
        Self { operation, key: key.to_owned() }
    }

    fn to_operation(&self) -> LimitOperation<'_> {
        let key = self.key.as_str();
        match self.operation {
            LimitOperation::Take { what, bucket, .. } => LimitOperation::Take { what, key, bucket },
            LimitOperation::Reserve { what, bucket, .. } => LimitOperation::Reserve { what, key, bucket },
            LimitOperation::Quota(kind, quota) => LimitOperation::Quota(kind, quota),
            LimitOperation::Grant { tries, lifetime, .. } => LimitOperation::Grant { to: key, tries, lifetime },
            LimitOperation::ConsumeGrant { .. } => LimitOperation::ConsumeGrant { of: key },
        }
    }
}
