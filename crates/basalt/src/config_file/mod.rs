//! `config.toml` in the format of the Supabase CLI: reading, validation, and conversion to settings.
//! The settings are those of the auth server and those of `[basalt]`. All problems are reported at once, with their
//! lines.

mod archive;
mod basalt;
mod bounds;
mod brand;
mod chosen_secrets;
pub(crate) mod data_api;
mod expected_failures;
mod inventory;
mod key;
mod key_names;
mod keys;
mod limits;
mod locations;
mod mail_templates;
pub(crate) mod mailed_links;
mod origins;
mod payment;
mod payment_keys;
mod read;
mod seller;
mod settings;
pub(crate) mod storage;
mod submissions;
mod suggestion;
#[cfg(test)]
mod tests;
mod unset;
mod upstreams;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use gateway::Service;
use gotrue_rs::config::Notice;
use messages::MessageSender;
use url::Url;

pub(crate) use basalt::{BasaltSettings, LogFormat};
pub(crate) use inventory::{FileKey, KeyEffect, list_keys};
#[cfg(test)]
pub(crate) use inventory::{list_ignored_names, list_service_tables};
pub(crate) use key_names::{find_key_name, replace_setting_names};
use locations::SettingLocations;
pub(crate) use seller::SellerSettings;
pub(crate) use settings::{ServerFacts, Settings};
pub(crate) use submissions::WebhookAddress;

use crate::problem::{Problem, locate};
use read::{Environment, UnknownKey, Value, Values};
use storage::BucketSettings;

/// The default port of the Supabase CLI.
const DEFAULT_PORT: u16 = 54_321;

/// A validated configuration file.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    values: Values,
    /// The table `[basalt]`.
    pub basalt: BasaltSettings,
}

/// A secret of `[db.vault]`.
pub(crate) struct VaultSecret<'a> {
    /// Its key in the table.
    pub name: &'a str,
    /// What is encrypted; not empty.
    pub value: &'a str,
}

/// The ports of `[local_smtp]` in `config.toml`; `None` opens none, 0 is any free one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MailboxPorts {
    /// `port`: the APIs of Mailpit and Inbucket.
    pub http: Option<u16>,
    /// `smtp_port`: receives mails of an application.
    pub smtp: Option<u16>,
}

/// The settings of `[functions.NAME]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FunctionSettings {
    /// Whether the function is served.
    pub enabled: bool,
    /// Whether a request must carry a token or API key.
    pub verify_jwt: bool,
}

impl FunctionSettings {
    /// Returns the settings of a function; by default it is enabled and requires a token.
    pub(crate) fn for_function(functions: &BTreeMap<String, Self>, name: &str) -> Self {
        functions.get(name).copied().unwrap_or(Self { enabled: true, verify_jwt: true })
    }
}

impl ConfigFile {
    /// Reads `text`, the contents of the file at `path`.
    /// `environment` resolves the variables of `env(NAME)`.
    #[cfg(test)]
    pub(crate) fn read(path: &Path, text: &str, environment: &Environment<'_>) -> Result<Self, Vec<Problem>> {
        let (file, problems) = Self::inspect(path, text, environment)?;
        if problems.is_empty() { Ok(file) } else { Err(problems) }
    }

    /// Reads the text like `read`, but returns its problems together with what can be used.
    ///
    /// # Errors
    /// The text is not TOML.
    pub(crate) fn inspect(
        path: &Path,
        text: &str,
        environment: &Environment<'_>,
    ) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let (mut values, mut problems) = read::read(text, environment)?;
        problems.extend(unset::apply(&mut values));
        let basalt = BasaltSettings::from_values(&values, &mut problems);
        for key in ["api.port", "db.port"] {
            if values.text(key).is_some_and(|port| port.parse::<u16>().is_err()) {
                problems.push(values.build_problem(key, "must be a port, from 0 (any that is free) to 65535"));
            }
        }
        problems.extend(bounds::find_problems(&values));
        problems.sort_by_key(|problem| problem.line);
        Ok((Self { path: path.to_owned(), values, basalt }, problems))
    }

    /// Makes messages name the lines of `original`, of which and of other settings the text of this file was made.
    pub(crate) fn take_lines(&mut self, original: &Self) {
        self.values.take_lines(&original.values);
    }

    /// Returns the names and lines of the settings, for explanations.
    pub(crate) fn locations(&self) -> SettingLocations {
        SettingLocations::new(&self.path, &self.values)
    }

    /// Returns the line of a key, or of the innermost table that it belongs to.
    pub(crate) fn find_line(&self, key: &str) -> Option<usize> {
        self.values.find_line(key)
    }

    /// Returns the file's path as given.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the port to listen on.
    pub(crate) fn port(&self) -> u16 {
        self.values.text("api.port").and_then(|port| port.parse().ok()).unwrap_or(DEFAULT_PORT)
    }

    /// Returns the address to listen on; loopback by default.
    pub(crate) fn host(&self) -> IpAddr {
        self.basalt.host
    }

    /// Returns the URL for clients, if it differs from the listening address.
    pub(crate) fn external_url(&self) -> Option<&str> {
        self.values.text("api.external_url").map(|url| url.trim_end_matches('/')).filter(|url| !url.is_empty())
    }

    /// Returns a configured key.
    /// `name` is `jwt_secret`, `anon_key`, `service_role_key`, `publishable_key` or `secret_key`. Published keys are none.
    pub(crate) fn configured_key(&self, name: &str) -> Option<&str> {
        if self.basalt.has_demo_keys {
            return None;
        }
        self.values.text(&format!("auth.{name}")).filter(|key| !key.is_empty())
    }

    /// Returns whether the file sets a key, such as `auth.rate_limit.email_sent`.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.values.text(key).is_some_and(|text| !text.is_empty())
    }

    /// Returns the TCP port of the embedded database of test servers and development, if the file sets one.
    pub(crate) fn database_port(&self) -> Option<u16> {
        self.values.text("db.port").and_then(|port| port.parse().ok())
    }

    /// Returns whether `[basalt.shop]` asks for the shop.
    pub(crate) fn has_shop(&self) -> bool {
        self.values.has_table("basalt.shop")
    }

    /// Ignores the mail server and TLS, for test servers.
    pub(crate) fn disable_mail_server_and_tls(&mut self) {
        self.values.switch_off(unset::MAIL_SERVER);
        self.values.switch_off("api.tls");
        self.basalt.tls = None;
    }

    /// Returns whether the migrations of the project are applied to the embedded database.
    pub(crate) fn has_migrations(&self) -> bool {
        self.values.is_enabled("db.migrations.enabled", true)
    }

    /// Returns the secrets of `[db.vault]` that have a value.
    pub(crate) fn vault_secrets(&self) -> Vec<VaultSecret<'_>> {
        let is_secret = |value: &Value| match value.path.as_slice() {
            [db, vault, _] => db == "db" && vault == "vault" && !value.text.is_empty(),
            _ => false,
        };
        let values = self.values.enabled_values().filter(|value| is_secret(value));
        values.map(|value| VaultSecret { name: &value.path[2], value: &value.text }).collect()
    }

    /// Returns the patterns of the seed files, relative to the file's folder; none if seeding is disabled.
    pub(crate) fn seed_patterns(&self) -> Vec<String> {
        if !self.values.is_enabled("db.seed.enabled", true) {
            return Vec::new();
        }
        self.values.get("db.seed.sql_paths").map_or_else(|| vec!["seed.sql".to_owned()], |value| value.items.clone())
    }

    /// Returns notices about variables that are not set and not needed, keys that are not known, and expected failures.
    pub(crate) fn notices(&self) -> Vec<Notice> {
        let mut notices = unset::list_notices(&self.values);
        let unknown = |key: &UnknownKey| {
            Notice::warning(locate(key.line, &key.name), "is not known to this version of Basalt and has no effect")
        };
        notices.extend(self.values.unknown.iter().map(unknown));
        notices.extend(self.values.get("auth.enabled").filter(|switch| switch.text == "false").map(|switch| {
            let text = "is false, and the auth API is served anyway: the other APIs verify its tokens";
            Notice::warning(locate(switch.line, "auth.enabled"), text)
        }));
        notices.extend(self.values.get("auth.jwt_secret").filter(|_| self.basalt.has_demo_keys).map(|secret| {
            let text = "is the one that Supabase publishes: the server has the published keys, and answers this machine alone. \
                        Remove it to have keys of your own made";
            Notice::warning(locate(secret.line, "auth.jwt_secret"), text)
        }));
        notices.extend(self.expected_failures());
        notices.extend(self.missing_objects());
        notices
    }

    /// Returns a notice for each bucket whose `objects_path` names no folder.
    pub(crate) fn missing_objects(&self) -> Vec<Notice> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let describe = |bucket: &BucketSettings| {
            let path = bucket.objects_path.as_ref().filter(|path| !folder.join(path).is_dir())?;
            let key = format!("storage.buckets.{}.objects_path", bucket.name);
            let line = self.values.get(&key).and_then(|value| value.line);
            let text = format!("there is no folder {path}, so that nothing is uploaded into the bucket");
            Some(Notice::warning(locate(line, &key), text))
        };
        let storage = &self.basalt.storage;
        storage.buckets.iter().filter(|_| storage.is_enabled).filter_map(describe).collect()
    }

    /// Returns the names of keys that are not known and have no effect.
    pub(crate) fn unknown_keys(&self) -> impl Iterator<Item = &str> {
        self.values.unknown.iter().map(|key| key.name.as_str())
    }

    /// Returns a notice if the file asks for another major release of PostgreSQL than the one that runs.
    pub(crate) fn describe_other_release(&self, running: u32) -> Option<Notice> {
        let value = self.values.get("db.major_version")?;
        let wanted: u32 = value.text.parse().ok().filter(|wanted| *wanted != running)?;
        let text = format!(
            "PostgreSQL {wanted} is asked for, and {running} runs: install PostgreSQL {wanted} and name its programs, \
             PG_BIN_DIR=/usr/lib/postgresql/{wanted}/bin (`basalt db upgrade` moves a database that there is already to a \
             newer release), or set major_version = {running}"
        );
        Some(Notice::warning(locate(value.line, "db.major_version"), text))
    }

    /// Returns the settings of the auth server.
    pub(crate) fn settings(&self, facts: &ServerFacts<'_>) -> Settings {
        Settings::from_values(&self.values, facts)
    }

    /// Returns the settings of the configured functions by name.
    pub(crate) fn functions(&self) -> BTreeMap<String, FunctionSettings> {
        let settings = |name: &str| FunctionSettings {
            enabled: self.values.is_enabled(&format!("functions.{name}.enabled"), true),
            verify_jwt: self.values.is_enabled(&format!("functions.{name}.verify_jwt"), true),
        };
        self.values.names_in_table("functions").into_iter().map(|name| (name.to_owned(), settings(name))).collect()
    }

    /// Returns whether the operator names the site of the project.
    pub(crate) fn names_site(&self) -> bool {
        self.values.text("auth.site_url").is_some_and(|url| !url.is_empty())
    }

    /// Returns whether the roles of the APIs have rights on new tables of schema `public` by themselves.
    pub(crate) fn exposes_new_tables(&self) -> bool {
        self.values.is_enabled("api.auto_expose_new_tables", true)
    }

    /// Returns the id of the project, if there is one that can be a name.
    pub(crate) fn project_id(&self) -> Option<&str> {
        self.values.text("project_id").filter(|id| !id.is_empty() && brand::is_line(id))
    }

    /// Returns whether mail that is not sent is shown in the development inbox.
    pub(crate) fn inbox_enabled(&self) -> bool {
        self.values.is_enabled("inbucket.enabled", true)
    }

    /// Returns the ports of `[local_smtp]` or `[inbucket]`, or free ones in their place.
    pub(crate) fn mailbox_ports(&self, are_free: bool) -> MailboxPorts {
        let configured = |key: &str| self.values.text(key).and_then(|port| port.parse().ok());
        let port = |key: &str| configured(key).map(|port| if are_free { 0 } else { port });
        MailboxPorts { http: port("inbucket.port"), smtp: port("inbucket.smtp_port") }
    }

    /// Returns the sender of mails while no mail server is configured; `project` is the name of the project.
    pub(crate) fn mail_sender(&self, project: &str) -> MessageSender {
        let text = |name: &str, usual: &str| self.values.text(&format!("inbucket.{name}")).unwrap_or(usual).to_owned();
        let site = self.values.text("auth.site_url").and_then(|url| Url::parse(url).ok());
        let host = site.as_ref().and_then(Url::domain).unwrap_or("localhost");
        MessageSender { name: text("sender_name", project), address: text("admin_email", &format!("no-reply@{host}")) }
    }

    /// Returns a sentence about the tables of services that Basalt does not have, if there are any.
    pub(crate) fn unsupported_tables_notice(&self) -> Option<String> {
        let is_forwarded = |table: &str| {
            let service = match table {
                "realtime" => Service::Realtime,
                "studio" => Service::Studio,
                "edge_runtime" => Service::Functions,
                _ => return false,
            };
            self.basalt.upstreams.get(service).is_some()
        };
        let tables = self.values.unsupported_tables.iter().filter(|(table, _)| !is_forwarded(table));
        let tables: Vec<String> = tables.map(|(table, what)| format!("[{table}] ({what})")).collect();
        (!tables.is_empty()).then(|| format!("not served by Basalt, and left aside: {}", tables.join(", ")))
    }
}
