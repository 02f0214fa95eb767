//! Measurements: latencies per request kind, and errors by reason.

use crate::work::Kind;
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Default)]
pub struct Report {
    kinds: BTreeMap<Kind, Histogram<u64>>,
    errors: BTreeMap<String, u64>,
    pub elapsed: Duration,
}

impl Report {
    /// A response with a wrong status also counts as a latency.
    pub fn answer(&mut self, kind: Kind, took: Duration, wrong: Option<String>) {
        let histogram = self.kinds.entry(kind).or_insert_with(empty);
        histogram.saturating_record(took.as_micros() as u64);
        if let Some(reason) = wrong {
            *self.errors.entry(reason).or_default() += 1;
        }
    }

    pub fn merge(&mut self, other: Report) {
        for (kind, histogram) in other.kinds {
            self.kinds.entry(kind).or_insert_with(empty).add(histogram).unwrap();
        }
        for (reason, count) in other.errors {
            *self.errors.entry(reason).or_default() += count;
        }
    }

    pub fn json(&self) -> Value {
        let mut all = empty();
        self.kinds.values().for_each(|h| all.add(h).unwrap());
        let mut out = figures(&all);
        out["seconds"] = json!(round(self.elapsed.as_secs_f64()));
        let errors: u64 = self.errors.values().sum();
        out["rps"] = json!(round((all.len() - errors) as f64 / self.elapsed.as_secs_f64()));
        out["errors"] = json!(errors);
        out["error_reasons"] = json!(self.errors);
        if self.kinds.len() > 1 {
            let kinds = self.kinds.iter().map(|(kind, h)| (format!("{kind:?}"), figures(h)));
            out["kinds"] = Value::Object(kinds.collect());
        }
        out
    }
}

fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).unwrap()
}

fn figures(h: &Histogram<u64>) -> Value {
    let ms = |us: u64| round(us as f64 / 1000.0);
    let at = |q| ms(h.value_at_quantile(q));
    json!({"requests": h.len(), "p50_ms": at(0.5), "p90_ms": at(0.9), "p99_ms": at(0.99),
           "p99.9_ms": at(0.999), "max_ms": ms(h.max())})
}

fn round(x: f64) -> f64 {
    (x * 1000.0).round() / 1000.0
}
