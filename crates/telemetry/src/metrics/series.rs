//! The series of a metric: one cell for each combination of label values, up to a maximum number.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::sample::{MetricDescription, OTHER, Sample, SampleValue};

/// The maximum number of series of one metric.
const MAX_SERIES: usize = 2000;
/// The maximum length of a label value in bytes.
const MAX_VALUE_BYTES: usize = 80;
/// Separates the values in a key; no value contains it.
const SEPARATOR: char = '\u{1f}';

thread_local! {
    static KEY: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The cells of a metric by the values of its labels.
pub(super) struct SeriesMap<T>(RwLock<BTreeMap<Box<str>, Arc<T>>>);

impl<T: Default> SeriesMap<T> {
    pub(super) const fn new() -> Self {
        Self(RwLock::new(BTreeMap::new()))
    }

    /// Changes the cell of these values, which is created if it is new.
    ///
    /// Returns whether there are too many cells, so that the cell of the other values was changed.
    pub(super) fn with<R>(
        &self,
        description: &MetricDescription,
        values: &[&str],
        change: impl FnOnce(&T) -> R,
    ) -> bool {
        debug_assert_eq!(values.len(), description.labels.len(), "{}", description.name);
        KEY.with_borrow_mut(|key| {
            write_key(key, values);
            if let Some(cell) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(key.as_str()) {
                change(cell);
                return false;
            }
            let (cell, is_limited) = self.insert(description, key);
            change(&cell);
            is_limited
        })
    }

    /// Returns the cell of a key, or that of the other values if there are too many; then also true.
    fn insert(&self, description: &MetricDescription, key: &mut String) -> (Arc<T>, bool) {
        let mut cells = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let is_limited = cells.len() >= MAX_SERIES && !cells.contains_key(key.as_str());
        if is_limited {
            write_key(key, &vec![OTHER; description.labels.len()]);
        }
        (Arc::clone(cells.entry(key.as_str().into()).or_default()), is_limited)
    }

    /// Returns the samples of all cells; a metric without labels always has one.
    pub(super) fn map(&self, description: &MetricDescription, value: impl Fn(&T) -> SampleValue) -> Vec<Sample> {
        let cells = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if cells.is_empty() && description.labels.is_empty() {
            return vec![Sample { labels: Vec::new(), value: value(&T::default()) }];
        }
        let labels = |key: &str| {
            if description.labels.is_empty() {
                return Vec::new();
            }
            key.split(SEPARATOR).map(str::to_owned).collect()
        };
        cells.iter().map(|(key, cell)| Sample { labels: labels(key), value: value(cell) }).collect()
    }
}

/// Joins the values, without control characters and cut at their maximum length.
fn write_key(key: &mut String, values: &[&str]) {
    key.clear();
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            key.push(SEPARATOR);
        }
        let end = value.floor_char_boundary(MAX_VALUE_BYTES);
        key.extend(value[..end].chars().map(|character| if character.is_control() { '_' } else { character }));
    }
}
