//! Telemetry of the process: metrics, spans of sampled requests, trace context, limits of log lines.
//!
//! Nothing is recorded until [`metrics::enable`] or [`tracer::install`] is called: a disabled record costs one load.

pub mod catalog;
pub mod jobs;
pub mod log_limit;
pub mod metrics;
pub mod otlp;
pub mod span_layer;
pub mod trace_context;
pub mod tracer;
