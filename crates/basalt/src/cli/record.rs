//! `basalt record`: a recording proxy in front of a server, or the import of a HAR file.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use flows::format::Profile;
use flows::record::{
    HarOptions, ProxyLimits, ProxyOptions, RecordedUrls, Recorder, RecorderOptions, RecordingProxy, import_har,
};
use flows::replay::build_client;
use flows::targets::find_auth_api;
use reqwest::{Client, Url};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use crate::config_file::LogFormat;
use crate::logging;
use crate::plural::format_count;
use crate::shutdown::Shutdown;

/// The port of the proxy if none is given.
const DEFAULT_PORT: u16 = 54_399;

/// The long help of the command.
pub(super) const RECORD_HELP: &str = "Record the requests of an application as flows that can be replayed

The application talks to this proxy in place of its server: a hosted project, the stack of the Supabase CLI, GoTrue or
Basalt. Requests to the auth API, functions, the data API and the storage API are recorded. Each flow becomes one readable
file, written step by step; interrupt the command to finish. Ids, tokens, codes, addresses, numbers and passwords are
replaced by symbols, and texts of users, rows and contents of objects by generated ones, before anything is written.

A request belongs to the flow that its header x-flow-name names, or POST /_record/flow {\"name\": …} before it, or else
to the flow whose tokens it carries, or of the same client within --gap seconds.

With --har the requests come from a file that a browser or Playwright has exported.";

/// The arguments of `basalt record`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  basalt record --upstream https://abc.supabase.co --out flows
  basalt record --upstream http://127.0.0.1:9999 --port 54399 --name sign-up --out flows
  basalt record --har session.har --out flows")]
pub(super) struct RecordArguments {
    /// The server: the URL of a project or of an auth API
    #[arg(long, value_name = "URL", required_unless_present = "har")]
    upstream: Option<String>,
    /// Import this file in place of recording
    #[arg(long, value_name = "FILE", conflicts_with = "port")]
    har: Option<PathBuf>,
    /// The folder of the files
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The port of the proxy; 0 selects a free one [default: 54399]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// The address of the proxy; others than 127.0.0.1 let other machines in
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,
    /// The name of the flow, if it is only one
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Seconds without a request after which a client begins another flow
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    gap: f64,
    /// The profile of the replays [default: gotrue for an auth API at the root, else serve]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<ProfileName>,
    /// Print one line of JSON with the URL of the proxy when it is ready
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProfileName {
    Serve,
    Gotrue,
}

impl From<ProfileName> for Profile {
    fn from(profile: ProfileName) -> Self {
        match profile {
            ProfileName::Serve => Self::Serve,
            ProfileName::Gotrue => Self::Gotrue,
        }
    }
}

/// Records until it is interrupted, or imports a file.
pub(super) fn run(arguments: &RecordArguments) -> anyhow::Result<()> {
    logging::start("warn", LogFormat::Text, None)?;
    if let Some(file) = &arguments.har {
        return import(arguments, file);
    }
    let upstream = arguments.upstream.as_deref().context("--upstream names the server")?;
    require_no_user_information(upstream)?;
    // One thread for clients and server: a request that changes threads waits for the other one to wake.
    Builder::new_current_thread().enable_all().build()?.block_on(record(arguments, upstream))
}

fn import(arguments: &RecordArguments, file: &std::path::Path) -> anyhow::Result<()> {
    let (steps, files) = import_har(&HarOptions {
        file: file.to_owned(),
        folder: arguments.out.clone(),
        upstream: arguments.upstream.clone(),
        profile: arguments.profile.map_or(Profile::Serve, Profile::from),
        gap: arguments.gap,
        name: arguments.name.clone(),
    })?;
    report(arguments, steps, files)
}

/// Refuses a URL with a user name or a password.
///
/// The proxy would not send them, and links of the server have none.
fn require_no_user_information(upstream: &str) -> anyhow::Result<()> {
    let has_any = |url: Url| !url.username().is_empty() || url.password().is_some();
    if Url::parse(upstream).is_ok_and(has_any) {
        return Err(anyhow!(
            "the URL of --upstream contains a user name or a password, which is not sent to the server: leave it out"
        ));
    }
    Ok(())
}

async fn record(arguments: &RecordArguments, upstream: &str) -> anyhow::Result<()> {
    let client = build_client(true)?;
    let (project, base) = find_auth_api(&client, upstream).await?;
    let address = SocketAddr::new(arguments.listen, arguments.port.unwrap_or(DEFAULT_PORT));
    let listener = TcpListener::bind(address).await.with_context(|| format!("listening on {address}"))?;
    let url = format!("http://{}", listener.local_addr()?);
    let at_root = project == base;
    let profile = if at_root { Profile::Gotrue } else { Profile::Serve };
    let recorder = Recorder::new(RecorderOptions {
        folder: arguments.out.clone(),
        profile: arguments.profile.map_or(profile, Profile::from),
        gap: arguments.gap,
        name: arguments.name.clone(),
        urls: recorded_urls(&url, &project, &base),
        announced: fetch_settings(&client, &base).await,
    });
    let (proxy, thread) =
        RecordingProxy::new(ProxyOptions { project, base, limits: ProxyLimits::default() }, recorder)?;
    announce(arguments, &url, upstream)?;
    let shutdown = Shutdown::new();
    shutdown.begin_on_signals()?;
    proxy.serve(listener, shutdown.signal()).await;
    let mut recorder = thread.join().map_err(|_| anyhow!("the recorder failed"))?;
    let (steps, files) = recorder.counts();
    recorder.finish()?;
    report(arguments, steps, files)
}

/// Returns the addresses that the server and its clients use for the auth API and the project.
fn recorded_urls(url: &str, project: &str, base: &str) -> RecordedUrls {
    let local = url.replace(&Ipv4Addr::LOCALHOST.to_string(), "localhost");
    let mut bases = vec![base.to_owned(), format!("{url}/auth/v1"), format!("{local}/auth/v1")];
    let mut projects = vec![url.to_owned(), local];
    if project == base {
        // Its links lead to the root of the proxy, too.
        bases.append(&mut projects);
    } else {
        projects.push(project.to_owned());
    }
    RecordedUrls { bases, projects }
}

/// Returns what the server says about its settings; null if it says nothing without a key, and then the flows tell.
async fn fetch_settings(client: &Client, base: &str) -> Value {
    match client.get(format!("{base}/settings")).send().await {
        Ok(response) if response.status().is_success() => {
            response.bytes().await.ok().and_then(|body| serde_json::from_slice(&body).ok()).unwrap_or_default()
        }
        _ => Value::Null,
    }
}

fn announce(arguments: &RecordArguments, url: &str, upstream: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    if arguments.json {
        writeln!(out, "{}", serde_json::json!({ "url": url, "upstream": upstream }))?;
    } else {
        let folder = arguments.out.display();
        writeln!(out, "Recording {upstream} at {url} into {folder}. Interrupt to finish.")?;
    }
    Ok(())
}

fn report(arguments: &RecordArguments, steps: u64, files: u64) -> anyhow::Result<()> {
    if !arguments.json {
        let folder = arguments.out.display();
        writeln!(
            std::io::stdout(),
            "Recorded {} in {} in {folder}.",
            format_count(steps, "request"),
            format_count(files, "flow")
        )?;
    }
    Ok(())
}
