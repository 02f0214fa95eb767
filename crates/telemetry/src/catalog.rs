//! Every metric of the program; `docs/guides/telemetry.md` lists them.

use crate::metrics::{Counter, Gauge, Histogram, LIMITED_SERIES, Metric};

/// Bounds of requests and statements, in seconds.
const FAST: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];
/// Bounds of statements, of which there are many, in seconds.
const STATEMENT: &[f64] = &[0.0005, 0.001, 0.0025, 0.01, 0.05, 0.25, 1.0, 3.0];
/// Bounds of calls to other services, in seconds.
const OUTBOUND: &[f64] = &[0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Declares the statics and the list of all metrics.
macro_rules! catalog {
    ($($name:ident: $kind:ident = $constructor:ident($text:literal, $help:literal, $labels:expr $(, $bounds:expr)?);)*) => {
        $(
            #[doc = $help]
            pub static $name: $kind = $kind::$constructor($text, $help, $labels $(, $bounds)?);
        )*

        /// All metrics, in the order of the exposition.
        pub static ALL: &[&dyn Metric] = &[$(&$name,)* &LIMITED_SERIES];
    };
}

catalog! {
    HTTP_REQUESTS: Counter = new("basalt_http_requests_total",
        "Requests answered, by route template, method, class of status and error code", &["area", "route", "method", "status", "code"]);
    HTTP_DURATION: Histogram = new("basalt_http_request_duration_seconds",
        "Time from the head of a request to the head of its response", &["area", "route", "method"], FAST);
    POOL_CONNECTIONS: Gauge = new("basalt_database_pool_connections", "Open database connections, by state", &["state"]);
    POOL_LIMIT: Gauge = new("basalt_database_pool_max_connections", "Maximum number of database connections", &[]);
    POOL_WAIT: Histogram = new("basalt_database_pool_wait_seconds",
        "Wait for a database connection, opening it included", &[], FAST);
    DATABASE_UNAVAILABLE: Counter = new("basalt_database_unavailable_total",
        "Statements that found the database unusable, by reason", &["reason"]);
    IDLE_CONNECTIONS_LOST: Counter = new("basalt_database_idle_connections_lost_total",
        "Idle connections that the database or a proxy has closed, or that did not answer a test", &[]);
    REPETITIONS: Counter = new("basalt_database_repetitions_total",
        "Statements without effect that were repeated on another connection, by the reason of their failure", &["reason"]);
    REPLICA_USED: Gauge = new("basalt_database_replica_used",
        "Whether lists are read from the replica (1) or, because it is down or lags, from the primary (0)", &[]);
    STATEMENTS: Counter = new("basalt_database_statements_total",
        "Statements executed, by name and outcome (ok, SQLSTATE, timeout, connection, client)", &["statement", "outcome"]);
    STATEMENT_DURATION: Histogram = new("basalt_database_statement_duration_seconds",
        "Duration of statements, by name", &["statement"], STATEMENT);
    HASHING_QUEUE: Gauge = new("basalt_hashing_queue_jobs", "Passwords that are hashed or wait for it", &[]);
    HASHING_WAIT: Histogram = new("basalt_hashing_wait_seconds", "Wait of a password for a hashing thread", &[], FAST);
    HASHING_DURATION: Histogram = new("basalt_hashing_duration_seconds", "Duration of hashing a password", &[], FAST);
    HASHING_REJECTED: Counter = new("basalt_hashing_rejected_total", "Passwords refused because the queue was full or too long for the request", &[]);
    RATE_LIMITED: Counter = new("basalt_rate_limited_total", "Requests refused by a limit, by its setting", &["limit"]);
    LIMIT_STORE_CALLS: Counter = new("basalt_limit_store_calls_total",
        "Calls of the store that several servers share their limits in, by outcome (answered, reported in the background, failed, skipped)", &["outcome"]);
    OUTBOX_MAILS: Gauge = new("basalt_outbox_mails", "Mails in the outbox, by state", &["state"]);
    OUTBOX_OLDEST: Gauge = new("basalt_outbox_oldest_seconds", "Age of the oldest mail that is neither sent nor given up", &[]);
    STORAGE_SPACE: Gauge = new("basalt_storage_space_bytes",
        "Space for stored files, by kind (total and available of the file system, used by the files, quota if there is one)", &["kind"]);
    OUTBOX_ATTEMPTS: Counter = new("basalt_outbox_attempts_total",
        "Attempts to hand a mail of the outbox to the mail server, by outcome", &["outcome"]);
    MAILS: Counter = new("basalt_mail_deliveries_total", "Mails handed to the mail server, by outcome", &["outcome"]);
    MAIL_DURATION: Histogram = new("basalt_mail_delivery_duration_seconds",
        "Duration of handing a mail to the mail server", &[], OUTBOUND);
    SMS: Counter = new("basalt_sms_total", "Phone messages handed to the SMS provider, by outcome", &["outcome"]);
    HOOK_CALLS: Counter = new("basalt_hook_calls_total", "Calls of hooks, by hook and outcome", &["hook", "outcome"]);
    HOOK_DURATION: Histogram = new("basalt_hook_duration_seconds", "Duration of hooks, retries included", &["hook"], OUTBOUND);
    OUTBOUND_REQUESTS: Counter = new("basalt_outbound_requests_total",
        "HTTP requests to providers and other services, by service and outcome (class of status or kind of failure)", &["service", "outcome"]);
    OUTBOUND_DURATION: Histogram = new("basalt_outbound_request_duration_seconds",
        "Duration of HTTP requests to providers and other services", &["service"], OUTBOUND);
    PAYMENT_EVENTS: Counter = new("basalt_payment_events_total",
        "Events of payment providers, by provider and outcome", &["provider", "outcome"]);
    JOB_RUNS: Counter = new("basalt_job_runs_total", "Runs of background jobs, by job and outcome", &["job", "outcome"]);
    JOB_DURATION: Histogram = new("basalt_job_duration_seconds", "Duration of background jobs", &["job"], OUTBOUND);
    JOB_LAST_RUN: Gauge = new("basalt_job_last_run_timestamp_seconds", "End of the last run of a background job", &["job"]);
    CLEANUP_ROWS: Counter = new("basalt_cleanup_rows_total", "Expired rows deleted by the clean-up, by kind", &["kind"]);
    CLOCK_STEPS: Counter = new("basalt_clock_steps_total",
        "Changes of the system clock by a second or more, by direction (forward, backward)", &["direction"]);
    TOKIO_WORKERS: Gauge = new("basalt_tokio_workers", "Threads that run requests", &[]);
    TOKIO_TASKS: Gauge = new("basalt_tokio_alive_tasks", "Tasks that are not finished", &[]);
    TOKIO_QUEUE: Gauge = new("basalt_tokio_global_queue_depth", "Tasks that wait for a thread in the global queue", &[]);
    TOKIO_BUSY: Gauge = external_counter("basalt_tokio_busy_seconds_total", "Time that the threads spent on tasks", &[]);
    PROCESS_MEMORY: Gauge = new("process_resident_memory_bytes", "Resident memory of the process", &[]);
    PROCESS_CPU: Gauge = external_counter("process_cpu_seconds_total", "User and system CPU time of the process", &[]);
    PROCESS_FILES: Gauge = new("process_open_fds", "Open file descriptors of the process", &[]);
    PROCESS_THREADS: Gauge = new("process_threads", "Threads of the process", &[]);
    EXPORTS: Counter = new("basalt_telemetry_exports_total", "OTLP exports, by signal and outcome", &["signal", "outcome"]);
    DROPPED_SPANS: Counter = new("basalt_telemetry_dropped_spans_total", "Spans that were not exported, by reason", &["reason"]);
    BUILD_INFO: Gauge = new("basalt_build_info", "Always 1; the label is the version", &["version"]);
}
