//! `basalt healthcheck`: asks a running server whether it is ready, for containers without a shell.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use reqwest::{Client, StatusCode, Url};

use super::process::build_runtime;
use crate::project::{Project, ProjectArguments};

/// The paths in the order of the requests: readiness, then health with `serve` and with `gotrue`.
const PATHS: [&str; 3] = ["/readyz", "/auth/v1/health", "/health"];
/// The variables of the port of `basalt gotrue`, in order of precedence.
const PORT_VARIABLES: [&str; 3] = ["GOTRUE_API_PORT", "PORT", "API_PORT"];

/// The arguments of `basalt healthcheck`.
#[derive(Debug, Args)]
pub(super) struct HealthcheckArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// The server [default: this machine, at the port of config.toml, without one that of `PORT`]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Seconds to wait for the response
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=300))]
    timeout: u64,
}

/// Prints the state of the server; exit status 0 if it is ready, otherwise 1.
pub(super) fn run(arguments: &HealthcheckArguments) -> anyhow::Result<ExitCode> {
    let url = match &arguments.url {
        Some(url) => {
            let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
            ensure!(parsed.is_some(), "--url {url:?} is no URL of a server, such as http://127.0.0.1:54321");
            url.trim_end_matches('/').to_owned()
        }
        None => find_url(&arguments.project)?,
    };
    // The certificate is that of the public name, and the request carries nothing secret.
    let client = Client::builder()
        .no_proxy()
        .tls_danger_accept_invalid_certs(true)
        .timeout(Duration::from_secs(arguments.timeout))
        .build()
        .context("building the HTTP client")?;
    let (is_ready, text) = build_runtime()?.block_on(ask(&client, &url));
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(if is_ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the URL of the server on this machine.
fn find_url(arguments: &ProjectArguments) -> anyhow::Result<String> {
    let project = Project::inspect(arguments)?.0;
    let variable = PORT_VARIABLES.iter().find_map(|name| project.vars.get(name)?.parse().ok());
    let port = match variable {
        Some(port) if !project.layout.has_config => port,
        _ => project.file.port(),
    };
    Ok(project.local_url(port))
}

/// Asks the paths until one is served; returns whether the server is ready, and a line about it.
async fn ask(client: &Client, url: &str) -> (bool, String) {
    for path in PATHS {
        match client.get(format!("{url}{path}")).send().await {
            Ok(response) if response.status() == StatusCode::OK => return (true, format!("{url}{path}: ready")),
            Ok(response) if response.status().is_server_error() => {
                return (false, format!("{url}{path}: not ready, status {}", response.status().as_u16()));
            }
            Ok(_) => {}
            Err(error) if error.is_timeout() => return (false, format!("{url}{path}: no response in time")),
            Err(_) => return (false, format!("{url}{path}: no server there")),
        }
    }
    (false, format!("{url}: no Basalt there, none of {} is served", PATHS.join(", ")))
}
