//! The database.

use super::super::check;
use super::super::setting::{Setting, UnusedForm, ValueType};
use super::rows::{Section, or_seconds, positive_span, span, switch, unused, whole};

/// Why the settings of the reference's pool adviser have no effect.
const NO_ADVISER: &str = "there is no pool size advisor";

/// Why the number of idle connections has no limit of its own.
const IDLE: &str = "idle connections are closed after GOTRUE_DB_CONN_MAX_IDLE_TIME, however many they are";

pub(super) const SECTION: Section = Section {
    title: "Database",
    intro: "",
    rows: &[
        Setting::new("GOTRUE_DB_DRIVER", ValueType::Custom("`postgres`", |_, _, v| check::validate_driver(v)))
            .required()
            .doc("Kind of database: `postgres`.", "postgres"),
        Setting::new(
            "GOTRUE_DB_DATABASE_URL",
            ValueType::Custom("a URL of a PostgreSQL database", check::parse_database_url),
        )
        .with_alias("DATABASE_URL")
        .required()
        .hidden()
        .doc(
            "URL of the database. Its parameters `statement_cache_mode` (`prepare`, `describe`) and \
              `prefer_simple_protocol` replace the recognition of connection poolers (docs/guides/poolers.md).",
            "postgres://user:password@localhost:5432/postgres",
        ),
        Setting::new(
            "GOTRUE_DB_DB_NAMESPACE",
            ValueType::Custom("`auth`, the one schema served", |_, _, v| check::validate_namespace(v)),
        )
        .with_alias("DB_NAMESPACE")
        .default("auth")
        .doc("Schema of the tables: `auth`.", "auth"),
        whole("GOTRUE_DB_MAX_POOL_SIZE", |d, _, n| d.config.database.max_pool_size = u32::try_from(n).unwrap_or(0))
            .with_unit("connections")
            .default("0")
            .doc("Maximum number of connections; 0: the server's default.", "20"),
        span("GOTRUE_DB_CONN_MAX_LIFETIME", |d, _, v| d.config.database.conn_max_lifetime = v.to_std())
            .default("0s")
            .doc("Maximum lifetime of a connection; 0s: 30 minutes.", "1h"),
        span("GOTRUE_DB_CONN_MAX_IDLE_TIME", |d, _, v| d.config.database.conn_max_idle_time = v.to_std())
            .default("0s")
            .doc("Maximum idle time of a connection; 0s: 10 minutes.", "10m"),
        whole("GOTRUE_DB_CONN_PERCENTAGE", |d, _, n| {
            d.config.database.conn_percentage = u8::try_from(n.clamp(0, 100)).unwrap_or(0);
        })
        .with_unit("percent")
        .default("0")
        .doc(
            "Percentage of the connections that the database allows at the start, 0 to 100; 0: \
              `GOTRUE_DB_MAX_POOL_SIZE` applies.",
            "30",
        ),
        span("GOTRUE_DB_START_TIMEOUT", |d, _, v| d.config.database.start_timeout = v.to_std())
            .default("1m")
            .doc("How long a database that is down at the start is waited for; 0s: not at all.", "5m"),
        span("GOTRUE_DB_FAILOVER_WAIT", |d, _, v| d.config.database.failover_wait = v.to_std())
            .default("5s")
            .doc(
                "Time after the loss of the database within which requests wait for it or a new primary, before anything of \
                 theirs was sent; later ones fail at once with 503. 0s: none waits.",
                "10s",
            ),
        Setting::new(
            "GOTRUE_DB_REPLICA_URL",
            ValueType::Custom("a URL of a PostgreSQL database", check::parse_replica_url),
        )
        .default("")
        .hidden()
        .doc(
            "URL of a replica for reads that may be stale: lists of users, custom providers, OAuth clients and SSO \
             providers.",
            "postgres://user:password@replica:5432/postgres",
        ),
        span("GOTRUE_DB_REPLICA_MAX_LAG", |d, _, v| d.config.database.replica_max_lag = or_seconds(v, 5))
            .default("5s")
            .doc("Greatest lag of a replica that is read from; otherwise reads use the primary.", "2s"),
        switch("GOTRUE_DB_CLEANUP_ENABLED", |d, _, v| d.policy.operation.cleanup_enabled = v).default("false").doc(
            "Expired tokens, sessions, flows and anonymous users are deleted in small batches after writes.",
            "true",
        ),
        span("GOTRUE_RETENTION_AUDIT_ENTRIES", |d, _, v| {
            d.policy.operation.retention.audit_entries = (!v.is_zero()).then(|| v.to_std());
        })
        .default("0s")
        .doc("Age at which the clean-up deletes audit entries; 0s: they are kept.", "2160h"),
        positive_span("GOTRUE_RETENTION_REVOKED_TOKENS", |d, _, v| {
            d.policy.operation.retention.revoked_tokens = v.to_std();
        })
        .default("24h")
        .doc("Time after which the clean-up deletes a revoked refresh token; its reuse is then refused as that of an unknown one.", "168h"),
        positive_span("GOTRUE_RETENTION_ENDED_SESSIONS", |d, _, v| {
            d.policy.operation.retention.ended_sessions = v.to_std();
        })
        .default("72h")
        .doc("Time after which the clean-up deletes a session that has ended, with its tokens.", "24h"),
        switch("GOTRUE_INDEX_WORKER_ENSURE_USER_SEARCH_INDEXES_EXIST", |d, _, v| {
            d.policy.operation.index_worker.ensure_user_search_indexes_exist = v;
        })
        .default("false")
        .doc("Indexes for searching users are created in the background.", "true"),
        whole("GOTRUE_INDEX_WORKER_MAX_USERS_THRESHOLD", |d, _, n| {
            d.policy.operation.index_worker.max_users_threshold = n;
        })
        .with_unit("users")
        .default("0")
        .doc("Create these indexes only up to this number of users; 0: never.", "100000"),
        unused("GOTRUE_DB_MAX_IDLE_POOL_SIZE", UnusedForm::Int, IDLE).doc("", "10"),
        unused("GOTRUE_DB_HEALTH_CHECK_PERIOD", UnusedForm::Span, "an idle connection is pinged before it is used")
            .doc("", "1m"),
        unused("GOTRUE_DB_MIGRATIONS_PATH", UnusedForm::Text, "the migrations are built in").doc("", "./migrations"),
        unused("GOTRUE_DB_ADVISOR_ENABLED", UnusedForm::Bool, NO_ADVISER).doc("", "false"),
        unused("GOTRUE_DB_ADVISOR_SAMPLING_INTERVAL", UnusedForm::Span, NO_ADVISER).doc("", "1s"),
        unused("GOTRUE_DB_ADVISOR_OBSERVATION_INTERVAL", UnusedForm::Span, NO_ADVISER).doc("", "1m"),
    ],
};
