//! The API: from a request to a response.

use std::sync::{Arc, PoisonError, RwLock};

use axum::body::Body;
use chrono::{DateTime, Utc};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_edge::request::{PacedBody, UPLOAD_PACE};
use postgrest_rs::service::dependencies::StatementFaults;

use crate::backend::Backend;
use crate::caller::Caller;
use crate::caller::keys::Keys;
use crate::config::Config;
use crate::database::{Database, schema};
use crate::error::Error;
use crate::image::{ImageLimits, ImageRenderer};
use crate::objects::cache::PublicObjects;
use crate::request::{Call, MalformedPath, Query};
use crate::tus::lock::UploadLocks;
use crate::{buckets, objects, response, s3, tus};

/// Tells the time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>);

impl Clock {
    /// A clock that tells what the function says.
    pub fn new(tell: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// The time.
    pub fn now(&self) -> DateTime<Utc> {
        (self.0)()
    }

    /// The clock of the machine.
    pub fn of_machine() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the clock that programs inject")]
        Self::new(Utc::now)
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Clock")
    }
}

/// The API over a database and a backend.
#[derive(Debug)]
pub struct Storage {
    config: Config,
    keys: RwLock<Arc<Keys>>,
    database: Database,
    backend: Arc<dyn Backend>,
    clock: Clock,
    images: ImageRenderer,
    public_objects: PublicObjects,
    upload_locks: UploadLocks,
}

impl Storage {
    /// An API with these settings. The database is asked later.
    ///
    /// # Errors
    /// The connection string is malformed.
    pub fn new(config: Config, backend: Arc<dyn Backend>, clock: Clock) -> Result<Arc<Self>, String> {
        Self::with_faults(config, backend, clock, None)
    }

    /// The same with faults of the database, for tests of applications.
    ///
    /// # Errors
    /// The connection string is malformed.
    pub fn with_faults(
        config: Config,
        backend: Arc<dyn Backend>,
        clock: Clock,
        faults: Option<Arc<dyn StatementFaults>>,
    ) -> Result<Arc<Self>, String> {
        let database = Database::with_faults(&config, faults)?;
        let keys = RwLock::new(Arc::new(config.keys.clone()));
        let limits = ImageLimits {
            minimum_side: config.images.min_size,
            maximum_side: config.images.max_size,
            ..ImageLimits::default()
        };
        let public_objects = PublicObjects::new(config.public_validity);
        Ok(Arc::new(Self {
            public_objects,
            config,
            keys,
            database,
            backend,
            clock,
            images: ImageRenderer::new(limits),
            upload_locks: UploadLocks::default(),
        }))
    }

    /// Creates the schema if the database does not have it and the settings say so.
    ///
    /// # Errors
    /// The database is not reached, or refuses a statement.
    pub async fn prepare(&self) -> Result<(), String> {
        if self.config.creates_schema { schema::create(&self.database).await } else { Ok(()) }
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The keys of tokens at this moment.
    pub fn keys(&self) -> Arc<Keys> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Verifies and signs later tokens with these keys.
    pub fn replace_keys(&self, keys: Keys) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }

    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The files.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// The time.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Rows of objects in public buckets.
    pub(crate) fn public_objects(&self) -> &PublicObjects {
        &self.public_objects
    }

    /// The resumable uploads that requests work on.
    pub(crate) fn upload_locks(&self) -> &UploadLocks {
        &self.upload_locks
    }

    /// The renderer of images.
    pub fn images(&self) -> &ImageRenderer {
        &self.images
    }

    /// Answers a request. The path begins with the prefix of the API, or at its root.
    pub async fn handle(self: &Arc<Self>, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let body = PacedBody::wrap(body, UPLOAD_PACE);
        let is_head = parts.method == Method::HEAD;
        // The states of all routes together are too large for the stack of a caller.
        let mut response = Box::pin(self.route(parts, body)).await;
        if is_head {
            // The length stays: it is that of the response to GET.
            *response.body_mut() = Body::empty();
        }
        response
    }

    /// The path behind the prefix.
    fn strip_prefix<'a>(&self, path: &'a str) -> &'a str {
        let prefix = self.config.prefix.trim_end_matches('/');
        match path.strip_prefix(prefix) {
            Some("") => "/",
            Some(rest) if rest.starts_with('/') => rest,
            _ => path,
        }
    }

    async fn route(self: &Arc<Self>, parts: Parts, body: Body) -> Response<Body> {
        let path = self.strip_prefix(parts.uri.path()).to_owned();
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let area = segments.first().copied().unwrap_or_default();
        if area == "upload" && segments.get(1) == Some(&"resumable") {
            let rest = path["/upload/resumable".len()..].to_owned();
            return tus::handle(self, parts, body, &rest).await;
        }
        if area == "s3" && self.config.s3.is_enabled {
            return s3::handle(self, parts, body, &path["/s3".len()..]).await;
        }
        let query = parts.uri.query().unwrap_or_default();
        let target = if query.is_empty() { path.clone() } else { format!("{path}?{query}") };
        let method = parts.method.clone();
        let is_read = matches!(method, Method::GET | Method::HEAD);
        if is_read && path == "/status" {
            return Response::new(Body::empty());
        }
        if is_read && path == "/version" {
            return response::text(env!("CARGO_PKG_VERSION"));
        }
        let mut call = Call {
            storage: Arc::clone(self),
            query: Query::parse(query),
            path: path.clone(),
            operation: "",
            caller: Caller::anonymous(),
            parts,
        };
        let outcome = match area {
            "bucket" => match buckets::Route::find(&method, &segments[1..]) {
                Some(Ok(route)) => buckets::answer(call, route, body).await,
                Some(Err(MalformedPath)) => return response::bad_path(&path),
                None => return response::no_route(method.as_str(), &target, true),
            },
            "object" | "render" => match objects::Route::find(&method, &segments, self.config.images.is_enabled) {
                Some(Ok(route)) => objects::answer(call, route, body).await,
                Some(Err(MalformedPath)) => return response::bad_path(&path),
                None => {
                    return response::no_route(
                        method.as_str(),
                        &target,
                        area == "object" || segments.get(1) == Some(&"image"),
                    );
                }
            },
            "health" if is_read && segments.len() <= 2 => self.answer_health(&mut call).await,
            _ => return response::no_route(method.as_str(), &target, false),
        };
        outcome.unwrap_or_else(|error| response::failure(&error))
    }

    /// Says whether the database answers.
    async fn answer_health(&self, call: &mut Call) -> Result<Response<Body>, Error> {
        call.authenticate_by_token()?;
        call.operation = "storage.health";
        let statement = crate::database::sql("SELECT id FROM storage.buckets LIMIT 1", []);
        let is_healthy = self.database.run(&call.service_scope(), statement).await.is_ok();
        Ok(response::json_response(StatusCode::OK, &serde_json::json!({ "healthy": is_healthy })))
    }
}
