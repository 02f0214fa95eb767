//! Prometheus metrics, on a port of their own.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use gotrue_rs::ports::mail::outbox::Outbox;
use gotrue_rs::store::outbox::OutboxCounts;
use gotrue_rules::domain::error::chain::ErrorChain;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

const REQUESTS: &str = "basalt_requests_total";
const DURATION: &str = "basalt_request_duration_seconds";
const MAILS: &str = "basalt_mails";
const BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// Installs the metrics recorder.
/// Without it, recording is a no-op.
pub(crate) fn install_recorder() -> anyhow::Result<PrometheusHandle> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full(DURATION.to_owned()), &BUCKETS)?
        .install_recorder()?;
    describe_counter!(REQUESTS, "Requests answered, by area and class of status");
    describe_gauge!(MAILS, "Mails in the outbox, by what became of them so far");
    describe_histogram!(DURATION, "Time from the request's head to the answer's, by area");
    Ok(handle)
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float, and exact far beyond any number of mails")]
fn record_outbox_state(OutboxCounts { waiting, retrying, failed, sent }: OutboxCounts) {
    for (name, number) in [("waiting", waiting), ("retrying", retrying), ("failed", failed), ("sent", sent)] {
        gauge!(MAILS, "state" => name).set(number as f64);
    }
}

/// Records a response.
pub(crate) fn record_response(area: &'static str, status: StatusCode, duration: Duration) {
    counter!(REQUESTS, "area" => area, "status" => status_class(status)).increment(1);
    histogram!(DURATION, "area" => area).record(duration.as_secs_f64());
}

/// Responds to `/metrics`; other paths are not found.
/// The outbox is counted on each request.
pub(crate) async fn respond(handle: &PrometheusHandle, outbox: Option<&Outbox>, path: &str) -> Response {
    if path != "/metrics" {
        let mut response = Response::new(Body::from("figures are at /metrics\n"));
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    }
    if let Some(outbox) = outbox {
        match outbox.count_by_state().await {
            Ok(state) => record_outbox_state(state),
            Err(error) => tracing::warn!(error = %ErrorChain(&error), "counting the outbox failed"),
        }
    }
    handle.run_upkeep();
    let mut response = Response::new(Body::from(handle.render()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4"));
    response
}

/// Returns the class of a status as a metric label.
fn status_class(status: StatusCode) -> &'static str {
    match status.as_u16() / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}
