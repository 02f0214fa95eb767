//! Events that are counted together, in the process or in a store that several processes share.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use foundation::time::Time;

use super::counters::{RateLimited, RateLimits};
use super::limit_operation::LimitOperation;
use super::reserved::Reservation;
use super::shared::{SharedLimits, SharedResult};

/// Why an event is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitRefusal {
    /// The limit is exceeded.
    Exceeded(RateLimited),
    /// The store is unreachable, and the settings refuse requests then.
    Unavailable,
}

/// The result of counting several events.
///
/// The events before the refused one are counted, the later ones are not.
#[derive(Debug)]
#[must_use = "the event can be refused"]
pub struct Counted {
    /// The reserved tokens, in the order of the operations.
    pub reservations: Vec<Reservation>,
    /// The index of the refused operation, and the reason.
    pub refusal: Option<(usize, LimitRefusal)>,
}

/// Counts the events in their order, up to the first that is refused.
///
/// Takes one round trip to a shared store if no attempt is pending.
///
/// While a shared store is unreachable, events are counted in the memory of the process or refused, by its settings.
pub async fn count_events(
    local: &Arc<RateLimits>,
    shared: Option<&Arc<SharedLimits>>,
    operations: &[LimitOperation<'_>],
    now: Time,
) -> Counted {
    let mut counted = Counted { reservations: Vec::new(), refusal: None };
    let mut first = 0;
    if let Some(shared) = shared {
        let reservations = &mut counted.reservations;
        match shared.count(operations, |held| reservations.push(Reservation::shared(held))).await {
            SharedResult::Allowed => return counted,
            SharedResult::Refused(index, too_many) => {
                counted.refusal = Some((index, LimitRefusal::Exceeded(too_many)));
                return counted;
            }
            SharedResult::Unavailable(index) if shared.is_open_on_failure() => first = index,
            SharedResult::Unavailable(index) => {
                counted.refusal = Some((index, LimitRefusal::Unavailable));
                return counted;
            }
        }
    }
    for (index, operation) in operations.iter().enumerate().skip(first) {
        match count_locally(local, operation, now).await {
            Ok(reservation) => counted.reservations.extend(reservation),
            Err(too_many) => {
                counted.refusal = Some((index, LimitRefusal::Exceeded(too_many)));
                break;
            }
        }
    }
    counted
}

/// Counts one event in the memory of the process.
async fn count_locally(
    limits: &Arc<RateLimits>,
    operation: &LimitOperation<'_>,
    now: Time,
) -> Result<Option<Reservation>, RateLimited> {
    match *operation {
        LimitOperation::Take { what, key, bucket } => limits.take(what, key, bucket, now)?,
        LimitOperation::Reserve { what, key, bucket } => {
            return limits.reserve(what, key, bucket, now).await.map(Some);
        }
        LimitOperation::Quota(kind, quota) => limits.take_quota(kind, quota, now)?,
        LimitOperation::Grant { to, tries, lifetime } => {
            let lifetime = TimeDelta::from_std(lifetime).ok();
            let until = lifetime.and_then(|lifetime| now.checked_add_signed(lifetime)).unwrap_or(now);
            limits.grant(to, tries, until, now);
        }
        LimitOperation::ConsumeGrant { of } if !limits.consume_grant(of, now) => {
            return Err(RateLimited { wait: Duration::ZERO });
        }
        LimitOperation::ConsumeGrant { .. } => {}
    }
    Ok(None)
}
