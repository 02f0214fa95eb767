//! Requests of the OpenTelemetry protocol: spans and metrics, as protobuf or JSON.
//!
//! The messages are those of [opentelemetry-proto](https://github.com/open-telemetry/opentelemetry-proto) 1.x.

mod message;
mod metrics;
mod parts;
mod spans;

pub use self::message::OtlpMessage;
pub use self::metrics::{MetricPeriod, build_metrics_request};
pub use self::spans::build_traces_request;

/// The encoding of a request (`OTEL_EXPORTER_OTLP_PROTOCOL`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OtlpProtocol {
    /// `http/protobuf`.
    #[default]
    HttpProtobuf,
    /// `http/json`.
    HttpJson,
}

impl OtlpProtocol {
    /// Returns the `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::HttpProtobuf => "application/x-protobuf",
            Self::HttpJson => "application/json",
        }
    }

    /// Encodes a request.
    pub fn encode(self, message: &OtlpMessage) -> Vec<u8> {
        match self {
            Self::HttpProtobuf => message.to_protobuf(),
            Self::HttpJson => message.to_json().into_bytes(),
        }
    }
}
