//! Worlds of a test server: each replay of a flow has its own.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::target::{Target, TargetFuture, Targets, WantedServer, fill_settings};
use super::test_api::TestApiClient;
use crate::FlowError;
use crate::format::Profile;
use crate::sources::message_source::MessageSource;
use crate::tokens::sign_token;

/// The longest start of a test server; the first one of a user prepares a database.
const START_LIMIT: Duration = Duration::from_mins(2);

/// A test server that ends with this value.
#[derive(Debug)]
pub struct TestServer {
    api: TestApiClient,
    /// The line that it printed when it was ready.
    announcement: Value,
    child: Option<Child>,
}

impl TestServer {
    /// Starts `binary serve --test` in this folder, which has no configuration.
    ///
    /// # Errors
    /// The binary is missing, or it does not start.
    pub async fn start(client: Client, binary: &Path, folder: &Path, arguments: &[&str]) -> Result<Self, FlowError> {
        let place = binary.display().to_string();
        let mut child = Command::new(binary)
            .args(["serve", "--test", "--json", "--port", "0"])
            .args(arguments)
            .current_dir(folder)
            // Refused requests are part of flows.
            .env("LOG_LEVEL", "error")
            .env_remove("DATABASE_URL")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| FlowError::new(format!("{place} cannot be run: {error}"), "check the path"))?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            // A failure leaves the line empty.
            let _ = timeout(START_LIMIT, BufReader::new(output).read_line(&mut line)).await;
        }
        let announcement: Value = serde_json::from_str(&line).unwrap_or_default();
        let (Some(url), Some(key)) = (announcement["test_url"].as_str(), announcement["test_key"].as_str()) else {
            return Err(FlowError::new(
                format!("{place} ended before it served"),
                format!("run {place} serve --test to see why"),
            ));
        };
        let api = TestApiClient::new(client, url.to_owned(), key.to_owned());
        Ok(Self { api, announcement, child: Some(child) })
    }

    /// Uses a server that another process started.
    pub fn attach(client: Client, url: String, key: String) -> Self {
        Self { api: TestApiClient::new(client, url, key), announcement: Value::Null, child: None }
    }

    /// Returns its test API.
    pub fn api(&self) -> &TestApiClient {
        &self.api
    }

    /// Returns a text of the line that it printed when it was ready, such as `url`.
    pub fn announced(&self, name: &str) -> Option<&str> {
        self.announcement[name].as_str()
    }

    /// Returns a number of that line, such as `smtp_port`.
    pub fn announced_number(&self, name: &str) -> Option<u64> {
        self.announcement[name].as_u64()
    }

    /// Ends it and waits for its end.
    pub async fn stop(mut self) {
        if let Some(mut child) = self.child.take() {
            if let Some(id) = child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?)) {
                // It deletes its folder.
                let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
            }
            if timeout(Duration::from_secs(20), child.wait()).await.is_err() {
                let _ = child.kill().await;
            }
        }
    }
}

/// A world for each replay.
#[derive(Debug)]
pub struct WorldTargets {
    server: TestServer,
}

impl WorldTargets {
    /// Uses the worlds of this server.
    pub fn new(server: TestServer) -> Self {
        Self { server }
    }

    /// Ends the server.
    pub async fn stop(self) {
        self.server.stop().await;
    }

    async fn create(&self, wanted: &WantedServer) -> Result<Target, FlowError> {
        let settings = &wanted.settings;
        let (member, configured) = match wanted.profile {
            Profile::Gotrue => ("env", &settings.env),
            Profile::Serve => ("config", &settings.config),
        };
        let configured = Value::Object(configured.clone());
        let needs_url = ["{{base", "{{project"].iter().any(|name| configured.to_string().contains(name));
        let mut body = json!({ "name": shorten(&wanted.flow), "profile": wanted.profile.as_str() });
        if !needs_url {
            body[member] = fill_settings(&configured, &wanted.names)?;
        }
        let world = self.server.api.call("POST", "/worlds", Some(&body)).await?;
        let text = |name: &str| world[name].as_str().unwrap_or_default().to_owned();
        let api = self.server.api.below(&format!("/worlds/{}", text("id")));
        let project = text("url");
        let mut names = wanted.names.clone();
        names.insert("project".to_owned(), project.as_str().into());
        names.insert("base".to_owned(), format!("{project}/auth/v1").into());
        let filled = fill_settings(&configured, &names)?;
        if needs_url {
            api.call("PATCH", "/config", Some(&filled)).await?;
        }
        let env = if wanted.profile == Profile::Gotrue {
            filled.as_object().cloned().unwrap_or_default()
        } else {
            Map::new()
        };
        let own_secret = env.get("GOTRUE_JWT_SECRET").and_then(Value::as_str).map(str::to_owned);
        let (publishable, secret) = keys(&world, wanted.profile, own_secret.as_deref());
        Ok(Target {
            base: format!("{project}/auth/v1"),
            project,
            aliases: Vec::new(),
            profile: wanted.profile,
            publishable_key: Some(publishable),
            secret_key: Some(secret),
            needs_key: wanted.profile == Profile::Serve,
            jwt_secret: Some(own_secret.unwrap_or_else(|| text("jwt_secret"))),
            env,
            names: wanted.names.clone(),
            database_url: world["database_url_tcp"].as_str().or(world["database_url"].as_str()).map(str::to_owned),
            messages: Some(MessageSource::MessageApi {
                url: format!("{}/messages", api.url()),
                key: Some(api.key().to_owned()),
            }),
            test_api: Some(api),
            is_isolated: true,
            is_alternating: false,
        })
    }
}

/// Returns the keys of clients and servers: tokens in the profile `gotrue`, whose API knows no others.
fn keys(world: &Value, profile: Profile, own_secret: Option<&str>) -> (String, String) {
    let text = |name: &str| world[name].as_str().unwrap_or_default().to_owned();
    match (profile, own_secret) {
        (Profile::Serve, _) => (text("publishable_key"), text("secret_key")),
        (Profile::Gotrue, None) => (text("anon_key"), text("service_role_key")),
        (Profile::Gotrue, Some(secret)) => {
            let token = |role: &str| {
                let claims = json!({ "role": role, "iss": "supabase", "iat": 1_700_000_000, "exp": 4_000_000_000_u64 });
                sign_token(&claims, secret)
            };
            (token("anon"), token("service_role"))
        }
    }
}

/// Cuts a name to the length that worlds can have.
fn shorten(name: &str) -> String {
    let cleaned = name.chars().filter(|each| !each.is_control()).take(40).collect::<String>();
    if cleaned.is_empty() { "flow".to_owned() } else { cleaned }
}

impl Targets for WorldTargets {
    fn open<'a>(&'a self, wanted: &'a WantedServer) -> TargetFuture<'a, Arc<Target>> {
        Box::pin(async { self.create(wanted).await.map(Arc::new) })
    }

    fn close<'a>(&'a self, target: &'a Target) -> TargetFuture<'a, ()> {
        Box::pin(async {
            match &target.test_api {
                Some(api) => api.call("DELETE", "", None).await.map(drop),
                None => Ok(()),
            }
        })
    }
}
