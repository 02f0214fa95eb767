//! `/livez` and `/readyz`: whether the process serves, and whether it should receive requests.
//!
//! They are answered before the router: without rate limits, API keys and logs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use gotrue_rs::store::readiness::{DatabaseState, read_state};
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use http_edge::ShutdownSignal;
use platform::store::Pool;
use serde_json::{Value, json};
use storage_rs::backend::{BackendError, Space, SpaceState};
use storage_rs::storage::Storage;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::shutdown::Shutdown;

/// How long a usable state of the database is reported before it is read again.
const REUSE_PERIOD: Duration = Duration::from_secs(1);
/// The same for an unusable state: shorter, because the database may be back.
const UNUSABLE_REUSE_PERIOD: Duration = Duration::from_millis(100);
/// How long a check may take before the database counts as unreachable.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a probe waits for the space for stored files: a slow file system must not delay it.
const SPACE_WAIT: Duration = Duration::from_millis(200);
/// The path below which `basalt serve` answers, too.
const AUTH_MOUNT: &str = "/auth/v1";

/// Answers probes.
#[derive(Debug)]
pub(crate) struct Readiness {
    pool: Pool,
    has_basalt: bool,
    draining: ShutdownSignal,
    latest: Mutex<Option<(Instant, DatabaseState)>>,
    /// What is reported beside the checks.
    details: Option<Value>,
    space: Option<SpaceReport>,
}

/// The space for stored files, which does not decide whether the server is ready: it answers everything but uploads without.
#[derive(Debug)]
struct SpaceReport {
    storage: Arc<Storage>,
    /// Whether probes see how many bytes there are, and not only whether they suffice.
    has_figures: bool,
    latest: Mutex<LatestSpace>,
}

/// The space as it was read last, and the task that reads it anew.
#[derive(Debug, Default)]
struct LatestSpace {
    read_at: Option<Instant>,
    /// `None` if the space has no bounds.
    report: Option<Value>,
    reading: Option<JoinHandle<Result<Option<Space>, BackendError>>>,
}

impl SpaceReport {
    /// Returns the latest report. One read is under way at a time, however long it takes.
    async fn read(&self) -> Option<Value> {
        let mut latest = self.latest.lock().await;
        let is_recent = latest.read_at.is_some_and(|read_at| read_at.elapsed() < REUSE_PERIOD);
        if !is_recent && latest.reading.is_none() {
            let storage = Arc::clone(&self.storage);
            latest.reading = Some(tokio::spawn(async move { storage.backend().space().await }));
        }
        if let Some(reading) = latest.reading.as_mut() {
            match tokio::time::timeout(SPACE_WAIT, reading).await {
                Ok(read) => {
                    let read = read.map_err(anyhow::Error::from).and_then(|read| Ok(read?));
                    *latest = LatestSpace { read_at: Some(Instant::now()), report: self.describe(read), reading: None };
                }
                Err(_) if latest.read_at.is_none() => return Some(json!({ "space": "not known" })),
                Err(_) => {}
            }
        }
        latest.report.clone()
    }

    fn describe(&self, read: anyhow::Result<Option<Space>>) -> Option<Value> {
        let space = match read {
            Ok(space) => space?,
            Err(error) => {
                tracing::warn!(error = %format!("{error:#}"), "reading the space for stored files failed");
                return Some(json!({ "space": "not known" }));
            }
        };
        let state = match space.state() {
            SpaceState::Sufficient => "ok",
            SpaceState::Low => "low",
            SpaceState::Exhausted => "exhausted",
        };
        let mut report = json!({ "space": state });
        if self.has_figures {
            let Space { total, available, reserved, used, quota } = space;
            report["bytes"] = json!({
                "total": total, "available": available, "reserved": reserved, "used": used, "quota": quota
            });
        }
        Some(report)
    }
}

impl Readiness {
    /// Creates the probes of a server; `has_basalt` says whether it uses schema `basalt`.
    pub(crate) fn new(pool: Pool, has_basalt: bool, shutdown: &Shutdown) -> Self {
        Self { pool, has_basalt, draining: shutdown.draining(), latest: Mutex::default(), details: None, space: None }
    }

    /// Adds what does not decide whether the server is ready, such as skipped statements of the project.
    #[must_use]
    pub(crate) fn with_details(self, details: Option<Value>) -> Self {
        Self { details, ..self }
    }

    /// Adds the space for stored files, in development with figures. It does not decide either.
    #[must_use]
    pub(crate) fn with_space_of(self, storage: Option<Arc<Storage>>, has_figures: bool) -> Self {
        let space = storage.map(|storage| SpaceReport { storage, has_figures, latest: Mutex::default() });
        Self { space, ..self }
    }

    /// Answers a probe at the root or below `/auth/v1`, or passes the request on.
    pub(crate) async fn serve<F>(&self, request: Request, answer: impl FnOnce(Request) -> F) -> Response
    where
        F: Future<Output = Response>,
    {
        let path = request.uri().path();
        if let Some(response) = self.answer(request.method(), path.strip_prefix(AUTH_MOUNT).unwrap_or(path)).await {
            return response;
        }
        let mut response = answer(request).await;
        self.close_if_draining(&mut response);
        response
    }

    /// Answers a probe; `None` if the request is none.
    pub(crate) async fn answer(&self, method: &Method, path: &str) -> Option<Response> {
        let is_probe = matches!(*method, Method::GET | Method::HEAD) && matches!(path, "/livez" | "/readyz");
        if !is_probe {
            return None;
        }
        let mut response = if path == "/livez" { build_liveness() } else { self.build_readiness().await };
        self.close_if_draining(&mut response);
        Some(response)
    }

    /// Makes the request the last of its connection while the server drains.
    pub(crate) fn close_if_draining(&self, response: &mut Response) {
        if *self.draining.borrow() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }

    async fn build_readiness(&self) -> Response {
        let is_serving = !*self.draining.borrow();
        let space = async { self.space.as_ref()?.read().await };
        let (DatabaseState { is_reachable, is_writable, has_schema }, space) =
            tokio::join!(self.read_database(), space);
        let checks = [
            ("database", is_reachable, "unreachable"),
            ("writable", is_writable, if is_reachable { "read-only" } else { "not checked" }),
            ("schema", has_schema, if is_reachable { "not at the version of this server" } else { "not checked" }),
            ("shutdown", is_serving, "draining"),
        ];
        let is_ready = checks.iter().all(|(_, holds, _)| *holds);
        let checks: serde_json::Map<_, _> = checks
            .into_iter()
            .map(|(name, holds, reason)| (name.to_owned(), if holds { "ok" } else { reason }.into()))
            .collect();
        let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let mut body = json!({ "status": if is_ready { "ready" } else { "not ready" }, "checks": checks });
        if let Some(details) = &self.details {
            body["project"] = details.clone();
        }
        if let Some(space) = space {
            body["storage"] = space;
        }
        build_response(status, &body)
    }

    /// Returns the state of the database, read at most once in the period of its latest state.
    /// Concurrent probes wait for the same check.
    async fn read_database(&self) -> DatabaseState {
        let mut latest = self.latest.lock().await;
        if let Some((read_at, state)) = *latest
            && read_at.elapsed() < reuse_period(state)
        {
            return state;
        }
        let state = tokio::time::timeout(CHECK_TIMEOUT, read_state(&self.pool, self.has_basalt)).await;
        let state = state.unwrap_or_default();
        let before = latest.replace((Instant::now(), state)).map(|(_, before)| before);
        if before.is_some_and(|before| before != state) {
            tracing::warn!(
                state.is_reachable,
                state.is_writable,
                state.has_schema,
                "the state of the database changed"
            );
        }
        state
    }
}

fn reuse_period(state: DatabaseState) -> Duration {
    if state.is_usable() { REUSE_PERIOD } else { UNUSABLE_REUSE_PERIOD }
}

fn build_liveness() -> Response {
    build_response(StatusCode::OK, &json!({ "status": "live" }))
}

fn build_response(status: StatusCode, body: &serde_json::Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
