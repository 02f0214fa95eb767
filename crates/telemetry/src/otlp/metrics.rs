//! `ExportMetricsServiceRequest`.

use super::message::{FieldValue, OtlpMessage};
use super::parts::{build_attribute, build_resource, build_scope};
use crate::metrics::{HistogramValue, Metric, MetricDescription, MetricKind, Sample, SampleValue};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u32 = 2;

/// The period of cumulative values, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub struct MetricPeriod {
    /// The start of the process.
    pub started: u64,
    /// The time of this export.
    pub now: u64,
}

/// Builds the request that exports metrics of a process with these resource attributes.
pub fn build_metrics_request(
    resource: &[(String, String)],
    metrics: &[&dyn Metric],
    period: MetricPeriod,
) -> OtlpMessage {
    let metrics = metrics.iter().filter_map(|metric| build_metric(*metric, period)).collect();
    let of_scope = OtlpMessage::default().with(1, "scope", FieldValue::Message(build_scope())).with(
        2,
        "metrics",
        FieldValue::Messages(metrics),
    );
    let of_resource = OtlpMessage::default().with(1, "resource", FieldValue::Message(build_resource(resource))).with(
        2,
        "scopeMetrics",
        FieldValue::Messages(vec![of_scope]),
    );
    OtlpMessage::default().with(1, "resourceMetrics", FieldValue::Messages(vec![of_resource]))
}

/// Builds `Metric`; `None` without values.
fn build_metric(metric: &dyn Metric, period: MetricPeriod) -> Option<OtlpMessage> {
    let description = metric.description();
    let samples = metric.samples();
    if samples.is_empty() {
        return None;
    }
    let points = samples.iter().map(|sample| build_point(description, sample, period)).collect();
    let mut data = OtlpMessage::default().with(1, "dataPoints", FieldValue::Messages(points));
    let (number, name) = match description.kind {
        MetricKind::Gauge => (5, "gauge"),
        MetricKind::Counter => {
            data = data.with(2, "aggregationTemporality", FieldValue::Enumeration(CUMULATIVE)).with(
                3,
                "isMonotonic",
                FieldValue::Bool(true),
            );
            (7, "sum")
        }
        MetricKind::Histogram => {
            data = data.with(2, "aggregationTemporality", FieldValue::Enumeration(CUMULATIVE));
            (9, "histogram")
        }
    };
    let message = OtlpMessage::default()
        .with(1, "name", FieldValue::Text(description.name.to_owned()))
        .with(2, "description", FieldValue::Text(description.help.to_owned()))
        .with(3, "unit", FieldValue::Text(unit(description.name).to_owned()))
        .with(number, name, FieldValue::Message(data));
    Some(message)
}

/// The unit in UCUM, by the end of the name.
fn unit(name: &str) -> &'static str {
    let name = name.trim_end_matches("_total");
    if name.ends_with("_seconds") {
        "s"
    } else if name.ends_with("_bytes") {
        "By"
    } else {
        "1"
    }
}

/// Builds `NumberDataPoint` or `HistogramDataPoint`.
fn build_point(description: &MetricDescription, sample: &Sample, period: MetricPeriod) -> OtlpMessage {
    let labels = description.labels.iter().zip(&sample.labels);
    let attributes: Vec<OtlpMessage> =
        labels.map(|(name, value)| build_attribute(name, FieldValue::Text(value.clone()))).collect();
    let point = OtlpMessage::default().with(2, "startTimeUnixNano", FieldValue::Fixed64(period.started)).with(
        3,
        "timeUnixNano",
        FieldValue::Fixed64(period.now),
    );
    match &sample.value {
        SampleValue::Number(value) => point.with(4, "asDouble", FieldValue::Double(*value)).with(
            7,
            "attributes",
            FieldValue::Messages(attributes),
        ),
        SampleValue::Histogram(HistogramValue { bounds, counts, sum }) => point
            .with(4, "count", FieldValue::Fixed64(counts.iter().sum()))
            .with(5, "sum", FieldValue::Double(*sum))
            .with(6, "bucketCounts", FieldValue::Fixed64List(counts.clone()))
            .with(7, "explicitBounds", FieldValue::DoubleList(bounds.to_vec()))
            .with(9, "attributes", FieldValue::Messages(attributes)),
    }
}
