//! Counters, gauges and histograms with a bounded number of label values.
//!
//! Every metric is a static of [`crate::catalog`]. Values of labels come from tables of the program; a value beyond the
//! maximum number of series is counted as [`OTHER`].

mod exposition;
mod series;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

pub use self::exposition::format_text;
use self::series::SeriesMap;

/// The label value in place of one that is not known or exceeds the maximum number of series.
pub const OTHER: &str = "other";

/// The maximum number of bounds of a histogram.
const MAX_BOUNDS: usize = 14;
const NANOS_PER_SECOND: f64 = 1e9;

static ENABLED: AtomicBool = AtomicBool::new(false);

/// Starts recording; before this every record is dropped.
pub fn enable() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// Whether metrics are recorded.
pub fn is_enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Only increases.
    Counter,
    /// Increases and decreases.
    Gauge,
    /// Counts by upper bound.
    Histogram,
}

/// Name, description and labels of a metric.
#[derive(Debug)]
pub struct MetricDescription {
    /// The name.
    pub name: &'static str,
    /// What it measures.
    pub help: &'static str,
    /// The kind.
    pub kind: MetricKind,
    /// The names of the labels.
    pub labels: &'static [&'static str],
}

/// One value of a metric with the values of its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The values of the labels, in their order.
    pub labels: Vec<String>,
    /// The value.
    pub value: SampleValue,
}

/// The value of a sample.
#[derive(Debug, Clone, PartialEq)]
pub enum SampleValue {
    /// A number.
    Number(f64),
    /// A histogram.
    Histogram(HistogramValue),
}

/// The value of a histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramValue {
    /// The upper bounds, inclusive.
    pub bounds: &'static [f64],
    /// The number of values by bound, and of those above the last bound; not cumulative.
    pub counts: Vec<u64>,
    /// The sum of the values.
    pub sum: f64,
}

/// A metric as exporters read it.
pub trait Metric: Sync {
    /// Returns name, description and labels.
    fn description(&self) -> &MetricDescription;

    /// Returns all current values.
    fn samples(&self) -> Vec<Sample>;
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
            self.series.with(&self.description, values, |count| count.fetch_add(events, Ordering::Relaxed));
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
            self.series.with(&self.description, values, |bits| bits.store(value.to_bits(), Ordering::Relaxed));
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
        self.series.with(&self.description, values, |cell| {
            cell.counts[index].fetch_add(1, Ordering::Relaxed);
            let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
            cell.sum_nanos.fetch_add(nanos, Ordering::Relaxed)
        });
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
