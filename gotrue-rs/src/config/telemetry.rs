//! Validates the settings of the export of traces and metrics.

use std::time::Duration;

use foundation::secret::Secret;
use http::{HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use telemetry::otlp::OtlpProtocol;
use telemetry::tracer::Sampler;
use url::Url;

use super::draft::Draft;
use super::telemetry_settings::{OtlpExport, SignalDraft, TelemetryDraft, TelemetrySettings};

/// The collector on this machine.
const DEFAULT_ENDPOINT: &str = "http://localhost:4318";
/// The maximum number of headers and of resource attributes.
const MAX_PAIRS: usize = 64;
/// The maximum number of spans that wait for export.
const MAX_QUEUE: u64 = 100_000;
/// The shortest interval and time limit, in milliseconds.
const MIN_MILLISECONDS: u64 = 10;
/// The longest interval and time limit, in milliseconds: an hour.
const MAX_MILLISECONDS: u64 = 3_600_000;

/// Validates the settings of the export, and adds problems.
pub(super) fn check(draft: &mut Draft) {
    let given = draft.telemetry.clone();
    let is_known = matches!(given.tracing_exporter.as_str(), "" | "opentelemetry");
    if given.has_traces && !is_known {
        draft.warn("GOTRUE_TRACING_EXPORTER", "is not `opentelemetry`: traces are not exported");
    }
    let has_traces = given.has_traces && is_known && given.traces.exporter != "none";
    let has_metrics = given.has_metrics && given.metrics.exporter != "none";
    if given.is_disabled || !(has_traces || has_metrics) {
        return;
    }
    let mut check = SettingsCheck { given: &given, draft };
    let traces = has_traces.then(|| check.export("traces", &given.traces)).flatten();
    let metrics = has_metrics.then(|| check.export("metrics", &given.metrics)).flatten();
    let resource = check.resource();
    let sampler = check.sampler();
    let max_queue = match given.max_queue {
        0 => 2048,
        spans => usize::try_from(spans.min(MAX_QUEUE)).unwrap_or(usize::MAX),
    };
    draft.config.telemetry = Some(TelemetrySettings {
        traces,
        metrics,
        resource,
        sampler,
        max_queue,
        span_delay: milliseconds(given.span_delay, 5_000),
        metric_interval: milliseconds(given.metric_interval, 60_000),
    });
}

/// Converts a number of milliseconds; zero means `default`.
fn milliseconds(given: u64, default: u64) -> Duration {
    let given = if given == 0 { default } else { given };
    Duration::from_millis(given.clamp(MIN_MILLISECONDS, MAX_MILLISECONDS))
}

/// The settings that are validated, and the draft that takes their problems.
struct SettingsCheck<'a> {
    given: &'a TelemetryDraft,
    draft: &'a mut Draft,
}

impl SettingsCheck<'_> {
    /// Validates the destination of one kind of data, `traces` or `metrics`.
    fn export(&mut self, signal: &str, of_signal: &SignalDraft) -> Option<OtlpExport> {
        let of = |name: &str| format!("OTEL_EXPORTER_OTLP_{}_{name}", signal.to_uppercase());
        let (name, url) = if of_signal.endpoint.is_empty() {
            let base = Some(self.given.endpoint.trim_end_matches('/')).filter(|base| !base.is_empty());
            ("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), format!("{}/v1/{signal}", base.unwrap_or(DEFAULT_ENDPOINT)))
        } else {
            (of("ENDPOINT"), of_signal.endpoint.clone())
        };
        let is_http = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        if !Url::parse(&url).is_ok_and(|url| is_http(&url)) {
            self.draft.problem(&name, "is no http or https URL", "http://localhost:4318");
            return None;
        }
        let (name, headers) = if of_signal.headers.is_empty() {
            ("OTEL_EXPORTER_OTLP_HEADERS".to_owned(), &self.given.headers)
        } else {
            (of("HEADERS"), &of_signal.headers)
        };
        let Some(headers) = parse_headers(headers.reveal()) else {
            self.draft.problem(&name, "is no list of name=value pairs that a request can have", "api-key=secret");
            return None;
        };
        let (name, protocol) = if of_signal.protocol.is_empty() {
            ("OTEL_EXPORTER_OTLP_PROTOCOL".to_owned(), self.given.protocol.as_str())
        } else {
            (of("PROTOCOL"), of_signal.protocol.as_str())
        };
        let protocol = match protocol {
            "" | "http/protobuf" => OtlpProtocol::HttpProtobuf,
            "http/json" => OtlpProtocol::HttpJson,
            other => {
                let complaint =
                    format!("{other:?} is not supported: use http/protobuf or http/json, at port 4318 of a collector");
                self.draft.problem(&name, complaint, "http/protobuf");
                return None;
            }
        };
        Some(OtlpExport { url, headers, protocol, timeout: milliseconds(self.given.timeout, 10_000) })
    }

    fn resource(&mut self) -> Vec<(String, String)> {
        let Some(pairs) = parse_pairs(&self.given.resource_attributes) else {
            let complaint = "is no list of name=value pairs";
            self.draft.problem("OTEL_RESOURCE_ATTRIBUTES", complaint, "deployment.environment=production");
            return Vec::new();
        };
        let configured = Some(&self.given.service_name).filter(|name| !name.is_empty()).cloned();
        let listed = pairs.iter().find(|(name, _)| name == "service.name").map(|(_, value)| value.clone());
        let service_name = configured.or(listed).unwrap_or_else(|| "basalt".to_owned());
        let first = [
            ("service.name".to_owned(), service_name),
            ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ];
        let rest = pairs.into_iter().filter(|(name, _)| !matches!(name.as_str(), "service.name" | "service.version"));
        first.into_iter().chain(rest).collect()
    }

    fn sampler(&mut self) -> Sampler {
        let name = self.given.sampler.as_str();
        let (is_parent_based, root) = match name.strip_prefix("parentbased_") {
            Some(root) => (true, root),
            None => (name.is_empty(), name),
        };
        let ratio = match root {
            "" | "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => self.ratio(),
            _ => {
                let complaint = format!("{name:?} is not supported");
                self.draft.problem("OTEL_TRACES_SAMPLER", complaint, "parentbased_traceidratio");
                1.0
            }
        };
        Sampler { is_parent_based, ratio }
    }

    fn ratio(&mut self) -> f64 {
        let text = self.given.sampler_argument.as_str();
        let ratio = if text.is_empty() { Some(1.0) } else { text.parse().ok() };
        ratio.filter(|ratio| (0.0..=1.0).contains(ratio)).unwrap_or_else(|| {
            self.draft.problem("OTEL_TRACES_SAMPLER_ARG", format!("{text:?} is no number from 0 to 1"), "0.1");
            1.0
        })
    }
}

/// Parses `name=value` pairs with percent-encoded values.
fn parse_pairs(text: &str) -> Option<Vec<(String, String)>> {
    let parts: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.len() > MAX_PAIRS {
        return None;
    }
    let pair = |part: &&str| {
        let (name, value) = part.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        Some((name.trim().to_owned(), value.into_owned())).filter(|(name, _)| !name.is_empty())
    };
    parts.iter().map(pair).collect()
}

/// Parses pairs that are valid headers.
fn parse_headers(text: &str) -> Option<Vec<(String, Secret)>> {
    let is_header = |name: &str, value: &str| {
        HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(value).is_ok()
    };
    let pairs = parse_pairs(text)?;
    let are_valid = pairs.iter().all(|(name, value)| is_header(name, value));
    are_valid.then(|| pairs.into_iter().map(|(name, value)| (name, Secret::new(value))).collect())
}
