//! Logs, metrics, reloading, experiments.

use std::path::PathBuf;
use std::time::Duration;

use super::super::check;
use super::super::setting::{Setting, UnusedForm, ValueType};
use super::rows::{Section, list, span, switch, text, unused, whole};

/// The longest time between the signal to stop and the end of accepting requests.
const MAX_DRAIN: Duration = Duration::from_mins(10);
/// Why the reference's settings of the log format have no effect.
const OWN_FORM: &str = "log lines have their own format, see BASALT_LOG_FORMAT";
/// Why the older settings of traces have no effect.
const OLDER_TRACES: &str = "the reference does not use it either; set OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES";
/// Why there is no profiler.
const NO_PROFILER: &str = "there is no built-in profiler; attach one to the process";

pub(super) const SECTION: Section = Section {
    title: "Logs, metrics, reloading",
    intro: "The files of `--config-dir` are reloaded without interrupting requests. Their values overlay the current \
            ones: a variable that was removed from them keeps its value until the next start. New requests use the new \
            settings, running ones keep theirs; counters of rate limits persist, except those whose limit changed. \
            Invalid settings change nothing and are logged. The listening address, the database, logs, metrics and \
            reloading itself are only configured at start.",
    rows: &[
        Setting::new(
            "GOTRUE_LOG_LEVEL",
            ValueType::Custom("a level", |d, _, v| {
                check::parse_log_level(d, v);
                Ok(())
            }),
        )
        .default("info")
        .doc("Minimum level of logged lines: `error`, `warn`, `info`, `debug`, `trace`.", "debug"),
        text("GOTRUE_LOG_FILE", |d, _, v| d.config.log.file = (!v.is_empty()).then(|| PathBuf::from(v)))
            .doc("File that lines are appended to, instead of standard error.", "/var/log/auth.log"),
        text("GOTRUE_LOG_SQL", |d, _, v| d.config.log.sql = matches!(v.as_str(), "all" | "statement"))
            .doc("`statement` or `all`: SQL statements are logged by name, never with their values.", "statement"),
        Setting::new("BASALT_LOG_FORMAT", ValueType::Custom("`json` or `text`", check::parse_log_format))
            .default("json")
            .doc("Format of log lines: `json` (one object per line) or `text` (human-readable).", "text"),
        switch("GOTRUE_METRICS_ENABLED", |d, _, v| d.metrics.0 = v)
            .default("false")
            .doc("Metrics are recorded, and served or exported as `GOTRUE_METRICS_EXPORTER` says.", "true"),
        text("GOTRUE_METRICS_EXPORTER", |d, _, v| d.metrics.1 = v).default("opentelemetry").doc(
            "`prometheus` serves `/metrics` on a port of its own, `opentelemetry` sends metrics by OTLP.",
            "prometheus",
        ),
        text("GOTRUE_METRICS_OTEL_EXPORTER_PROMETHEUS_HOST", |d, _, v| d.metrics.2.host = v)
            .with_alias("OTEL_EXPORTER_PROMETHEUS_HOST")
            .default("0.0.0.0")
            .doc("Address of the metrics endpoint.", "127.0.0.1"),
        Setting::new(
            "GOTRUE_METRICS_OTEL_EXPORTER_PROMETHEUS_PORT",
            ValueType::Custom("a port from 0 to 65535", |d, _, v| {
                d.metrics_port = Some(v.to_owned());
                Ok(())
            }),
        )
        .with_alias("OTEL_EXPORTER_PROMETHEUS_PORT")
        .default("9100")
        .doc("Port of the metrics endpoint.", "9464"),
        switch("GOTRUE_AUDIT_LOG_DISABLE_POSTGRES", |d, _, v| d.policy.operation.audit_log_disable_postgres = v)
            .default("false")
            .doc("No rows are written to `auth.audit_log_entries`.", "true"),
        switch("GOTRUE_RELOADING_NOTIFY_ENABLED", |d, _, v| d.config.reloading.notify_enabled = v)
            .default("true")
            .doc("The `*.env` and `*.json` files of `--config-dir` are reloaded when they change.", "false"),
        switch("GOTRUE_RELOADING_POLLERENABLED", |d, _, v| d.config.reloading.poller_enabled = v)
            .default("false")
            .doc("The files are polled for changes, if they are not watched.", "true"),
        span("GOTRUE_RELOADING_POLLER_INTERVAL", |d, _, v| d.config.reloading.poller_interval = v.to_std())
            .default("10s")
            .doc("Polling interval of the files.", "30s"),
        switch("GOTRUE_RELOADING_SIGNAL_ENABLED", |d, _, v| d.config.reloading.signal_enabled = v)
            .default("false")
            .doc("A signal reloads the files.", "true"),
        whole("GOTRUE_RELOADING_SIGNAL_NUMBER", |d, _, n| {
            d.config.reloading.signal_number = i32::try_from(n).unwrap_or(0);
        })
        .default("10")
        .doc("Number of that signal; 10 is SIGUSR1.", "12"),
        span("GOTRUE_RELOADING_GRACE_PERIOD_INTERVAL", |d, _, v| d.config.reloading.grace_period = v.to_std())
            .default("5s")
            .doc("How long no change may occur before the files are reloaded.", "1s"),
        span("GOTRUE_SHUTDOWN_DRAIN", |d, _, v| d.config.shutdown_drain = v.to_std().min(MAX_DRAIN))
            .default("0s")
            .doc(
                "How long requests are accepted after SIGTERM, at most ten minutes: `/readyz` answers 503 and responses carry \
                 `Connection: close`, so that load balancers select other replicas. At least the time after which they do.",
                "10s",
            ),
        Setting::new(
            "GOTRUE_EXPERIMENTAL_PROVIDER_LINKING_DOMAINS",
            ValueType::Custom("a list of provider=domain pairs", check::parse_linking_domains),
        )
        .doc(
            "Identities of these providers are linked only within the same linking domain.",
            "custom:github=work,google=home",
        ),
        list("GOTRUE_EXPERIMENTAL_PROVIDERS_WITH_OWN_LINKING_DOMAIN", |d, _, v| d.own_linking_domains = v)
            .doc("Older form of the setting above: providers with their own linking domain each.", "kakao"),
        switch("GOTRUE_EXPERIMENTAL_CURSOR_PAGINATION_ENABLED", |d, _, v| {
            d.policy.experimental.cursor_pagination_enabled = v;
        })
        .default("false")
        .doc("Lists of the admin API support cursor pagination.", "true"),
        switch("GOTRUE_EXPERIMENTAL_SCIM_ENABLED", |d, _, v| d.policy.experimental.scim_enabled = v)
            .default("false")
            .doc("SCIM is served.", "true"),
        switch("GOTRUE_EXPERIMENTAL_CREATE_EMAIL_IDENTITY_ON_PASSWORD_SET_ENABLED", |d, _, v| {
            d.policy.experimental.create_email_identity_on_password_set = v;
        })
        .default("false")
        .doc("A user of an external provider who sets a password also gets an e-mail identity.", "true"),
        unused("GOTRUE_OPERATOR_TOKEN", UnusedForm::Text, "the reference does not use it either")
            .hidden()
            .doc("", "token"),
        unused("GOTRUE_LOG_DISABLE_COLORS", UnusedForm::Bool, OWN_FORM).doc("", "true"),
        unused("GOTRUE_LOG_QUOTE_EMPTY_FIELDS", UnusedForm::Bool, OWN_FORM).doc("", "true"),
        unused("GOTRUE_LOG_FIELDS", UnusedForm::Map, OWN_FORM).doc("", "env:test"),
        unused("GOTRUE_LOG_TSFORMAT", UnusedForm::Text, OWN_FORM).doc("", "2006-01-02"),
        unused("GOTRUE_TRACING_HOST", UnusedForm::Text, OLDER_TRACES).doc("", "localhost"),
        unused("GOTRUE_TRACING_PORT", UnusedForm::Text, OLDER_TRACES).doc("", "4317"),
        unused("GOTRUE_TRACING_SERVICE_NAME", UnusedForm::Text, OLDER_TRACES).doc("", "auth"),
        unused("GOTRUE_TRACING_TAGS", UnusedForm::Map, OLDER_TRACES).doc("", "env:test"),
        unused("GOTRUE_PROFILER_ENABLED", UnusedForm::Bool, NO_PROFILER).doc("", "false"),
        unused("GOTRUE_PROFILER_HOST", UnusedForm::Text, NO_PROFILER).doc("", "localhost"),
        unused("GOTRUE_PROFILER_PORT", UnusedForm::Text, NO_PROFILER).doc("", "9998"),
    ],
};
