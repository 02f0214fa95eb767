//! Two binaries on one database, which answer the requests of a flow in turn.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Client;
use serde_json::{Map, Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::target::{Target, TargetFuture, Targets, WantedServer, fill_settings};
use super::worlds::TestServer;
use crate::FlowError;
use crate::format::Profile;
use crate::sources::message_source::MessageSource;
use crate::tokens::sign_token;

/// The longest start of a server, which may migrate the database.
const START_LIMIT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The servers of one flow.
struct Pair {
    processes: [Child; 2],
    relay: JoinHandle<()>,
    /// The server that answers the next request.
    current: Arc<AtomicUsize>,
    /// The world whose database they use.
    world: String,
}

/// Starts two binaries for each flow; requests alternate between them.
pub struct UpgradeTargets {
    /// Provides databases and receives mails.
    server: TestServer,
    client: Client,
    binaries: [PathBuf; 2],
    pairs: Mutex<HashMap<String, Pair>>,
}

impl UpgradeTargets {
    /// Uses the databases and the mailbox of this test server.
    pub fn new(server: TestServer, client: Client, old: PathBuf, new: PathBuf) -> Self {
        Self { server, client, binaries: [old, new], pairs: Mutex::default() }
    }

    /// Ends the test server.
    pub async fn stop(self) {
        self.server.stop().await;
    }

    async fn start(&self, wanted: &WantedServer) -> Result<Target, FlowError> {
        let failed =
            |error: std::io::Error| FlowError::new(format!("no port: {error}"), "check the limits of the system");
        let world = self.server.api().call("POST", "/worlds", Some(&json!({ "profile": "gotrue" }))).await?;
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let base = format!("http://{}", listener.local_addr().map_err(failed)?);
        let mut names = wanted.names.clone();
        names.insert("base".to_owned(), base.as_str().into());
        names.insert("project".to_owned(), base.as_str().into());
        let filled = fill_settings(&Value::Object(wanted.settings.env.clone()), &names)?;
        let mut env = filled.as_object().cloned().unwrap_or_default();
        self.add_defaults(&mut env, &base, &world);
        let ports = [free_port().map_err(failed)?, free_port().map_err(failed)?];
        // One after the other: each may migrate the database.
        let old = self.start_process(&self.binaries[0], ports[0], &env).await?;
        let new = self.start_process(&self.binaries[1], ports[1], &env).await?;
        let current = Arc::<AtomicUsize>::default();
        let relay = tokio::spawn(relay(listener, ports, Arc::clone(&current)));
        let id = world["id"].as_str().unwrap_or_default().to_owned();
        let pair = Pair { processes: [old, new], relay, current, world: id };
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner).insert(base.clone(), pair);
        let secret = env["GOTRUE_JWT_SECRET"].as_str().unwrap_or_default().to_owned();
        let token = |role: &str| {
            let claims = json!({ "role": role, "iss": "supabase", "iat": 1_700_000_000, "exp": 4_000_000_000_u64 });
            Some(sign_token(&claims, &secret))
        };
        Ok(Target {
            project: base.clone(),
            base,
            profile: Profile::Gotrue,
            publishable_key: token("anon"),
            secret_key: token("service_role"),
            jwt_secret: Some(secret.clone()),
            env,
            names: wanted.names.clone(),
            messages: self.server.announced("mailpit_url").map(|url| MessageSource::Mailpit { url: url.to_owned() }),
            ..Target::default()
        })
    }

    /// Adds what the settings of a flow leave to its server.
    fn add_defaults(&self, env: &mut Map<String, Value>, base: &str, world: &Value) {
        let mail_port = self.server.announced_number("smtp_port").unwrap_or_default().to_string();
        let secret = world["jwt_secret"].as_str().unwrap_or_default();
        let defaults = [
            ("GOTRUE_JWT_SECRET", secret),
            ("GOTRUE_SITE_URL", "http://localhost:3000"),
            ("GOTRUE_JWT_AUD", "authenticated"),
            ("GOTRUE_JWT_DEFAULT_GROUP_NAME", "authenticated"),
            ("GOTRUE_JWT_ADMIN_ROLES", "service_role,supabase_admin"),
            ("GOTRUE_JWT_EXP", "3600"),
            ("GOTRUE_EXTERNAL_EMAIL_ENABLED", "true"),
            ("GOTRUE_SMTP_ADMIN_EMAIL", "auth@example.com"),
        ];
        for (name, value) in defaults {
            env.entry(name.to_owned()).or_insert_with(|| value.into());
        }
        let loopback = Ipv4Addr::LOCALHOST.to_string();
        let database = world["database_url_tcp"].as_str().unwrap_or_default();
        for (name, value) in [
            ("API_EXTERNAL_URL", base),
            ("GOTRUE_DB_DRIVER", "postgres"),
            ("GOTRUE_DB_MAX_POOL_SIZE", "4"),
            ("GOTRUE_API_HOST", &loopback),
            ("DATABASE_URL", database),
            ("GOTRUE_SMTP_HOST", &loopback),
            ("GOTRUE_SMTP_PORT", &mail_port),
            ("GOTRUE_SMTP_USER", "replay"),
            ("GOTRUE_SMTP_PASS", "replay"),
        ] {
            env.insert(name.to_owned(), value.into());
        }
    }

    async fn start_process(&self, binary: &Path, port: u16, env: &Map<String, Value>) -> Result<Child, FlowError> {
        let place = binary.display().to_string();
        let failed = |problem: String| {
            FlowError::new(format!("{place}: {problem}"), "name two binaries: basalt, or GoTrue's server")
        };
        let version =
            Command::new(binary).arg("--version").output().await.map_err(|error| failed(error.to_string()))?;
        let is_basalt = version.stdout.starts_with(b"basalt");
        let mut command = Command::new(binary);
        if is_basalt {
            command.arg("gotrue");
        }
        for (name, value) in env {
            let mut value = crate::expressions::as_text(value).into_owned();
            if name == "DATABASE_URL" && !is_basalt {
                // GoTrue's tables are found by the path of its own role.
                value.push_str(if value.contains('?') { "&search_path=auth" } else { "?search_path=auth" });
            }
            command.env(name, value);
        }
        command.env("PORT", port.to_string()).env("LOG_LEVEL", "error").env("GOTRUE_LOG_LEVEL", "error");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        if let Some(folder) = binary.parent().filter(|folder| folder.join("migrations").is_dir()) {
            command.current_dir(folder);
        }
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let started = Instant::now();
        while started.elapsed() < START_LIMIT {
            if let Ok(Some(status)) = child.try_wait() {
                return Err(failed(format!("it ended with {status} before it served")));
            }
            match self.client.get(format!("http://127.0.0.1:{port}/health")).send().await {
                Ok(response) if response.status().is_success() => return Ok(child),
                _ => sleep(POLL_INTERVAL).await,
            }
        }
        Err(failed("it does not serve within a minute".to_owned()))
    }
}

impl Targets for UpgradeTargets {
    fn open<'a>(&'a self, wanted: &'a WantedServer) -> TargetFuture<'a, Arc<Target>> {
        Box::pin(async { self.start(wanted).await.map(Arc::new) })
    }

    fn before_step<'a>(&'a self, target: &'a Target, number: usize) -> TargetFuture<'a, ()> {
        Box::pin(async move {
            let pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(pair) = pairs.get(&target.base) {
                pair.current.store(number % 2, Ordering::Relaxed);
            }
            Ok(())
        })
    }

    fn close<'a>(&'a self, target: &'a Target) -> TargetFuture<'a, ()> {
        Box::pin(async move {
            let pair = self.pairs.lock().unwrap_or_else(PoisonError::into_inner).remove(&target.base);
            let Some(mut pair) = pair else { return Ok(()) };
            pair.relay.abort();
            for process in &mut pair.processes {
                let _ = process.kill().await;
            }
            self.server.api().call("DELETE", &format!("/worlds/{}", pair.world), None).await.map(drop)
        })
    }
}

fn free_port() -> Result<u16, std::io::Error> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Passes each connection to the server whose turn it is.
async fn relay(listener: TcpListener, ports: [u16; 2], current: Arc<AtomicUsize>) {
    while let Ok((mut client, _)) = listener.accept().await {
        let address = SocketAddr::from(([127, 0, 0, 1], ports[current.load(Ordering::Relaxed) % 2]));
        tokio::spawn(async move {
            if let Ok(mut server) = TcpStream::connect(address).await {
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            }
        });
    }
}
