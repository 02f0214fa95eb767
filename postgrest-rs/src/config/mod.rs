//! Settings: `PostgREST`'s configuration file, `PGRST_*` variables and settings of the database, in rising precedence.

mod check;
pub mod claim_path;
mod dump;
pub mod file;
mod sources;
mod values;

use std::collections::BTreeMap;
use std::time::Duration;

use check::{
    Problems, audience, extra_search_path, log_level, openapi_mode, ports, proxy_uri, read_keys, read_uri,
    role_claim_path, socket_mode, transaction_end,
};
use claim_path::ClaimPath;
pub use sources::Sources;
use sources::split_commas;
pub use values::{LogLevel, OpenApiMode, TransactionEnd};

use crate::jwt::keys::KeySet;
use crate::request::QualifiedName;

/// The settings that a database may hold, as `pgrst.` and the name here.
pub const DATABASE_SETTINGS: [&str; 23] = [
    "db_aggregates_enabled",
    "db_anon_role",
    "db_pre_config",
    "db_extra_search_path",
    "db_max_rows",
    "db_plan_enabled",
    "db_pre_request",
    "db_prepared_statements",
    "db_root_spec",
    "db_schemas",
    "db_tx_end",
    "db_hoisted_tx_settings",
    "jwt_aud",
    "jwt_role_claim_key",
    "jwt_secret",
    "jwt_secret_is_base64",
    "jwt_cache_max_lifetime",
    "openapi_mode",
    "openapi_security_active",
    "openapi_server_proxy_uri",
    "server_cors_allowed_origins",
    "server_trace_header",
    "server_timing_enabled",
];

/// The largest body by default, in bytes.
const DEFAULT_MAXIMUM_BODY: usize = 64 * 1024 * 1024;

/// The settings. Names are `PostgREST`'s; its documentation describes them.
#[derive(Debug, Clone)]
pub struct Config {
    pub app_settings: BTreeMap<String, String>,
    pub db_aggregates_enabled: bool,
    pub db_anon_role: Option<String>,
    pub db_channel: String,
    pub db_channel_enabled: bool,
    pub db_config: bool,
    pub db_extra_search_path: Vec<String>,
    pub db_hoisted_tx_settings: Vec<String>,
    pub db_max_rows: Option<i64>,
    pub db_plan_enabled: bool,
    pub db_pool: usize,
    pub db_pool_acquisition_timeout: Duration,
    /// Whether lost connections are opened again; the process ends otherwise.
    pub db_pool_automatic_recovery: bool,
    pub db_pool_max_idletime: Duration,
    pub db_pool_max_lifetime: Duration,
    pub db_pre_config: Option<QualifiedName>,
    pub db_pre_request: Option<QualifiedName>,
    /// `None`: unless there is a pooler before the database.
    pub db_prepared_statements: Option<bool>,
    pub db_root_spec: Option<QualifiedName>,
    /// UPDATE and DELETE of all rows are refused, as by the extension safeupdate. `PostgREST` has no such setting.
    pub db_safe_update: bool,
    /// At least one; the first is the default.
    pub db_schemas: Vec<String>,
    pub db_tx_end: TransactionEnd,
    pub db_uri: String,
    pub jwt_aud: Option<String>,
    pub jwt_cache_max_entries: usize,
    pub jwt_keys: Option<KeySet>,
    pub jwt_role_claim_key: ClaimPath,
    pub log_level: LogLevel,
    /// Whether the statements of logged requests are logged.
    pub log_query: bool,
    pub openapi_mode: OpenApiMode,
    pub openapi_security_active: bool,
    pub openapi_server_proxy_uri: Option<String>,
    pub server_cors_allowed_origins: Option<Vec<String>>,
    pub server_host: String,
    /// The largest body, in bytes. `PostgREST` has no such setting.
    pub server_max_body_size: usize,
    pub server_port: u16,
    pub server_timing_enabled: bool,
    /// In lower case.
    pub server_trace_header: Option<String>,
    pub server_unix_socket: Option<String>,
    pub server_unix_socket_mode: u32,
    pub admin_server_host: String,
    pub admin_server_port: Option<u16>,
}

impl Sources {
    /// The connection string.
    ///
    /// # Errors
    /// The file that holds it cannot be read.
    pub(crate) fn database_uri(&self) -> Result<String, String> {
        read_uri(self)
    }
}

impl Config {
    /// Builds the settings.
    ///
    /// # Errors
    /// All settings that cannot be used, why, and what to set; a line for each.
    pub fn build(sources: &Sources) -> Result<Self, String> {
        let mut problems = Problems::default();
        let ports = problems.keep(ports(sources), "Set admin-server-port to another port, or leave it out.");
        let tx_end = problems.keep(
            transaction_end(sources),
            "Set db-tx-end to commit, commit-allow-override, rollback or rollback-allow-override.",
        );
        let uri = problems.keep(
            read_uri(sources),
            "Set db-uri to postgres://USER:PASSWORD@HOST:5432/DATABASE, or to @FILE with a file that holds it.",
        );
        let audience = problems.keep(audience(sources), "Set jwt-aud to the aud of accepted tokens.");
        let keys = problems.keep(
            read_keys(sources),
            "Set jwt-secret to the secret, a JSON Web Key, a JSON Web Key Set, or to @FILE with a file that holds one.",
        );
        let claim = problems.keep(role_claim_path(sources), "Set jwt-role-claim-key to a path such as .role.");
        let level = problems.keep(log_level(sources), "Set log-level to crit, error, warn, info or debug.");
        let mode = problems
            .keep(openapi_mode(sources), "Set openapi-mode to follow-privileges, ignore-privileges or disabled.");
        let proxy =
            problems.keep(proxy_uri(sources), "Set openapi-server-proxy-uri to the URL of the API for clients.");
        let socket_mode =
            problems.keep(socket_mode(sources), "Set server-unix-socket-mode to an octal number such as 660.");
        let (
            Some((server_port, admin_server_port)),
            Some(db_tx_end),
            Some(db_uri),
            Some(jwt_aud),
            Some(jwt_keys),
            Some(jwt_role_claim_key),
            Some(log_level),
            Some(openapi_mode),
            Some(openapi_server_proxy_uri),
            Some(server_unix_socket_mode),
        ) = (ports, tx_end, uri, audience, keys, claim, level, mode, proxy, socket_mode)
        else {
            return Err(problems.into_text());
        };
        let list = |name: &str, default: &[&str]| {
            sources.text(&[name]).map_or_else(|| default.iter().map(|&item| item.to_owned()).collect(), split_commas)
        };
        let server_host = sources.owned("server-host").unwrap_or_else(|| "!4".to_owned());
        let admin_server_host = sources.owned("admin-server-host").unwrap_or_else(|| server_host.clone());
        Ok(Self {
            app_settings: sources.app_settings(),
            db_aggregates_enabled: sources.truth(&["db-aggregates-enabled"], false),
            db_anon_role: sources.owned("db-anon-role"),
            db_channel: sources.owned("db-channel").unwrap_or_else(|| "pgrst".to_owned()),
            db_channel_enabled: sources.truth(&["db-channel-enabled"], true),
            db_config: sources.truth(&["db-config"], true),
            db_extra_search_path: extra_search_path(sources),
            db_hoisted_tx_settings: list(
                "db-hoisted-tx-settings",
                &["statement_timeout", "plan_filter.statement_cost_limit", "default_transaction_isolation"],
            ),
            db_max_rows: sources.text(&["db-max-rows", "max-rows"]).and_then(|text| text.trim().parse().ok()),
            db_plan_enabled: sources.truth(&["db-plan-enabled"], false),
            db_pool: sources.number(&["db-pool"], 10).max(1),
            db_pool_acquisition_timeout: sources.seconds(&["db-pool-acquisition-timeout"], 10),
            db_pool_automatic_recovery: sources.truth(&["db-pool-automatic-recovery"], true),
            db_pool_max_idletime: sources.seconds(&["db-pool-max-idletime", "db-pool-timeout"], 30),
            db_pool_max_lifetime: sources.seconds(&["db-pool-max-lifetime"], 1800),
            db_pre_config: sources.name(&["db-pre-config"]),
            db_pre_request: sources.name(&["db-pre-request", "pre-request"]),
            db_prepared_statements: sources.find_truth(&["db-prepared-statements"]),
            db_root_spec: sources.name(&["db-root-spec", "root-spec"]),
            db_safe_update: sources.truth(&["db-safe-update"], false),
            db_schemas: sources
                .text(&["db-schemas", "db-schema"])
                .map_or_else(|| vec!["public".to_owned()], split_commas),
            db_tx_end,
            db_uri,
            jwt_aud,
            jwt_cache_max_entries: sources.number(&["jwt-cache-max-entries"], 1000),
            jwt_keys,
            jwt_role_claim_key,
            log_level,
            log_query: sources.truth(&["log-query"], false),
            openapi_mode,
            openapi_security_active: sources.truth(&["openapi-security-active"], false),
            openapi_server_proxy_uri,
            server_cors_allowed_origins: sources.text(&["server-cors-allowed-origins"]).map(split_commas),
            server_host,
            server_max_body_size: sources.number(&["server-max-body-size"], DEFAULT_MAXIMUM_BODY),
            server_port,
            server_timing_enabled: sources.truth(&["server-timing-enabled"], false),
            server_trace_header: sources.text(&["server-trace-header"]).map(str::to_lowercase),
            server_unix_socket: sources.owned("server-unix-socket"),
            server_unix_socket_mode,
            admin_server_host,
            admin_server_port,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_wins_over_environment_over_file() {
        let mut sources = Sources::default();
        sources.file.insert("db-anon-role".to_owned(), "of_file".to_owned());
        assert_eq!(Config::build(&sources).unwrap().db_anon_role.as_deref(), Some("of_file"));
        sources.environment.insert("PGRST_DB_ANON_ROLE".to_owned(), "of_environment".to_owned());
        assert_eq!(Config::build(&sources).unwrap().db_anon_role.as_deref(), Some("of_environment"));
        sources.database.insert("db_anon_role".to_owned(), "of_database".to_owned());
        assert_eq!(Config::build(&sources).unwrap().db_anon_role.as_deref(), Some("of_database"));
    }

    #[test]
    fn truth_values_are_read_in_any_case_and_with_quotation_marks() {
        let cases = [
            ("true", true),
            ("TRUE", true),
            ("\"true\"", true),
            ("\"True\"", true),
            ("1", true),
            ("false", false),
            ("\"FALSE\"", false),
            ("0", false),
            ("yes", false),
        ];
        for (value, expected) in cases {
            let mut sources = Sources::default();
            sources.file.insert("jwt-secret-is-base64".to_owned(), value.to_owned());
            assert_eq!(sources.truth(&["jwt-secret-is-base64"], false), expected, "{value}");
        }
    }

    #[test]
    fn unusable_settings_are_refused() {
        let cases = [
            ("db-tx-end", "maybe", "Invalid transaction termination. Check your configuration."),
            ("openapi-mode", "x", "Invalid openapi-mode. Check your configuration."),
            ("admin-server-port", "3000", "admin-server-port cannot be the same as server-port"),
            ("jwt-secret", "short", "The JWT secret must be at least 32 characters long."),
            (
                "openapi-server-proxy-uri",
                "https://a?b",
                "Malformed proxy uri, a correct example: https://example.com:8443/basePath",
            ),
            ("jwt-aud", "foo://%%$$^^.com", "jwt-aud should be a string or a valid URI"),
            ("jwt-aud", "http://%%host.invalid", "jwt-aud should be a string or a valid URI"),
            ("server-unix-socket-mode", "778", "Invalid server-unix-socket-mode: not an octal"),
        ];
        for (name, value, message) in cases {
            let mut sources = Sources::default();
            sources.file.insert(name.to_owned(), value.to_owned());
            let problem = Config::build(&sources).unwrap_err();
            assert!(problem.starts_with(&format!("{message} Set ")), "{name}: {problem}");
        }
    }

    #[test]
    fn all_problems_are_reported() {
        let mut sources = Sources::default();
        let names = ["db-tx-end", "log-level", "openapi-mode", "jwt-secret", "server-unix-socket-mode"];
        sources.file.extend(names.map(|name| (name.to_owned(), "x".to_owned())));
        let problems = Config::build(&sources).unwrap_err();
        assert_eq!(problems.lines().count(), names.len(), "{problems}");
        for name in names {
            assert_eq!(problems.lines().filter(|line| line.contains(&format!("Set {name} "))).count(), 1, "{problems}");
        }
    }
}
