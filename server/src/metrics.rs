//! Figures for Prometheus, on a port of their own.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use gotrue_rs::ports::mail::outbox::Outbox;
use gotrue_rs::store::outbox::OutboxState;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::front::class_of;

const REQUESTS: &str = "basalt_requests_total";
const DURATION: &str = "basalt_request_duration_seconds";
const MAILS: &str = "basalt_mails";
const BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// Starts collecting. Without this call counting costs nothing.
pub fn collect() -> anyhow::Result<PrometheusHandle> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full(DURATION.to_owned()), &BUCKETS)?
        .install_recorder()?;
    describe_counter!(REQUESTS, "Requests answered, by area and class of status");
    describe_gauge!(MAILS, "Mails in the outbox, by what became of them so far");
    describe_histogram!(DURATION, "Time from the request's head to the answer's, by area");
    Ok(handle)
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float, and exact far beyond any number of mails")]
fn count(OutboxState { waiting, retrying, failed, sent }: OutboxState) {
    for (name, number) in [("waiting", waiting), ("retrying", retrying), ("failed", failed), ("sent", sent)] {
        gauge!(MAILS, "state" => name).set(number as f64);
    }
}

/// Counts an answer.
pub fn answered(area: &'static str, status: StatusCode, duration: Duration) {
    counter!(REQUESTS, "area" => area, "status" => class_of(status)).increment(1);
    histogram!(DURATION, "area" => area).record(duration.as_secs_f64());
}

/// `/metrics`, and nothing else. Mails are counted when somebody asks.
pub async fn page(handle: &PrometheusHandle, outbox: Option<&Outbox>, path: &str) -> Response {
    if path != "/metrics" {
        let mut response = Response::new(Body::from("figures are at /metrics\n"));
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    }
    if let Some(outbox) = outbox {
        match outbox.state().await {
            Ok(state) => count(state),
            Err(error) => tracing::warn!(%error, "mails cannot be counted"),
        }
    }
    handle.run_upkeep();
    let mut response = Response::new(Body::from(handle.render()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4"));
    response
}
