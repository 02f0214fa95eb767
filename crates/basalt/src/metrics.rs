//! Prometheus metrics, on a port of their own, and what is read for them when they are collected.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use foundation::error_chain::ErrorChain;
use gotrue_rs::http::request_labels::RequestLabels;
use gotrue_rs::ports::hashing::HashingPool;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};
use platform::clock::{Clock, SystemClock};
use platform::mail::outbox::Outbox;
use platform::store::Pool;
use storage_rs::storage::Storage;
use telemetry::catalog;
use telemetry::metrics::{OTHER, format_text, is_enabled};

/// The time limit of counting the outbox; a slower database leaves the numbers of the last count.
const COLLECTION_LIMIT: Duration = Duration::from_secs(2);
/// The unit of CPU time in `/proc` (`USER_HZ`), per second.
const CLOCK_TICKS: f64 = 100.0;
const BYTES_PER_KIB: f64 = 1024.0;

/// What is read when metrics are collected.
#[derive(Debug, Clone)]
pub(crate) struct MetricSources {
    /// The database connections.
    pub pool: Pool,
    /// The threads for hashing.
    pub hashing: Arc<HashingPool>,
    /// The queue of e-mail messages, if there is one.
    pub outbox: Option<Arc<Outbox>>,
    /// The storage API, if it is served.
    pub storage: Option<Arc<Storage>>,
}

impl MetricSources {
    /// Sets the metrics that are not recorded when something happens.
    pub(crate) async fn collect(&self) {
        catalog::BUILD_INFO.set(&[env!("CARGO_PKG_VERSION")], 1.0);
        self.pool.export_metrics();
        self.hashing.export_metrics();
        export_runtime();
        export_process();
        if let Some(storage) = &self.storage {
            export_space(storage).await;
        }
        let Some(outbox) = &self.outbox else { return };
        tokio::select! {
            counted = outbox.export_metrics() => if let Err(error) = counted {
                tracing::warn!(error = %ErrorChain(&error), "counting the outbox failed");
            },
            () = SystemClock.timeout(COLLECTION_LIMIT) => tracing::warn!("counting the outbox took too long"),
        }
    }
}

/// Sets the space for stored files; a bucket at another server has no limit that it tells.
#[expect(clippy::cast_precision_loss, reason = "bytes of a file system")]
async fn export_space(storage: &Storage) {
    tokio::select! {
        space = storage.backend().space() => match space {
            Ok(Some(space)) => {
                catalog::STORAGE_SPACE.set(&["total"], space.total as f64);
                catalog::STORAGE_SPACE.set(&["available"], space.available as f64);
                for (kind, bytes) in [("used", space.used), ("quota", space.quota)] {
                    if let Some(bytes) = bytes {
                        catalog::STORAGE_SPACE.set(&[kind], bytes as f64);
                    }
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(error = %ErrorChain(&error), "reading the space for stored files failed"),
        },
        () = SystemClock.timeout(COLLECTION_LIMIT) => tracing::warn!("reading the space for stored files took too long"),
    }
}

pub(crate) fn record_response(area: &'static str, method: &Method, response: &Response, duration: Duration) {
    if !is_enabled() {
        return;
    }
    let labels = response.extensions().get::<RequestLabels>();
    let route = labels.and_then(|labels| labels.route.as_deref()).unwrap_or(OTHER);
    let code = labels.and_then(|labels| labels.code).unwrap_or_default();
    let method = method_label(method);
    catalog::HTTP_REQUESTS.increment(&[area, route, method, status_class(response.status()), code]);
    catalog::HTTP_DURATION.record(&[area, route, method], duration);
}

/// Responds to `/metrics`; other paths are not found.
pub(crate) async fn respond(sources: &MetricSources, path: &str) -> Response {
    if path != "/metrics" {
        let mut response = Response::new(Body::from("metrics are at /metrics\n"));
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    }
    sources.collect().await;
    let mut response = Response::new(Body::from(format_text(catalog::ALL)));
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

/// Returns a standard method as a metric label.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => OTHER,
    }
}

/// Sets the metrics of the runtime's threads and tasks.
#[expect(clippy::cast_precision_loss, reason = "numbers of threads and tasks")]
fn export_runtime() {
    let runtime = tokio::runtime::Handle::current().metrics();
    let workers = runtime.num_workers();
    catalog::TOKIO_WORKERS.set(&[], workers as f64);
    catalog::TOKIO_TASKS.set(&[], runtime.num_alive_tasks() as f64);
    catalog::TOKIO_QUEUE.set(&[], runtime.global_queue_depth() as f64);
    let busy: Duration = (0..workers).map(|worker| runtime.worker_total_busy_duration(worker)).sum();
    catalog::TOKIO_BUSY.set(&[], busy.as_secs_f64());
}

/// Sets the metrics of the process from `/proc`; without it they are absent.
#[expect(clippy::cast_precision_loss, reason = "a number of files")]
fn export_process() {
    if let Ok(status) = fs::read_to_string("/proc/self/status") {
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<f64>().ok()
        };
        if let Some(kib) = number("VmRSS:") {
            catalog::PROCESS_MEMORY.set(&[], kib * BYTES_PER_KIB);
        }
        if let Some(threads) = number("Threads:") {
            catalog::PROCESS_THREADS.set(&[], threads);
        }
    }
    if let Some(seconds) = fs::read_to_string("/proc/self/stat").ok().and_then(|stat| parse_cpu_seconds(&stat)) {
        catalog::PROCESS_CPU.set(&[], seconds);
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        catalog::PROCESS_FILES.set(&[], files.count() as f64);
    }
}

/// Parses `utime` and `stime`, the 14th and 15th field; the second one is a name in parentheses.
fn parse_cpu_seconds(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / CLOCK_TICKS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cpu_time_is_user_and_system_time() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 4 0 100 1 1";
        assert_eq!(parse_cpu_seconds(stat), Some(3.0));
    }

    proptest! {
        #[test]
        fn malformed_process_statistics_are_no_time(stat in ".{0,60}") {
            prop_assert!(parse_cpu_seconds(&stat).is_none_or(|seconds| !seconds.is_nan()));
        }
    }
}
