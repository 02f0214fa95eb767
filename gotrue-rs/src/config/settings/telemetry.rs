//! Export of traces and metrics by OTLP: the variables of OpenTelemetry SDKs.

use super::rows::{Section, natural, secret, switch, text};

pub(super) const SECTION: Section = Section {
    title: "Traces and metrics by OTLP",
    intro: "Traces are exported if `GOTRUE_TRACING_ENABLED` is true, metrics if `GOTRUE_METRICS_ENABLED` is true and \
            `GOTRUE_METRICS_EXPORTER` is `opentelemetry`. `basalt serve` reads the variables `OTEL_…` too, and exports \
            both if an endpoint is set. Names and meanings are those of the \
            [OpenTelemetry specification](https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).",
    rows: &[
        switch("GOTRUE_TRACING_ENABLED", |d, _, v| d.telemetry.has_traces = v)
            .default("false")
            .doc("Spans of requests are exported.", "true"),
        text("GOTRUE_TRACING_EXPORTER", |d, _, v| d.telemetry.tracing_exporter = v)
            .default("opentelemetry")
            .doc("Exporter of traces: only `opentelemetry`.", "opentelemetry"),
        switch("OTEL_SDK_DISABLED", |d, _, v| d.telemetry.is_disabled = v)
            .default("false")
            .doc("Nothing is exported.", "false")
            .shared(),
        text("OTEL_TRACES_EXPORTER", |d, _, v| d.telemetry.traces.exporter = v)
            .default("otlp")
            .doc("`otlp`, or `none` to export no traces.", "otlp"),
        text("OTEL_METRICS_EXPORTER", |d, _, v| d.telemetry.metrics.exporter = v)
            .default("otlp")
            .doc("`otlp`, or `none` to export no metrics.", "otlp"),
        text("OTEL_EXPORTER_OTLP_ENDPOINT", |d, _, v| d.telemetry.endpoint = v)
            .default("http://localhost:4318")
            .doc("URL of the collector; `/v1/traces` and `/v1/metrics` are appended.", "http://collector:4318"),
        text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", |d, _, v| d.telemetry.traces.endpoint = v)
            .doc("URL that traces are sent to, used as it is.", "http://traces:4318/v1/traces"),
        text("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", |d, _, v| d.telemetry.metrics.endpoint = v)
            .doc("URL that metrics are sent to, used as it is.", "http://metrics:4318/v1/metrics"),
        secret("OTEL_EXPORTER_OTLP_HEADERS", |d, _, v| d.telemetry.headers = v).doc(
            "Headers of the requests to the collector, `name=value` pairs with percent-encoded values.",
            "api-key=key",
        ),
        secret("OTEL_EXPORTER_OTLP_TRACES_HEADERS", |d, _, v| d.telemetry.traces.headers = v)
            .doc("The same for traces, in place of the common ones.", "api-key=traces"),
        secret("OTEL_EXPORTER_OTLP_METRICS_HEADERS", |d, _, v| d.telemetry.metrics.headers = v)
            .doc("The same for metrics, in place of the common ones.", "api-key=metrics"),
        text("OTEL_EXPORTER_OTLP_PROTOCOL", |d, _, v| d.telemetry.protocol = v)
            .default("http/protobuf")
            .doc("Encoding: `http/protobuf` or `http/json`. `grpc` is refused.", "http/json"),
        text("GOTRUE_TRACING_OTEL_EXPORTER_OTLP_PROTOCOL", |d, _, v| d.telemetry.traces.protocol = v)
            .with_alias("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
            .doc("The same for traces.", "http/protobuf"),
        text("GOTRUE_METRICS_OTEL_EXPORTER_OTLP_PROTOCOL", |d, _, v| d.telemetry.metrics.protocol = v)
            .with_alias("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL")
            .doc("The same for metrics.", "http/protobuf"),
        natural("OTEL_EXPORTER_OTLP_TIMEOUT", |d, _, v| d.telemetry.timeout = v)
            .with_unit("milliseconds")
            .default("10000")
            .doc("Time limit of an export.", "5000")
            .shared(),
        text("OTEL_SERVICE_NAME", |d, _, v| d.telemetry.service_name = v)
            .default("basalt")
            .doc("The resource attribute `service.name`.", "auth"),
        text("OTEL_RESOURCE_ATTRIBUTES", |d, _, v| d.telemetry.resource_attributes = v).doc(
            "Further resource attributes, `name=value` pairs with percent-encoded values.",
            "deployment.environment=test",
        ),
        text("OTEL_TRACES_SAMPLER", |d, _, v| d.telemetry.sampler = v).default("parentbased_always_on").doc(
            "Sampled traces: `always_on`, `always_off`, `traceidratio`, or these with `parentbased_`, by which the \
                 caller's `traceparent` decides.",
            "parentbased_traceidratio",
        ),
        text("OTEL_TRACES_SAMPLER_ARG", |d, _, v| d.telemetry.sampler_argument = v)
            .default("1.0")
            .doc("The ratio of `traceidratio`, from 0 to 1.", "0.1"),
        natural("OTEL_BSP_MAX_QUEUE_SIZE", |d, _, v| d.telemetry.max_queue = v)
            .default("2048")
            .doc("Maximum number of spans that wait for export; more are dropped and counted.", "4096")
            .shared(),
        natural("OTEL_BSP_SCHEDULE_DELAY", |d, _, v| d.telemetry.span_delay = v)
            .with_unit("milliseconds")
            .default("5000")
            .doc("Interval of exports of spans.", "1000")
            .shared(),
        natural("OTEL_METRIC_EXPORT_INTERVAL", |d, _, v| d.telemetry.metric_interval = v)
            .with_unit("milliseconds")
            .default("60000")
            .doc("Interval of exports of metrics.", "10000")
            .shared(),
    ],
};
