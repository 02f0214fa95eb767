//! In-memory rate limits of this process: token buckets, grants, and sending quotas.
//!
//! The route table assigns limits to routes; `services/limits` builds the error responses.

mod counted;
mod counters;
mod grants;
mod keys;
mod pending;
mod reserved;

pub use self::counted::{CountedEvent, LimitedRoute};
pub use self::counters::{QuotaKind, RateLimited, RateLimits};
pub use self::keys::{ClientRequest, client_ip, find_key};
pub use self::reserved::Reservation;
