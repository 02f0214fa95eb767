//! The database.

use super::super::check;
use super::super::setting::{Form, Put, Setting};
use super::{Section, span, switch, unused, whole};

/// Why the reference's adviser on pool sizes has no effect.
const NO_ADVISER: &str = "there is no adviser on the sizes of pools";

/// Why the number of idle connections has no limit of its own.
const IDLE: &str = "idle connections are closed after GOTRUE_DB_CONN_MAX_IDLE_TIME, however many they are";

pub(super) const SECTION: Section = Section {
    title: "Database",
    intro: "",
    rows: &[
        Setting::new("GOTRUE_DB_DRIVER", Put::Own("`postgres`", |_, _, v| check::driver(v)))
            .required()
            .doc("Kind of database: `postgres`.", "postgres"),
        Setting::new("GOTRUE_DB_DATABASE_URL", Put::Own("a URL of a PostgreSQL database", check::database_url))
            .or("DATABASE_URL")
            .required()
            .hidden()
            .doc("URL of the database.", "postgres://user:password@localhost:5432/postgres"),
        Setting::new(
            "GOTRUE_DB_DB_NAMESPACE",
            Put::Own("`auth`, the one schema served", |_, _, v| check::namespace(v)),
        )
        .or("DB_NAMESPACE")
        .default("auth")
        .doc("Schema of the tables: `auth`.", "auth"),
        whole("GOTRUE_DB_MAX_POOL_SIZE", |d, _, n| d.config.database.max_pool_size = u32::try_from(n).unwrap_or(0))
            .of("connections")
            .default("0")
            .doc("Most connections; 0: as many as the server finds useful.", "20"),
        span("GOTRUE_DB_CONN_MAX_LIFETIME", |d, _, v| d.config.database.conn_max_lifetime = v.as_std())
            .default("0s")
            .doc("Longest life of a connection; 0s: 30 minutes.", "1h"),
        span("GOTRUE_DB_CONN_MAX_IDLE_TIME", |d, _, v| d.config.database.conn_max_idle_time = v.as_std())
            .default("0s")
            .doc("Longest rest of a connection; 0s: 10 minutes.", "10m"),
        whole("GOTRUE_DB_CONN_PERCENTAGE", |d, _, n| {
            d.config.database.conn_percentage = u8::try_from(n.clamp(0, 100)).unwrap_or(0);
        })
        .of("percent")
        .default("0")
        .doc("Share of the connections that the database allows at the start, 0 to 100; 0: `GOTRUE_DB_MAX_POOL_SIZE` holds.", "30"),
        switch("GOTRUE_DB_CLEANUP_ENABLED", |d, _, v| d.policy.operation.cleanup_enabled = v)
            .default("false")
            .doc("Old tokens, sessions, flows and anonymous accounts are deleted, a few after each write.", "true"),
        switch("GOTRUE_INDEX_WORKER_ENSURE_USER_SEARCH_INDEXES_EXIST", |d, _, v| {
            d.policy.operation.index_worker.ensure_user_search_indexes_exist = v;
        })
        .default("false")
        .doc("Indexes for searching users are made in the background.", "true"),
        whole("GOTRUE_INDEX_WORKER_MAX_USERS_THRESHOLD", |d, _, n| {
            d.policy.operation.index_worker.max_users_threshold = n;
        })
        .of("users")
        .default("0")
        .doc("The same, where there are at most so many users; 0: not.", "100000"),
        unused("GOTRUE_DB_MAX_IDLE_POOL_SIZE", Form::Int, IDLE).doc("", "10"),
        unused("GOTRUE_DB_HEALTH_CHECK_PERIOD", Form::Span, "a connection that rested is tried before it is used")
            .doc("", "1m"),
        unused("GOTRUE_DB_MIGRATIONS_PATH", Form::Text, "the migrations are built in").doc("", "./migrations"),
        unused("GOTRUE_DB_ADVISOR_ENABLED", Form::Bool, NO_ADVISER).doc("", "false"),
        unused("GOTRUE_DB_ADVISOR_SAMPLING_INTERVAL", Form::Span, NO_ADVISER).doc("", "1s"),
        unused("GOTRUE_DB_ADVISOR_OBSERVATION_INTERVAL", Form::Span, NO_ADVISER).doc("", "1m"),
    ],
};
