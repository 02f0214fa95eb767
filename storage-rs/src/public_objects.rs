//! Rows of objects in public buckets, for a short time: a file that many read costs no statement each time.
//!
//! A row counts for as long as the settings say, and only while no transaction of this process wrote. What another process
//! changes is seen when that time is over.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::database::Database;
use crate::object_row::Found;
use crate::target::Target;

/// The most rows.
const MAXIMUM_ROWS: usize = 2048;
/// The most bytes of a row as text, which take up to 16 times as much parsed: with all rows 32 MiB.
const MAXIMUM_SIZE: usize = 1024;

/// The rows.
#[derive(Debug)]
pub(crate) struct PublicObjects {
    validity: Duration,
    rows: Mutex<HashMap<Target, Kept>>,
}

#[derive(Debug)]
struct Kept {
    found: Found,
    moment: Moment,
}

/// When a row is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    time: Instant,
    /// The transactions of this process that wrote before.
    writes: u64,
}

impl Moment {
    /// The moment before a statement is sent.
    pub(crate) fn before(database: &Database) -> Self {
        Self { time: Instant::now(), writes: database.writes() }
    }
}

impl PublicObjects {
    /// No rows, each of which counts for this time; none is kept if it is zero.
    pub(crate) fn new(validity: Duration) -> Self {
        Self { validity, rows: Mutex::default() }
    }

    fn is_valid(&self, kept: &Kept, now: Moment) -> bool {
        kept.moment.writes == now.writes && now.time.duration_since(kept.moment.time) < self.validity
    }

    /// The row of an object, if it still counts.
    pub(crate) fn find(&self, target: &Target, now: Moment) -> Option<Found> {
        if self.validity.is_zero() {
            return None;
        }
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.get(target).filter(|kept| self.is_valid(kept, now)).map(|kept| kept.found.clone())
    }

    /// Keeps a row that was read by a statement after this moment.
    pub(crate) fn keep(&self, target: &Target, found: &Found, moment: Moment) {
        if self.validity.is_zero() || found.document.to_string().len() > MAXIMUM_SIZE {
            return;
        }
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.len() >= MAXIMUM_ROWS && !rows.contains_key(target) {
            rows.retain(|_, kept| self.is_valid(kept, moment));
            if rows.len() >= MAXIMUM_ROWS {
                rows.clear();
            }
        }
        rows.insert(target.clone(), Kept { found: found.clone(), moment });
    }

    /// Forgets an object: its file is not there any more.
    pub(crate) fn remove(&self, target: &Target) {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).remove(target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str) -> Target {
        Target { bucket: "b".to_owned(), name: name.to_owned() }
    }

    fn found(text: &str) -> Found {
        Found { document: serde_json::json!({ "name": text }), version: None }
    }

    #[test]
    fn row_counts_until_its_time_is_over_or_something_is_written() {
        let objects = PublicObjects::new(Duration::from_secs(1));
        let moment = Moment { time: Instant::now(), writes: 7 };
        objects.keep(&target("a"), &found("a"), moment);
        let later = |millis, writes| Moment { time: moment.time + Duration::from_millis(millis), writes };
        assert_eq!(objects.find(&target("a"), later(999, 7)), Some(found("a")));
        assert_eq!(objects.find(&target("a"), later(1000, 7)), None);
        assert_eq!(objects.find(&target("a"), later(1, 8)), None);
        assert_eq!(objects.find(&target("b"), later(1, 7)), None);
    }

    #[test]
    fn number_and_size_of_rows_are_bounded() {
        let objects = PublicObjects::new(Duration::from_secs(1));
        let moment = Moment { time: Instant::now(), writes: 0 };
        objects.keep(&target("large"), &found(&"x".repeat(MAXIMUM_SIZE)), moment);
        assert_eq!(objects.find(&target("large"), moment), None);
        for number in 0..=MAXIMUM_ROWS {
            objects.keep(&target(&number.to_string()), &found("a"), moment);
        }
        assert_eq!(objects.rows.lock().unwrap().len(), 1);
    }
}
