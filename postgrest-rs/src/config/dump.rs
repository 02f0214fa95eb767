//! The settings in effect as text of a configuration file (`--dump-config`).

use std::fmt::Write;

use super::{Config, LogLevel, OpenApiMode, Sources};
use crate::request::QualifiedName;

/// A text in quotation marks.
fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn optional(text: Option<&String>) -> String {
    quote(text.map_or("", String::as_str))
}

/// A number, or an empty text.
fn number<T: ToString>(number: Option<T>) -> String {
    number.map_or_else(|| quote(""), |number| number.to_string())
}

fn name(name: Option<&QualifiedName>) -> String {
    quote(&name.map_or_else(String::new, |name| match name.schema.as_str() {
        "" => name.name.clone(),
        schema => format!("{schema}.{}", name.name),
    }))
}

type Lines = Vec<(&'static str, String)>;

impl Config {
    /// The settings as lines `key = value`, in the order of `PostgREST`, which can be used as a file again. Secrets are among them.
    ///
    /// Settings of Basalt alone are there only where they differ from the default.
    pub fn dump(&self, sources: &Sources) -> String {
        let settings = self.database_settings().into_iter().chain(self.token_settings(sources));
        let settings = settings.chain(self.server_settings(sources)).chain(self.own_settings());
        let mut text = String::new();
        for (key, value) in settings {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{key} = {value}");
        }
        for (key, value) in &self.app_settings {
            let _ = writeln!(text, "{key} = {}", quote(value));
        }
        text
    }

    fn database_settings(&self) -> Lines {
        let transaction_end = match (self.db_tx_end.rolls_back, self.db_tx_end.allows_override) {
            (false, false) => "commit",
            (false, true) => "commit-allow-override",
            (true, false) => "rollback",
            (true, true) => "rollback-allow-override",
        };
        vec![
            ("db-aggregates-enabled", self.db_aggregates_enabled.to_string()),
            ("db-anon-role", optional(self.db_anon_role.as_ref())),
            ("db-channel", quote(&self.db_channel)),
            ("db-channel-enabled", self.db_channel_enabled.to_string()),
            ("db-extra-search-path", quote(&self.db_extra_search_path.join(","))),
            ("db-hoisted-tx-settings", quote(&self.db_hoisted_tx_settings.join(","))),
            ("db-max-rows", number(self.db_max_rows)),
            ("db-plan-enabled", self.db_plan_enabled.to_string()),
            ("db-pool", self.db_pool.to_string()),
            ("db-pool-acquisition-timeout", self.db_pool_acquisition_timeout.as_secs().to_string()),
            ("db-pool-max-lifetime", self.db_pool_max_lifetime.as_secs().to_string()),
            ("db-pool-max-idletime", self.db_pool_max_idletime.as_secs().to_string()),
            ("db-pool-automatic-recovery", self.db_pool_automatic_recovery.to_string()),
            ("db-pre-request", name(self.db_pre_request.as_ref())),
            // Without a setting the server finds out for each connection whether there is a pooler; PostgREST has no such value.
            ("db-prepared-statements", self.db_prepared_statements.unwrap_or(true).to_string()),
            ("db-root-spec", name(self.db_root_spec.as_ref())),
            ("db-schemas", quote(&self.db_schemas.join(","))),
            ("db-config", self.db_config.to_string()),
            ("db-pre-config", name(self.db_pre_config.as_ref())),
            ("db-tx-end", quote(transaction_end)),
            ("db-uri", quote(&self.db_uri)),
        ]
    }

    fn token_settings(&self, sources: &Sources) -> Lines {
        let is_base64 = sources.truth(&["jwt-secret-is-base64", "secret-is-base64"], false);
        let secret = self.jwt_keys.as_ref().map_or_else(String::new, |keys| keys.secret(is_base64));
        vec![
            ("jwt-aud", optional(self.jwt_aud.as_ref())),
            ("jwt-role-claim-key", quote(&self.jwt_role_claim_key.to_string())),
            ("jwt-secret", quote(&secret)),
            ("jwt-secret-is-base64", is_base64.to_string()),
            ("jwt-cache-max-entries", self.jwt_cache_max_entries.to_string()),
        ]
    }

    fn server_settings(&self, sources: &Sources) -> Lines {
        let level = match self.log_level {
            LogLevel::Critical => "crit",
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
        };
        let mode = match self.openapi_mode {
            OpenApiMode::FollowPrivileges => "follow-privileges",
            OpenApiMode::IgnorePrivileges => "ignore-privileges",
            OpenApiMode::Disabled => "disabled",
        };
        let origins = self.server_cors_allowed_origins.as_ref().map(|origins| origins.join(","));
        vec![
            ("log-level", quote(level)),
            ("log-query", self.log_query.to_string()),
            ("openapi-mode", quote(mode)),
            ("openapi-security-active", self.openapi_security_active.to_string()),
            ("openapi-server-proxy-uri", optional(self.openapi_server_proxy_uri.as_ref())),
            ("server-cors-allowed-origins", optional(origins.as_ref())),
            ("server-host", quote(&self.server_host)),
            ("server-port", self.server_port.to_string()),
            // As it is written in the source, not in lower case.
            ("server-trace-header", quote(sources.text(&["server-trace-header"]).unwrap_or_default())),
            ("server-timing-enabled", self.server_timing_enabled.to_string()),
            ("server-unix-socket", optional(self.server_unix_socket.as_ref())),
            ("server-unix-socket-mode", quote(&format!("{:o}", self.server_unix_socket_mode))),
            ("admin-server-host", quote(&self.admin_server_host)),
            ("admin-server-port", number(self.admin_server_port)),
        ]
    }

    fn own_settings(&self) -> Lines {
        let mut lines = Vec::new();
        if self.db_safe_update {
            lines.push(("db-safe-update", true.to_string()));
        }
        if self.server_max_body_size != super::DEFAULT_MAXIMUM_BODY {
            lines.push(("server-max-body-size", self.server_max_body_size.to_string()));
        }
        lines
    }

    /// A configuration file with the defaults of all settings, as comments.
    ///
    /// # Errors
    /// None with the settings that have defaults.
    pub fn example() -> Result<String, String> {
        let sources = Sources::default();
        let config = Self::build(&sources)?;
        let sections = [
            ("The database, and what of it is served", config.database_settings()),
            ("Tokens: with jwt-secret, a text of 32 characters or a JSON Web Key Set, requests may name their role", {
                config.token_settings(&sources)
            }),
            ("Logging, documentation and listeners", config.server_settings(&sources)),
        ];
        let mut text = String::from("# Settings of the data API with their defaults: remove # to change one.\n");
        text.push_str("# db-uri and db-anon-role are those that a server needs.\n");
        for (title, lines) in sections {
            let _ = writeln!(text, "\n## {title}");
            for (key, value) in lines {
                let _ = writeln!(text, "# {key} = {value}");
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn dump(sources: &Sources) -> String {
        Config::build(sources).unwrap().dump(sources)
    }

    #[test]
    fn dumped_settings_are_those_of_the_file_that_they_make() {
        let mut sources = Sources::default();
        let settings = [
            ("db-uri", "postgresql://a:p\"w@b/c"),
            ("db-schemas", "one, two"),
            ("db-tx-end", "rollback-allow-override"),
            ("db-pre-request", "private.check"),
            ("max-rows", "7"),
            ("db-prepared-statements", "false"),
            ("db-safe-update", "true"),
            ("jwt-secret", "a \\ secret of at least thirty-two characters"),
            ("jwt-role-claim-key", ".\"a b\".roles[0]"),
            ("server-unix-socket-mode", "777"),
            ("server-trace-header", "CF-Ray"),
            ("app.settings.word", "a \"b\" c"),
        ];
        sources.file.extend(settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let dumped = dump(&sources);
        let expected = [
            "db-schemas = \"one,two\"",
            "db-max-rows = 7",
            "db-safe-update = true",
            "jwt-role-claim-key = \".\\\"a b\\\".\\\"roles\\\"[0]\"",
            "server-trace-header = \"CF-Ray\"",
            "admin-server-port = \"\"",
            "db-anon-role = \"\"",
        ];
        for line in expected {
            assert!(dumped.lines().any(|dumped_line| dumped_line == line), "{line}\n{dumped}");
        }
        assert_eq!(dump(&Sources { file: file::parse(&dumped).unwrap(), ..Sources::default() }), dumped);
    }

    #[test]
    fn secret_in_base64_is_dumped_as_the_standard_alphabet_has_it() {
        let mut sources = Sources::default();
        let secret = format!("{}_-8.", "A".repeat(44));
        sources.file.insert("jwt-secret".to_owned(), secret);
        sources.file.insert("secret-is-base64".to_owned(), "true".to_owned());
        let dumped = dump(&sources);
        assert!(dumped.contains(&format!("jwt-secret = \"{}/+8=\"", "A".repeat(44))), "{dumped}");
    }

    #[test]
    fn guide_names_every_setting() {
        const GUIDE: &str = include_str!("../../../docs/guides/data-api.md");
        let rows: Vec<_> = GUIDE.lines().filter_map(|line| line.split('|').nth(1)).collect();
        let dumped = dump(&Sources::default());
        let names = dumped.lines().filter_map(|line| line.split(" = ").next());
        for name in names.chain(["db-safe-update", "server-max-body-size"]) {
            let name = format!("`{name}`");
            assert!(rows.iter().any(|row| row.contains(&name)), "{name} has no row in docs/guides/data-api.md");
        }
    }

    #[test]
    fn example_has_the_default_of_every_setting() {
        let defaults = dump(&Sources::default());
        let example = Config::example().unwrap();
        assert!(file::parse(&example).unwrap().is_empty());
        let uncommented: String = example
            .lines()
            .filter_map(|line| line.strip_prefix("# "))
            .fold(String::new(), |all, line| all + line + "\n");
        for line in defaults.lines() {
            assert!(uncommented.lines().any(|uncommented_line| uncommented_line == line), "{line}\n{example}");
        }
    }
}
