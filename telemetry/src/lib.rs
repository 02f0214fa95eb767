//! Telemetry of the process: metrics, spans of sampled requests, and the trace context of W3C headers.
//!
//! Nothing is recorded until [`metrics::enable`] or [`tracer::install`] is called: a disabled record costs one load.

pub mod catalog;
pub mod jobs;
pub mod metrics;
pub mod otlp;
pub mod span_layer;
pub mod trace_context;
pub mod tracer;
