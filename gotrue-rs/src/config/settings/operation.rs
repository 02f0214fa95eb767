//! Logs, metrics, reloading, experiments.

use std::path::PathBuf;

use super::super::check;
use super::super::setting::{Form, Put, Setting};
use super::{Section, between, list, span, switch, text, unused, whole};

/// Why the reference's settings on the look of a log line have no effect.
const OWN_FORM: &str = "lines have a form of their own, see BASALT_LOG_FORMAT";
/// Why traces are not exported.
const NO_TRACES: &str = "traces are not exported; each line of the log carries the id of its request";
/// Why there is no profiler.
const NO_PROFILER: &str = "there is no profiler to serve; attach one to the process";

pub(super) const SECTION: Section = Section {
    title: "Logs, metrics, reloading",
    intro: "The files of `--config-dir` are read again while requests are served. What they hold then is laid over what was \
            in force: a variable that has gone from them keeps its value until the next start. The next request has the \
            new settings, a request under way keeps its own; limits go on counting, except those that changed. Settings \
            that do not check change nothing, and the log says why. Where the server listens, its database, log and \
            metrics, and reloading itself are settled at the start.",
    rows: &[
        Setting::new(
            "GOTRUE_LOG_LEVEL",
            Put::Own("a level", |d, _, v| {
                check::log_level(d, v);
                Ok(())
            }),
        )
        .default("info")
        .doc("Least important lines that are logged: `error`, `warn`, `info`, `debug`, `trace`.", "debug"),
        text("GOTRUE_LOG_FILE", |d, _, v| d.config.log.file = (!v.is_empty()).then(|| PathBuf::from(v)))
            .doc("A file that lines are added to, instead of standard error.", "/var/log/auth.log"),
        text("GOTRUE_LOG_SQL", |d, _, v| d.config.log.sql = matches!(v.as_str(), "all" | "statement"))
            .doc("`statement` or `all`: statements are logged by name, never with their values.", "statement"),
        Setting::new("BASALT_LOG_FORMAT", Put::Own("`json` or `text`", check::log_format))
            .default("json")
            .doc("How lines look: `json` (one object a line) or `text` (for the eye).", "text"),
        switch("GOTRUE_METRICS_ENABLED", |d, _, v| d.metrics.0 = v)
            .default("false")
            .doc("Metrics are served for Prometheus, on a port of their own at `/metrics`.", "true"),
        text("GOTRUE_METRICS_EXPORTER", |d, _, v| d.metrics.1 = v)
            .default("opentelemetry")
            .doc("How metrics leave: only `prometheus` is served.", "prometheus"),
        text("GOTRUE_METRICS_OTEL_EXPORTER_PROMETHEUS_HOST", |d, _, v| d.metrics.2.host = v)
            .or("OTEL_EXPORTER_PROMETHEUS_HOST")
            .default("0.0.0.0")
            .doc("Address the metrics are served at.", "127.0.0.1"),
        between("GOTRUE_METRICS_OTEL_EXPORTER_PROMETHEUS_PORT", 0, 65_535, |d, _, n| {
            d.metrics.2.port = u16::try_from(n).unwrap_or(0);
        })
        .or("OTEL_EXPORTER_PROMETHEUS_PORT")
        .default("9100")
        .doc("Port the metrics are served at.", "9464"),
        switch("GOTRUE_AUDIT_LOG_DISABLE_POSTGRES", |d, _, v| d.policy.operation.audit_log_disable_postgres = v)
            .default("false")
            .doc("No rows are written to `auth.audit_log_entries`.", "true"),
        switch("GOTRUE_RELOADING_NOTIFY_ENABLED", |d, _, v| d.config.reloading.notify_enabled = v)
            .default("true")
            .doc("The `*.env` and `*.json` files of `--config-dir` are read again when they change.", "false"),
        switch("GOTRUE_RELOADING_POLLERENABLED", |d, _, v| d.config.reloading.poller_enabled = v)
            .default("false")
            .doc("They are looked at again and again where the system cannot tell of changes.", "true"),
        span("GOTRUE_RELOADING_POLLER_INTERVAL", |d, _, v| d.config.reloading.poller_interval = v.as_std())
            .default("10s")
            .doc("How often.", "30s"),
        switch("GOTRUE_RELOADING_SIGNAL_ENABLED", |d, _, v| d.config.reloading.signal_enabled = v)
            .default("false")
            .doc("They are read again at a signal.", "true"),
        whole("GOTRUE_RELOADING_SIGNAL_NUMBER", |d, _, n| {
            d.config.reloading.signal_number = i32::try_from(n).unwrap_or(0);
        })
        .default("10")
        .doc("Which one; 10 is SIGUSR1.", "12"),
        span("GOTRUE_RELOADING_GRACE_PERIOD_INTERVAL", |d, _, v| d.config.reloading.grace_period = v.as_std())
            .default("5s")
            .doc("How long it must be quiet before they are read again.", "1s"),
        Setting::new(
            "GOTRUE_EXPERIMENTAL_PROVIDER_LINKING_DOMAINS",
            Put::Own("a list of provider=domain pairs", check::linking_domains),
        )
        .doc(
            "Accounts of these providers are joined with those of the same domain alone.",
            "custom:github=work,google=home",
        ),
        list("GOTRUE_EXPERIMENTAL_PROVIDERS_WITH_OWN_LINKING_DOMAIN", |d, _, v| d.own_linking_domains = v)
            .doc("Older form of the same: providers with a domain of their own each.", "kakao"),
        switch("GOTRUE_EXPERIMENTAL_CURSOR_PAGINATION_ENABLED", |d, _, v| {
            d.policy.experimental.cursor_pagination_enabled = v;
        })
        .default("false")
        .doc("Lists of the admin API can be paged by cursor.", "true"),
        switch("GOTRUE_EXPERIMENTAL_SCIM_ENABLED", |d, _, v| d.policy.experimental.scim_enabled = v)
            .default("false")
            .doc("SCIM is served.", "true"),
        switch("GOTRUE_EXPERIMENTAL_CREATE_EMAIL_IDENTITY_ON_PASSWORD_SET_ENABLED", |d, _, v| {
            d.policy.experimental.create_email_identity_on_password_set = v;
        })
        .default("false")
        .doc("An account of another service that gets a password also gets an identity of its address.", "true"),
        unused("GOTRUE_OPERATOR_TOKEN", Form::Text, "the reference has no use for it either").hidden().doc("", "token"),
        unused("GOTRUE_LOG_DISABLE_COLORS", Form::Bool, OWN_FORM).doc("", "true"),
        unused("GOTRUE_LOG_QUOTE_EMPTY_FIELDS", Form::Bool, OWN_FORM).doc("", "true"),
        unused("GOTRUE_LOG_FIELDS", Form::Map, OWN_FORM).doc("", "env:test"),
        unused("GOTRUE_LOG_TSFORMAT", Form::Text, OWN_FORM).doc("", "2006-01-02"),
        unused("GOTRUE_METRICS_OTEL_EXPORTER_OTLP_PROTOCOL", Form::Text, "metrics are served for Prometheus alone")
            .or("OTEL_EXPORTER_OTLP_PROTOCOL")
            .doc("", "grpc"),
        unused("GOTRUE_TRACING_ENABLED", Form::Bool, NO_TRACES).doc("", "false"),
        unused("GOTRUE_TRACING_EXPORTER", Form::Text, NO_TRACES).doc("", "opentelemetry"),
        unused("GOTRUE_TRACING_OTEL_EXPORTER_OTLP_PROTOCOL", Form::Text, NO_TRACES).doc("", "grpc"),
        unused("GOTRUE_TRACING_HOST", Form::Text, NO_TRACES).doc("", "localhost"),
        unused("GOTRUE_TRACING_PORT", Form::Text, NO_TRACES).doc("", "4317"),
        unused("GOTRUE_TRACING_SERVICE_NAME", Form::Text, NO_TRACES).doc("", "auth"),
        unused("GOTRUE_TRACING_TAGS", Form::Map, NO_TRACES).doc("", "env:test"),
        unused("GOTRUE_PROFILER_ENABLED", Form::Bool, NO_PROFILER).doc("", "false"),
        unused("GOTRUE_PROFILER_HOST", Form::Text, NO_PROFILER).doc("", "localhost"),
        unused("GOTRUE_PROFILER_PORT", Form::Text, NO_PROFILER).doc("", "9998"),
    ],
};
