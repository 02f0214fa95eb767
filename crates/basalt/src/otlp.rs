//! Exports spans and metrics to an OpenTelemetry collector.
//!
//! The reasons are in `docs/decisions/0098-telemetry-without-a-library.md`. Nothing waits for an export: spans that do not fit into the queue are dropped and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use foundation::error_chain::ErrorChain;
use gotrue_rs::config::{OtlpExport, TelemetrySettings};
use http::header::CONTENT_TYPE;
use http_edge::ShutdownSignal;
use platform::clock::{Clock, SystemClock};
use platform::entropy::Entropy;
use platform::http_client::{HttpClient, ResponseLimits};
use telemetry::catalog::{self, DROPPED_SPANS, EXPORTS};
use telemetry::otlp::{MetricPeriod, OtlpMessage, build_metrics_request, build_traces_request};
use telemetry::tracer::{self, FinishedSpan, TracerOptions};
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;

use crate::metrics::MetricSources;

/// The maximum number of spans of a request.
const MAX_BATCH: usize = 512;
/// The maximum size of a collector's response.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;
/// The time limit of the last export at shutdown.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(3);
/// The name of the collector in metrics and traces.
const SERVICE: &str = "otlp_collector";

/// The export of this process, prepared before logging starts.
#[derive(Debug)]
pub(crate) struct OtlpExporter {
    settings: TelemetrySettings,
    /// The finished spans, if traces are exported.
    spans: Option<Receiver<FinishedSpan>>,
    /// The start of the process, in nanoseconds since 1970.
    started: u64,
}

/// Sends requests to a collector.
struct Collector {
    http: Arc<HttpClient>,
    resource: Vec<(String, String)>,
    signal: &'static str,
    export: OtlpExport,
    /// Whether the last request failed, which is logged once.
    is_failing: AtomicBool,
}

impl OtlpExporter {
    /// Enables metrics and installs the tracer, as far as the settings export them.
    pub(crate) fn prepare(settings: Option<&TelemetrySettings>) -> Option<Self> {
        let settings = settings?.clone();
        telemetry::metrics::enable();
        let started = unix_nanos();
        let spans = settings.traces.as_ref().and_then(|_| {
            tracer::install(TracerOptions {
                sampler: settings.sampler,
                max_queue: settings.max_queue,
                seed: u128::from_le_bytes(Entropy::from_system().bytes()),
                unix_time: Duration::from_nanos(started),
            })
        });
        Some(Self { settings, spans, started })
    }

    /// Starts the exports, which end soon after `closing` is true.
    pub(crate) fn start(
        self,
        http: Arc<HttpClient>,
        sources: MetricSources,
        closing: ShutdownSignal,
    ) -> JoinHandle<()> {
        let Self { settings, spans, started } = self;
        let TelemetrySettings { traces, metrics, resource, span_delay, metric_interval, .. } = settings;
        let collector = move |signal: &'static str, export: OtlpExport| Collector {
            http: Arc::clone(&http),
            resource: resource.clone(),
            signal,
            export,
            is_failing: AtomicBool::new(false),
        };
        let traces = traces.zip(spans).map(|(export, spans)| (collector("traces", export), spans));
        let metrics = metrics.map(|export| collector("metrics", export));
        let spans_closing = closing.clone();
        http_edge::spawn_task(async move {
            let exporting_spans = async {
                if let Some((collector, spans)) = traces {
                    tracing::info!(url = collector.export.url, "exporting traces");
                    collector.export_spans(spans, span_delay, spans_closing).await;
                }
            };
            let exporting_metrics = async {
                if let Some(collector) = metrics {
                    tracing::info!(url = collector.export.url, "exporting metrics");
                    let schedule = MetricSchedule { interval: metric_interval, started };
                    collector.export_metrics(&sources, schedule, closing).await;
                }
            };
            tokio::join!(exporting_spans, exporting_metrics);
        })
    }
}

/// When metrics are exported.
#[derive(Debug, Clone, Copy)]
struct MetricSchedule {
    interval: Duration,
    started: u64,
}

impl Collector {
    async fn export_spans(&self, mut spans: Receiver<FinishedSpan>, delay: Duration, mut closing: ShutdownSignal) {
        let mut batch = Vec::with_capacity(MAX_BATCH);
        loop {
            let pause = SystemClock.timeout(delay);
            let mut pause = std::pin::pin!(pause);
            let is_closing = loop {
                if batch.len() >= MAX_BATCH {
                    break false;
                }
                let room = MAX_BATCH - batch.len();
                tokio::select! {
                    received = spans.recv_many(&mut batch, room) => if received == 0 { break true },
                    () = pause.as_mut() => break false,
                    _ = closing.wait_for(|closing| *closing) => break true,
                }
            };
            if is_closing {
                // What the last requests record is exported, too.
                while batch.len() < MAX_BATCH
                    && let Ok(span) = spans.try_recv()
                {
                    batch.push(span);
                }
                let sending = self.send_spans(&mut batch);
                tokio::select! { () = sending => {}, () = SystemClock.timeout(SHUTDOWN_LIMIT) => {} }
                return;
            }
            self.send_spans(&mut batch).await;
        }
    }

    async fn send_spans(&self, batch: &mut Vec<FinishedSpan>) {
        if batch.is_empty() {
            return;
        }
        let request = build_traces_request(&self.resource, batch);
        let spans = batch.len() as u64;
        batch.clear();
        if !self.send(&request).await {
            DROPPED_SPANS.add(&["export_failed"], spans);
        }
    }

    async fn export_metrics(&self, sources: &MetricSources, schedule: MetricSchedule, mut closing: ShutdownSignal) {
        loop {
            let is_closing = tokio::select! {
                () = SystemClock.timeout(schedule.interval) => false,
                _ = closing.wait_for(|closing| *closing) => true,
            };
            let exporting = async {
                sources.collect().await;
                let period = MetricPeriod { started: schedule.started, now: unix_nanos() };
                self.send(&build_metrics_request(&self.resource, catalog::ALL, period)).await;
            };
            let limit = if is_closing { SHUTDOWN_LIMIT } else { self.export.timeout * 2 };
            tokio::select! { () = exporting => {}, () = SystemClock.timeout(limit) => {} }
            if is_closing {
                return;
            }
        }
    }

    /// Sends a request; returns whether the collector accepted it.
    ///
    /// The first failure and the first success after one are logged.
    async fn send(&self, message: &OtlpMessage) -> bool {
        let outcome = self.post(message).await;
        EXPORTS.increment(&[self.signal, if outcome.is_ok() { "ok" } else { "failed" }]);
        let was_failing = self.is_failing.swap(outcome.is_err(), Ordering::Relaxed);
        match &outcome {
            Err(error) if !was_failing => {
                let error = format!("{error:#}");
                tracing::warn!(
                    signal = self.signal,
                    url = self.export.url,
                    error,
                    "telemetry export failed, data is dropped until the collector responds"
                );
            }
            Ok(()) if was_failing => tracing::info!(signal = self.signal, "telemetry export works again"),
            _ => {}
        }
        outcome.is_ok()
    }

    async fn post(&self, message: &OtlpMessage) -> anyhow::Result<()> {
        let OtlpExport { url, headers, protocol, timeout } = &self.export;
        let mut request = self.http.get_trusted_client()?.post(url).header(CONTENT_TYPE, protocol.content_type());
        for (name, value) in headers {
            request = request.header(name, value.reveal());
        }
        let request = request.body(protocol.encode(message)).build()?;
        let limits = ResponseLimits { bytes: MAX_RESPONSE_BYTES, time: *timeout };
        let response = self.http.send_trusted(SERVICE, request, limits).await;
        let response = response.map_err(|error| anyhow::Error::msg(ErrorChain(&error).to_string()))?;
        anyhow::ensure!((200..300).contains(&response.status), "the collector returned status {}", response.status);
        Ok(())
    }
}

/// Returns the time in nanoseconds since 1970.
fn unix_nanos() -> u64 {
    SystemClock.now().timestamp_nanos_opt().and_then(|nanos| u64::try_from(nanos).ok()).unwrap_or_default()
}
