//! The text format of Prometheus, version 0.0.4.

use std::fmt::Write as _;

use super::sample::{HistogramValue, Metric, MetricDescription, MetricKind, SampleValue};

/// Formats metrics with their descriptions and values.
pub fn format_text(metrics: &[&dyn Metric]) -> String {
    let mut text = String::with_capacity(16 * 1024);
    for metric in metrics {
        let description = metric.description();
        let MetricDescription { name, help, kind, .. } = description;
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        // Writing into memory does not fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for sample in metric.samples() {
            let labels = format_labels(description.labels, &sample.labels);
            match &sample.value {
                SampleValue::Number(number) => {
                    let _ = writeln!(text, "{name}{} {number}", enclose(&labels));
                }
                SampleValue::Histogram(value) => write_histogram(&mut text, name, &labels, value),
            }
        }
    }
    text
}

fn write_histogram(text: &mut String, name: &str, labels: &str, value: &HistogramValue) {
    let separator = if labels.is_empty() { "" } else { "," };
    let mut count = 0;
    for (index, number) in value.counts.iter().enumerate() {
        count += number;
        let bound = value.bounds.get(index).map_or_else(|| "+Inf".to_owned(), ToString::to_string);
        let _ = writeln!(text, "{name}_bucket{{{labels}{separator}le=\"{bound}\"}} {count}");
    }
    let enclosed = enclose(labels);
    let _ = writeln!(text, "{name}_sum{enclosed} {}\n{name}_count{enclosed} {count}", value.sum);
}

fn format_labels(names: &[&str], values: &[String]) -> String {
    let label = |(name, value): (&&str, &String)| format!("{name}=\"{}\"", escape(value));
    names.iter().zip(values).map(label).collect::<Vec<_>>().join(",")
}

fn enclose(labels: &str) -> String {
    if labels.is_empty() { String::new() } else { format!("{{{labels}}}") }
}

/// Escapes a label value; control characters were replaced when it was recorded.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"")
}
