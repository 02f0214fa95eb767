//! The export of traces and metrics: settings before and after validation.

use std::time::Duration;

use foundation::secret::Secret;
use telemetry::otlp::OtlpProtocol;
use telemetry::tracer::Sampler;

/// The export of traces and metrics by OTLP.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetrySettings {
    /// Where traces are sent; `None` if they are not exported.
    pub traces: Option<OtlpExport>,
    /// Where metrics are sent; `None` if they are not exported.
    pub metrics: Option<OtlpExport>,
    /// The attributes of the resource, `service.name` first.
    pub resource: Vec<(String, String)>,
    /// Which traces are sampled.
    pub sampler: Sampler,
    /// The maximum number of spans that wait for export. Default 2048.
    pub max_queue: usize,
    /// The interval of exports of spans. Default 5 s.
    pub span_delay: Duration,
    /// The interval of exports of metrics. Default 60 s.
    pub metric_interval: Duration,
}

/// The destination of one kind of data.
#[derive(Debug, Clone, PartialEq)]
pub struct OtlpExport {
    pub url: String,
    /// Additional headers, which may contain keys.
    pub headers: Vec<(String, Secret)>,
    /// The encoding.
    pub protocol: OtlpProtocol,
    /// The time limit of a request.
    pub timeout: Duration,
}

/// The settings of the export before validation; empty for the default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TelemetryDraft {
    /// Whether traces are exported.
    pub has_traces: bool,
    /// Whether metrics are exported.
    pub has_metrics: bool,
    /// Whether nothing is exported.
    pub is_disabled: bool,
    /// The exporter of traces.
    pub tracing_exporter: String,
    /// The URL of the collector.
    pub endpoint: String,
    /// The headers of all requests.
    pub headers: Secret,
    /// The encoding of all requests.
    pub protocol: String,
    /// The settings of traces.
    pub traces: SignalDraft,
    /// The settings of metrics.
    pub metrics: SignalDraft,
    /// The time limit in milliseconds; zero for the default.
    pub timeout: u64,
    pub service_name: String,
    pub resource_attributes: String,
    /// The name of the sampler.
    pub sampler: String,
    /// The ratio of the sampler.
    pub sampler_argument: String,
    /// The maximum number of spans that wait for export; zero for the default.
    pub max_queue: u64,
    /// The interval of exports of spans in milliseconds; zero for the default.
    pub span_delay: u64,
    /// The interval of exports of metrics in milliseconds; zero for the default.
    pub metric_interval: u64,
}

/// The settings of traces or metrics before validation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SignalDraft {
    /// `otlp` or `none`.
    pub exporter: String,
    /// The URL.
    pub endpoint: String,
    pub headers: Secret,
    /// The encoding.
    pub protocol: String,
}

impl TelemetryDraft {
    /// Enables what has an endpoint.
    pub fn enable_by_endpoint(&mut self) {
        self.has_traces = !self.endpoint.is_empty() || !self.traces.endpoint.is_empty();
        self.has_metrics = !self.endpoint.is_empty() || !self.metrics.endpoint.is_empty();
    }
}
