//! Two servers of the profile `serve`, with one configuration and the same keys.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use serde_json::{Map, Value, json};
use tokio::process::Command;

use super::process::{Process, create_folder, free_port, is_basalt};
use super::{NAMES, Surroundings, UpgradeTargets};
use crate::FlowError;
use crate::format::Profile;
use crate::sources::message_source::MessageSource;
use crate::targets::target::Target;

/// The file of the signing keys, beside the configuration.
const SIGNING_KEYS: &str = "signing_keys.json";
/// A limit that no flow reaches.
const UNLIMITED: u32 = 1_000_000;
/// The limits that test servers do not have unless the settings name them.
const LIMITS: [&str; 7] =
    ["email_sent", "sms_sent", "anonymous_users", "token_refresh", "sign_in_sign_ups", "token_verifications", "web3"];
/// What two servers on this machine cannot have: senders, TLS, ports of their own.
const REMOVED: [&str; 14] = [
    "api.port",
    "api.tls",
    "auth.external_url",
    "auth.email.smtp",
    "auth.sms.messagebird",
    "auth.sms.textlocal",
    "auth.sms.twilio",
    "auth.sms.twilio_verify",
    "auth.sms.vonage",
    "basalt.metrics",
    "basalt.metrics_port",
    "basalt.tls",
    "inbucket",
    "local_smtp",
];

impl UpgradeTargets {
    /// Starts both with the configuration of the flow.
    pub(super) async fn start_serve(
        &self,
        surroundings: &Surroundings<'_>,
    ) -> Result<([Process; 2], Target), FlowError> {
        let Surroundings { wanted, url, .. } = surroundings;
        let base = format!("{url}/auth/v1");
        let mut config = surroundings.fill(&wanted.settings.config, &base)?;
        complete(&mut config, surroundings);
        let hint = "settings.config has the shape of config.toml";
        let config = toml::to_string(&config)
            .map_err(|error| FlowError::new(format!("the settings cannot be written as TOML: {error}"), hint))?;
        // One after the other: each may migrate the database.
        let old = self.start_with_configuration(0, &config, surroundings).await?;
        let new = self.start_with_configuration(1, &config, surroundings).await?;
        let own = |name: &str| Some(surroundings.text(name).to_owned());
        let target = Target {
            base,
            project: url.clone(),
            profile: Profile::Serve,
            publishable_key: own("publishable_key"),
            secret_key: own("secret_key"),
            needs_key: true,
            jwt_secret: own("jwt_secret"),
            names: wanted.names.clone(),
            database_url: own("database_url_tcp"),
            // The messages are in the database, so either server has all of them.
            messages: Some(MessageSource::MessageApi { url: format!("{url}/_dev/messages"), key: None }),
            is_isolated: true,
            is_alternating: true,
            ..Target::default()
        };
        Ok(([old, new], target))
    }

    async fn start_with_configuration(
        &self,
        number: usize,
        config: &str,
        surroundings: &Surroundings<'_>,
    ) -> Result<Process, FlowError> {
        let binary = if number == 0 { &self.options.old } else { &self.options.new };
        if !is_basalt(binary).await? {
            return Err(FlowError::new(
                format!("{}: this flow has the profile serve, which only basalt has", binary.display()),
                "replay it on two binaries of basalt, or select flows of the profile gotrue with --only",
            ));
        }
        let folder = self.options.folder.join(surroundings.text("id")).join(NAMES[number]);
        create_folder(&folder)?;
        let keys = json!([self.options.signing_key]).to_string();
        write(&folder.join("config.toml"), config)?;
        write(&folder.join(SIGNING_KEYS), &keys)?;
        let port = free_port()?;
        let mut command = Command::new(binary);
        command.args(["serve", "--json", "--port", &port.to_string(), "--config"]).arg(folder.join("config.toml"));
        command.arg("--data").arg(folder.join("data")).current_dir(&folder);
        command.env("DATABASE_URL", surroundings.text("database_url_tcp")).env_remove("DATABASE_URL_FILE");
        let log = folder.join("server.log");
        Process::start(&self.client, (binary, command), (port, "/auth/v1/health"), &log).await
    }
}

/// Completes settings as those of a test server, with the keys of the world.
///
/// What two servers on one machine cannot have is removed.
fn complete(config: &mut Map<String, Value>, surroundings: &Surroundings<'_>) {
    for path in REMOVED {
        remove(config, path);
    }
    for limit in LIMITS {
        set_default(config, &format!("auth.rate_limit.{limit}"), json!(UNLIMITED));
    }
    for limit in ["wrong_passwords", "wrong_codes", "messages"] {
        set_default(config, &format!("basalt.rate_limit.{limit}"), json!(0));
    }
    for pause in ["auth.email.max_frequency", "auth.sms.max_frequency", "auth.mfa.phone.max_frequency"] {
        set_default(config, pause, json!("0s"));
    }
    set_default(config, "auth.signing_keys_path", json!(SIGNING_KEYS));
    set_default(config, "basalt.database.max_connections", json!(4));
    for key in ["jwt_secret", "anon_key", "service_role_key", "publishable_key", "secret_key"] {
        set(config, &format!("auth.{key}"), json!(surroundings.text(key)));
    }
    set(config, "api.external_url", json!(surroundings.url));
    set(config, "basalt.host", json!(Ipv4Addr::LOCALHOST));
    set(config, "basalt.log_level", json!("error"));
    // Without a mail server messages are kept for these pages.
    set(config, "basalt.development_pages", json!(true));
}

/// Sets a value below tables, which are created; what is no table stays, and the server refuses it.
fn set(config: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(config.insert(path.to_owned(), value)),
        Some((name, rest)) => {
            if let Value::Object(members) = config.entry(name.to_owned()).or_insert_with(|| json!({})) {
                set(members, rest, value);
            }
        }
    }
}

fn set_default(config: &mut Map<String, Value>, path: &str, value: Value) {
    let mut parts = path.split('.');
    let first = parts.next().and_then(|name| config.get(name));
    if parts.try_fold(first, |found, name| Some(found?.get(name))).flatten().is_none() {
        set(config, path, value);
    }
}

fn remove(config: &mut Map<String, Value>, path: &str) {
    match path.split_once('.') {
        None => drop(config.shift_remove(path)),
        Some((name, rest)) => {
            if let Some(Value::Object(members)) = config.get_mut(name) {
                remove(members, rest);
            }
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), FlowError> {
    fs::write(path, text)
        .map_err(|error| FlowError::new(format!("{}: {error}", path.display()), "check the temporary folder"))
}
