//! Rate limits: token buckets, grants and sending quotas, in memory or in a shared store.
//!
//! The route table assigns limits to routes; `services/limits` builds the error responses.

mod counted;
mod counters;
mod grants;
mod keys;
mod limit_operation;
mod operations;
mod pending;
mod reserved;
mod shared;

pub use self::counted::{CountedEvent, LimitedRoute};
pub use self::counters::{QuotaKind, RateLimited, RateLimits};
pub use self::keys::{ClientRequest, client_ip, find_key};
pub use self::limit_operation::LimitOperation;
pub use self::operations::{Counted, LimitRefusal, count_events};
pub use self::reserved::Reservation;
pub use self::shared::{
    MalformedReply, Redirection, RedisReply, SharedLimits, StoreError, parse_redirection, parse_reply,
};
