//! Two binaries on one database, which answer the requests of a flow in turn.

mod gotrue;
mod process;
mod serve;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Client;
use serde_json::{Map, Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use self::process::Process;
use super::target::{Target, TargetFuture, Targets, WantedServer, fill_settings};
use super::worlds::TestServer;
use crate::FlowError;
use crate::format::Profile;

/// The names of the two servers in folders and logs.
const NAMES: [&str; 2] = ["old", "new"];

/// The servers of one flow.
struct Pair {
    processes: [Process; 2],
    relay: JoinHandle<()>,
    /// The server that answers the next request.
    current: Arc<AtomicUsize>,
    /// The world whose database they use.
    world: String,
}

/// What two binaries are started with.
#[derive(Debug, Clone)]
pub struct UpgradeOptions {
    /// The binary that is replaced.
    pub old: PathBuf,
    /// The binary that replaces it.
    pub new: PathBuf,
    /// A folder for their configurations, data and logs.
    pub folder: PathBuf,
    /// The key of access tokens of the profile `serve`, as a JSON Web Key (RFC 7517).
    pub signing_key: Map<String, Value>,
}

/// Starts two binaries for each flow; requests alternate between them.
pub struct UpgradeTargets {
    /// Provides databases and receives mails.
    server: TestServer,
    client: Client,
    options: UpgradeOptions,
    pairs: Mutex<HashMap<String, Pair>>,
}

/// Where the servers of a flow are reached, and what they have in common.
struct Surroundings<'a> {
    wanted: &'a WantedServer,
    /// The URL of the relay.
    url: String,
    /// The description of the world whose database and keys they use.
    world: Value,
}

impl Surroundings<'_> {
    /// Returns a text of the world.
    fn text(&self, name: &str) -> &str {
        self.world[name].as_str().unwrap_or_default()
    }

    /// Fills the names of the servers, whose auth API has this URL, into settings.
    fn fill(&self, settings: &Map<String, Value>, base: &str) -> Result<Map<String, Value>, FlowError> {
        let mut names = self.wanted.names.clone();
        names.insert("base".to_owned(), base.into());
        names.insert("project".to_owned(), self.url.as_str().into());
        let filled = fill_settings(&Value::Object(settings.clone()), &names)?;
        Ok(filled.as_object().cloned().unwrap_or_default())
    }
}

impl UpgradeTargets {
    /// Uses the databases and the mailbox of this test server.
    pub fn new(server: TestServer, client: Client, options: UpgradeOptions) -> Self {
        Self { server, client, options, pairs: Mutex::default() }
    }

    /// Ends the test server.
    pub async fn stop(self) {
        self.server.stop().await;
    }

    async fn start(&self, wanted: &WantedServer) -> Result<Target, FlowError> {
        let failed =
            |error: std::io::Error| FlowError::new(format!("no port: {error}"), "check the limits of the system");
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let url = format!("http://{}", listener.local_addr().map_err(failed)?);
        // A world of this profile has no task that uses its database.
        let world = self.server.api().call("POST", "/worlds", Some(&json!({ "profile": "gotrue" }))).await?;
        let surroundings = Surroundings { wanted, url, world };
        let started = match wanted.profile {
            Profile::Gotrue => self.start_gotrue(&surroundings).await,
            Profile::Serve => self.start_serve(&surroundings).await,
        };
        let world = surroundings.text("id").to_owned();
        let (processes, target) = match started {
            Ok(started) => started,
            Err(error) => {
                // The first error is the one to report.
                let _ = self.delete_world(&world).await;
                return Err(error);
            }
        };
        let current = Arc::<AtomicUsize>::default();
        let ports = [processes[0].port, processes[1].port];
        let relay = http_edge::spawn_task(relay(listener, ports, Arc::clone(&current)));
        let pair = Pair { processes, relay, current, world };
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner).insert(surroundings.url, pair);
        Ok(target)
    }

    async fn delete_world(&self, id: &str) -> Result<(), FlowError> {
        self.server.api().call("DELETE", &format!("/worlds/{id}"), None).await.map(drop)
    }
}

impl Targets for UpgradeTargets {
    fn open<'a>(&'a self, wanted: &'a WantedServer) -> TargetFuture<'a, Arc<Target>> {
        Box::pin(async { self.start(wanted).await.map(Arc::new) })
    }

    fn before_step<'a>(&'a self, target: &'a Target, number: usize) -> TargetFuture<'a, ()> {
        Box::pin(async move {
            let pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(pair) = pairs.get(&target.project) {
                pair.current.store(number % 2, Ordering::Relaxed);
            }
            Ok(())
        })
    }

    fn close<'a>(&'a self, target: &'a Target) -> TargetFuture<'a, ()> {
        Box::pin(async move {
            let pair = self.pairs.lock().unwrap_or_else(PoisonError::into_inner).remove(&target.project);
            let Some(pair) = pair else { return Ok(()) };
            pair.relay.abort();
            for process in pair.processes {
                process.end().await;
            }
            self.delete_world(&pair.world).await
        })
    }
}

/// Passes each connection to the server whose turn it is.
async fn relay(listener: TcpListener, ports: [u16; 2], current: Arc<AtomicUsize>) {
    while let Ok((mut client, _)) = listener.accept().await {
        let address = SocketAddr::from(([127, 0, 0, 1], ports[current.load(Ordering::Relaxed) % 2]));
        http_edge::spawn_task(async move {
            if let Ok(mut server) = TcpStream::connect(address).await {
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            }
        });
    }
}
