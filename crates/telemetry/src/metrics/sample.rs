//! Metrics as exporters read them: descriptions and samples.

/// The label value in place of one that is not known or exceeds the maximum number of series.
pub const OTHER: &str = "other";

/// How the values of a metric develop, as Prometheus and OTLP name it.
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
    pub name: &'static str,
    /// What it measures.
    pub help: &'static str,
    pub kind: MetricKind,
    /// The names of the labels.
    pub labels: &'static [&'static str],
}

/// One value of a metric with the values of its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The values of the labels, in their order.
    pub labels: Vec<String>,
    pub value: SampleValue,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SampleValue {
    Number(f64),
    Histogram(HistogramValue),
}

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
