//! Counters, gauges and histograms with a bounded number of label values.
//!
//! Every metric is a static of [`crate::catalog`]. Values of labels come from tables of the program; a value beyond the
//! maximum number of series is counted as [`OTHER`].

mod exposition;
mod sample;
mod series;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

pub use self::exposition::format_text;
pub use self::sample::{HistogramValue, Metric, MetricDescription, MetricKind, OTHER, Sample, SampleValue};
use self::series::SeriesMap;

/// The maximum number of bounds of a histogram.
const MAX_BOUNDS: usize = 14;
const NANOS_PER_SECOND: f64 = 1e9;

/// Records counted under other label values because a metric has too many series.
pub static LIMITED_SERIES: Counter = Counter::new(
    "basalt_metrics_limited_series_total",
    "Records counted under other label values because a metric has too many series",
    &["metric"],
);

static ENABLED: AtomicBool = AtomicBool::new(false);

/// Starts recording; before this every record is dropped.
pub fn enable() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// Whether metrics are recorded.
pub fn is_enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// Counts a record in the series of the other values.
fn count_limited(is_limited: bool, description: &MetricDescription) {
    if is_limited {
        LIMITED_SERIES.increment(&[description.name]);
    }
}

/// A number of events.
pub struct Counter {
    description: MetricDescription,
    series: SeriesMap<AtomicU64>,
}

impl Counter {
    /// Creates a counter; without labels it starts as zero.
    pub const fn new(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Self {
        let description = MetricDescription { name, help, kind: MetricKind::Counter, labels };
        Self { description, series: SeriesMap::new() }
    }

    /// Adds a number of events; `values` are those of the labels.
    pub fn add(&self, values: &[&str], events: u64) {
        if is_enabled() {
            let change = |count: &AtomicU64| count.fetch_add(events, Ordering::Relaxed);
            let is_limited = self.series.with(&self.description, values, change);
            count_limited(is_limited, &self.description);
        }
    }

    /// Adds one event.
    pub fn increment(&self, values: &[&str]) {
        self.add(values, 1);
    }
}

impl Metric for Counter {
    fn description(&self) -> &MetricDescription {
        &self.description
    }

    #[expect(clippy::cast_precision_loss, reason = "exact far beyond any number of events")]
    fn samples(&self) -> Vec<Sample> {
        self.series.map(&self.description, |count| SampleValue::Number(count.load(Ordering::Relaxed) as f64))
    }
}

/// A value that is read or computed elsewhere.
pub struct Gauge {
    description: MetricDescription,
    series: SeriesMap<AtomicU64>,
}

impl Gauge {
    /// Creates a gauge.
    pub const fn new(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Self {
        let description = MetricDescription { name, help, kind: MetricKind::Gauge, labels };
        Self { description, series: SeriesMap::new() }
    }

    /// Creates a counter that the operating system or a library keeps.
    pub const fn external_counter(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Self {
        let description = MetricDescription { name, help, kind: MetricKind::Counter, labels };
        Self { description, series: SeriesMap::new() }
    }

    /// Sets the value; `values` are those of the labels.
    pub fn set(&self, values: &[&str], value: f64) {
        if is_enabled() {
            let change = |bits: &AtomicU64| bits.store(value.to_bits(), Ordering::Relaxed);
            let is_limited = self.series.with(&self.description, values, change);
            count_limited(is_limited, &self.description);
        }
    }
}

impl Metric for Gauge {
    fn description(&self) -> &MetricDescription {
        &self.description
    }

    fn samples(&self) -> Vec<Sample> {
        let value = |bits: &AtomicU64| SampleValue::Number(f64::from_bits(bits.load(Ordering::Relaxed)));
        self.series.map(&self.description, value)
    }
}

/// Durations, counted by upper bound in seconds.
pub struct Histogram {
    description: MetricDescription,
    bounds: &'static [f64],
    series: SeriesMap<HistogramCell>,
}

/// The counts of one series.
#[derive(Default)]
struct HistogramCell {
    counts: [AtomicU64; MAX_BOUNDS + 1],
    sum_nanos: AtomicU64,
}

impl Histogram {
    /// Creates a histogram.
    ///
    /// # Panics
    /// At compile time, if there are more bounds than counts.
    pub const fn new(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        bounds: &'static [f64],
    ) -> Self {
        assert!(bounds.len() <= MAX_BOUNDS, "a histogram has too many bounds");
        let description = MetricDescription { name, help, kind: MetricKind::Histogram, labels };
        Self { description, bounds, series: SeriesMap::new() }
    }

    /// Records a duration; `values` are those of the labels.
    pub fn record(&self, values: &[&str], duration: Duration) {
        if !is_enabled() {
            return;
        }
        let seconds = duration.as_secs_f64();
        let index = self.bounds.iter().position(|bound| seconds <= *bound).unwrap_or(self.bounds.len());
        let is_limited = self.series.with(&self.description, values, |cell| {
            cell.counts[index].fetch_add(1, Ordering::Relaxed);
            let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
            cell.sum_nanos.fetch_add(nanos, Ordering::Relaxed)
        });
        count_limited(is_limited, &self.description);
    }
}

impl Metric for Histogram {
    fn description(&self) -> &MetricDescription {
        &self.description
    }

    #[expect(clippy::cast_precision_loss, reason = "a sum of nanoseconds; its last digits do not matter")]
    fn samples(&self) -> Vec<Sample> {
        self.series.map(&self.description, |cell| {
            let counts = cell.counts[..=self.bounds.len()].iter().map(|count| count.load(Ordering::Relaxed)).collect();
            let sum = cell.sum_nanos.load(Ordering::Relaxed) as f64 / NANOS_PER_SECOND;
            SampleValue::Histogram(HistogramValue { bounds: self.bounds, counts, sum })
        })
    }
}
