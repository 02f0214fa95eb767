//! The listeners of a server with one backend: its requests with the probes, and its metrics.

use std::sync::Arc;

use axum::extract::Request;
use gotrue_rs::config::{Config, ListenAddress};
use http_edge::{HttpLimits, Listener, ShutdownSignal};
use serde_json::Value;
use storage_rs::storage::Storage;
use tokio::task::JoinHandle;

use crate::metrics::MetricSources;
use crate::profiles::has_development_pages;
use crate::project::Project;
use crate::readiness::Readiness;
use crate::router::EdgeRouter;
use crate::shutdown::{Shutdown, closing_grace};
use crate::{database, gotrue};

/// Serves the metrics, if they have a port.
pub(super) async fn serve_metrics(
    project: &Project,
    sources: MetricSources,
    closing: ShutdownSignal,
) -> anyhow::Result<Option<JoinHandle<()>>> {
    let Some(port) = project.file.basalt.metrics_port else { return Ok(None) };
    let listen = ListenAddress { host: project.file.basalt.metrics_host.to_string(), port };
    gotrue::serve_metrics(&listen, sources, closing).await.map(Some)
}

/// The limits of the HTTP edge. Clients of the data API send `<` and `>` as they are, as in `select=data->>name`.
pub(super) fn http_limits(project: &Project) -> HttpLimits {
    HttpLimits { encodes_targets: project.file.basalt.data_api.is_enabled, ..project.file.basalt.http.clone() }
}

/// Serves the router and the probes, which answer with `details` about the project and with the space for stored files.
pub(super) fn spawn_http(
    listener: Listener,
    router: Arc<EdgeRouter>,
    (project, config): (&Project, &Config),
    (details, storage): (Option<Value>, Option<Arc<Storage>>),
    shutdown: &Shutdown,
) -> anyhow::Result<JoinHandle<()>> {
    let drain = config.shutdown_drain;
    shutdown.set_drain(drain);
    let probes = database::build_probe_pool(&config.database, &config.policy.api)?;
    let has_figures = has_development_pages(config, &project.file.basalt);
    let readiness = Readiness::new(probes, true, shutdown).with_details(details).with_space_of(storage, has_figures);
    let readiness = Arc::new(readiness);
    let limits = HttpLimits { closing_grace: closing_grace(drain), ..http_limits(project) };
    let handle = move |request: Request| {
        let (router, readiness) = (Arc::clone(&router), Arc::clone(&readiness));
        async move { readiness.serve(request, |request| router.handle(request)).await }
    };
    Ok(http_edge::spawn_task(http_edge::serve(listener, shutdown.signal(), limits, handle)))
}
