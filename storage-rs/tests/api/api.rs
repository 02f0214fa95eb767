//! An API over a database and a folder of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use jsonwebtoken::{EncodingKey, Header};
use serde_json::{Value, json};
use storage_rs::backend::Backend;
use storage_rs::backend::disk::DiskBackend;
use storage_rs::clock::Clock;
use storage_rs::config::{Config, Environment};
use storage_rs::database::{Database, schema};
use storage_rs::storage::Storage;
use tokio::sync::OnceCell;
use tokio_postgres::Client;

use crate::cluster::cluster;

/// The secret of tokens.
pub(crate) const SECRET: &str = "secret-of-the-recordings-with-32-characters-or-more";

/// An API, and a connection of the superuser to its database.
pub(crate) struct TestApi {
    pub(crate) storage: Arc<Storage>,
    pub(crate) admin: Client,
    pub(crate) database: String,
    pub(crate) folder: PathBuf,
}

impl Drop for TestApi {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The settings that the recordings were made with, and others.
pub(crate) fn config(database: &str, folder: &str, more: &[(&str, &str)]) -> Config {
    let uri = cluster().uri("supabase_storage_admin", database);
    let variables = [
        ("DATABASE_URL", uri.as_str()),
        ("AUTH_JWT_SECRET", SECRET),
        ("STORAGE_BACKEND", "file"),
        ("FILE_STORAGE_BACKEND_PATH", folder),
        ("FILE_SIZE_LIMIT", "52428800"),
        ("UPLOAD_SIGNED_URL_EXPIRATION_TIME", "7200"),
        ("IMAGE_TRANSFORMATION_ENABLED", "true"),
        ("S3_PROTOCOL_ACCESS_KEY_ID", "harbour-access-key"),
        ("S3_PROTOCOL_ACCESS_KEY_SECRET", "harbour-secret-key-0123456789"),
        ("REGION", "us-east-1"),
        ("PROJECT_REF", "stub"),
        ("DATABASE_MAX_CONNECTIONS", "8"),
    ];
    let anon_key = sign(&json!({"iss": "rec", "role": "anon", "iat": 1_700_000_000, "exp": 4_102_444_800_i64}));
    let variables = variables.into_iter().chain([("ANON_KEY", anon_key.as_str())]).chain(more.iter().copied());
    Config::from_environment(&Environment::new(variables)).unwrap()
}

/// The name of a database with the schema of the API.
static TEMPLATE: OnceCell<String> = OnceCell::const_new();

/// Makes a database with the schema of the API, as a superuser makes it in the embedded database.
async fn make_template() -> String {
    let name = cluster().create_database("template0").await;
    let settings = Config { database_url: cluster().uri("postgres", &name), ..config(&name, "/", &[]) };
    let database = Database::new(&settings).unwrap();
    schema::create(&database).await.unwrap();
    let admin = cluster().connect("postgres").await;
    let connections = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'");
    // A database is a template only while nothing is connected to it.
    while admin.query_one(&connections, &[]).await.unwrap().get::<_, i64>(0) > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    name
}

impl TestApi {
    /// An API over a new database with the schema of the API.
    pub(crate) async fn start(more: &[(&str, &str)]) -> Self {
        Self::start_over(more, None).await
    }

    /// An API over a new database whose files are elsewhere.
    pub(crate) async fn start_over(more: &[(&str, &str)], backend: Option<Arc<dyn Backend>>) -> Self {
        let template = TEMPLATE.get_or_init(make_template).await;
        let database = cluster().create_database(template).await;
        let admin = cluster().connect(&database).await;
        let folder = std::env::temp_dir().join(format!("basalt-storage-{}-{database}", std::process::id()));
        let backend = backend.unwrap_or_else(|| Arc::new(DiskBackend::open(&folder).unwrap()));
        let config = config(&database, folder.to_str().unwrap(), more);
        let storage = Storage::new(config, backend, Clock::of_machine()).unwrap();
        Self { storage, admin, database, folder }
    }

    /// Another server over the same database and folder.
    pub(crate) fn replica(&self) -> Arc<Storage> {
        self.replica_over(Arc::new(DiskBackend::open(&self.folder).unwrap()))
    }

    /// Another server over the same database, with these files.
    pub(crate) fn replica_over(&self, backend: Arc<dyn Backend>) -> Arc<Storage> {
        let config = config(&self.database, self.folder.to_str().unwrap(), &[]);
        Storage::new(config, backend, Clock::of_machine()).unwrap()
    }

    /// Waits until a trigger of the test sleeps.
    pub(crate) async fn wait_for_sleep(&self) {
        let started = std::time::Instant::now();
        let sleeping =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";
        while self.admin.query_one(sleeping, &[]).await.unwrap().get::<_, i64>(0) == 0 {
            assert!(started.elapsed() < Duration::from_secs(30), "a row is being written");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Sends a request of the service role.
    pub(crate) async fn send(&self, method: &str, path: &str, body: impl Into<Body>) -> Response<Bytes> {
        send(&self.storage, method, path, &[], body).await
    }

    /// The number of files.
    pub(crate) fn count_files(&self) -> usize {
        count_files(&self.folder)
    }
}

fn count_files(folder: &std::path::Path) -> usize {
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| if entry.path().is_dir() { count_files(&entry.path()) } else { 1 })
        .sum()
}

/// A token with these claims.
pub(crate) fn sign(claims: &Value) -> String {
    jsonwebtoken::encode(&Header::default(), claims, &EncodingKey::from_secret(SECRET.as_bytes())).unwrap()
}

/// Sends a request of the service role to a server.
pub(crate) async fn send(
    storage: &Arc<Storage>,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Response<Bytes> {
    let token = sign(&json!({"role": "service_role"}));
    let mut request = Request::builder().method(method).uri(path).header("authorization", format!("Bearer {token}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = storage.handle(request.body(body.into()).unwrap()).await;
    let (parts, body) = response.into_parts();
    Response::from_parts(parts, body.collect().await.unwrap().to_bytes())
}

/// The body as JSON.
pub(crate) fn json_of(response: &Response<Bytes>) -> Value {
    serde_json::from_slice(response.body()).unwrap_or_else(|_| panic!("{response:?}"))
}
