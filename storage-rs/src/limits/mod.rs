//! Limits of number and rate: uploads at a time, open uploads of a user, transformed images of a network.

mod load_limits;
mod open_uploads;
mod turns;

use std::time::Duration;

use chrono::{DateTime, Utc};
use foundation::limits::Bucket;
use platform::limits::{CountedEvent, RateLimits};

use crate::error::Error;

pub use self::load_limits::LoadLimits;
pub(crate) use self::open_uploads::OpenUploads;
pub(crate) use self::turns::{UploadTurn, UploadTurns};

/// Counts the images that are transformed for each network.
#[derive(Debug)]
pub(crate) struct ImageRate {
    bucket: Option<Bucket>,
    counters: RateLimits,
}

impl ImageRate {
    /// Nothing was counted yet. A network may use up a minute's images at once.
    pub(crate) fn new(images_per_minute: u32, now: DateTime<Utc>) -> Self {
        let events = f64::from(images_per_minute);
        let bucket = Bucket {
            events,
            per: Duration::from_mins(1),
            burst: events,
            // By then a bucket is full again.
            evicted_after: Duration::from_mins(10),
        };
        Self { bucket: (images_per_minute > 0).then_some(bucket), counters: RateLimits::new(now) }
    }

    /// Counts an image.
    ///
    /// # Errors
    /// 429: too many were transformed for this network.
    pub(crate) fn count(&self, network: &str, now: DateTime<Utc>) -> Result<(), Error> {
        let Some(bucket) = self.bucket else { return Ok(()) };
        let counted = self.counters.take(CountedEvent::TransformedImages, network, bucket, now);
        counted.map_err(|limited| Error::too_many_requests("Too many images were transformed", limited.wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_a_network_are_limited_and_refilled() {
        let rate = ImageRate::new(2, DateTime::UNIX_EPOCH);
        let at = |seconds| DateTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert!(rate.count("192.0.2.1", at(0)).is_ok() && rate.count("192.0.2.1", at(0)).is_ok());
        let refused = rate.count("192.0.2.1", at(0)).unwrap_err();
        assert_eq!((refused.status, refused.retry_after), (429, Some(30)));
        assert!(rate.count("192.0.2.2", at(0)).is_ok(), "another network");
        assert!(rate.count("192.0.2.1", at(31)).is_ok(), "one image in half a minute");
        let unlimited = ImageRate::new(0, DateTime::UNIX_EPOCH);
        assert!((0..5000).all(|_| unlimited.count("192.0.2.1", at(0)).is_ok()));
    }
}
