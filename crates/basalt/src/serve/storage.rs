//! The storage API of `basalt serve`: its settings, its keys, its files in the data folder, and what keeps it tidy.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use gateway::Service;
use gotrue_rs::config::{Config, JwtKeys};
use gotrue_rules::domain::oauth_server::token_use::classify_token;
use http_edge::ShutdownSignal;
use postgrest_rs::execute::connect::prefer_primary;
use serde_json::json;
use storage_rs::caller::keys::Keys;
use storage_rs::caller::token_check::TokenCheck;
use storage_rs::config::{BackendSettings, Config as StorageConfig, Environment};
use storage_rs::seed::{self, BucketSeed};
use storage_rs::storage::Storage;
use storage_rs::sweep;

use crate::api_keys::{self, ApiKeys};
use crate::database_source::DatabaseSource;
use crate::profiles;
use crate::project::Project;

/// The login role of the embedded database: no superuser, with the right to become the roles of requests.
const LOGIN_ROLE: &str = "authenticator";
/// The region in signatures of clients of the S3 protocol, that of a local Supabase.
pub(crate) const REGION: &str = "local";
/// The folder of the files, inside the data folder.
pub(crate) const FOLDER: &str = "storage";
/// How long an object of a public bucket that another server deletes, or a bucket that it makes private, may still be read here.
const PUBLIC_VALIDITY: Duration = Duration::from_secs(1);
/// The published S3 key of a local Supabase, which is accepted only together with the published demo keys.
const DEMO_S3_KEY: (&str, &str) =
    ("625729a08b95bf1b7ff351a663f3a23c", "850181e4652dd023b7a98c58ae0d2d34bd487ee0cc3254aed6eda37307425907");

/// The running storage API.
#[derive(Clone)]
pub(super) struct RunningStorage {
    /// Answers requests.
    pub api: Arc<Storage>,
}

/// Returns whether this process serves the storage API of a project; an external database needs a role for it.
pub(crate) fn is_served(project: &Project, is_external: bool) -> bool {
    let basalt = &project.file.basalt;
    let is_own = basalt.storage.is_enabled && basalt.upstreams.get(Service::Storage).is_none();
    is_own && (!is_external || external_database_url(project).is_some())
}

fn external_database_url(project: &Project) -> Option<&String> {
    let basalt = &project.file.basalt;
    basalt.storage.database_url.as_ref().or(basalt.data_api.database_url.as_ref())
}

/// Returns the id and the secret of the S3 key with all rights, if there is one.
pub(crate) fn find_s3_key<'a>(project: &'a Project, keys: &ApiKeys) -> Option<(&'a str, &'a str)> {
    let configured = project.file.basalt.storage.s3_key.as_ref();
    let has_demo_keys = keys.anon_key == api_keys::demo_keys().anon_key;
    configured.map(|(id, secret)| (id.as_str(), secret.as_str())).or(has_demo_keys.then_some(DEMO_S3_KEY))
}

/// What the settings of the storage API are made of.
pub(crate) struct StorageInputs<'a> {
    pub project: &'a Project,
    /// The database with its login role.
    pub database_url: &'a str,
    /// The keys of the project.
    pub keys: &'a ApiKeys,
    /// The keys of tokens.
    pub jwt: &'a JwtKeys,
    /// The data folder.
    pub data: &'a Path,
    /// Whether the schema is created when the database does not have it.
    pub creates_schema: bool,
    /// Whether errors of policies say which policies are missing.
    pub explains_policies: bool,
}

/// Returns the URL of the login role; `None` if the configuration turns the storage API off or forwards it, or an external
/// database has no role for it.
pub(super) fn find_database(project: &Project, source: &DatabaseSource) -> Option<String> {
    if !is_served(project, matches!(source, DatabaseSource::External(_))) {
        return None;
    }
    match source {
        DatabaseSource::Embedded(_) => Some(source.url(LOGIN_ROLE)),
        DatabaseSource::External(_) => external_database_url(project).cloned(),
    }
}

/// Builds the storage API, if it has a database.
pub(super) fn start(
    project: &Project,
    source: &DatabaseSource,
    config: &Config,
    keys: &ApiKeys,
    data: &Path,
) -> anyhow::Result<Option<RunningStorage>> {
    let Some(url) = find_database(project, source) else { return Ok(None) };
    let api = build(&StorageInputs {
        project,
        database_url: &url,
        keys,
        jwt: &config.jwt,
        data,
        creates_schema: matches!(source, DatabaseSource::External(_)),
        explains_policies: profiles::has_development_pages(config, &project.file.basalt),
    })?;
    Ok(Some(RunningStorage { api }))
}

/// Builds the storage API of a project over a database, and a data folder or a bucket.
pub(crate) fn build(inputs: &StorageInputs<'_>) -> anyhow::Result<Arc<Storage>> {
    crate::storage::build(build_settings(inputs)?).context("preparing the storage API")
}

/// Makes the settings, and the folder of the files where they are in the data folder.
pub(super) fn build_settings(inputs: &StorageInputs<'_>) -> anyhow::Result<StorageConfig> {
    let StorageInputs { project, keys, .. } = *inputs;
    let settings = &project.file.basalt.storage;
    let folder = inputs.data.join(FOLDER);
    if settings.store.is_none() {
        create_folder(&folder)?;
    }
    let secret = inputs.jwt.secret_of_tokens.as_ref().unwrap_or(&inputs.jwt.secret).reveal().to_owned();
    let key_set = json!({ "keys": inputs.jwt.keys }).to_string();
    let limit = settings.file_size_limit.to_string();
    let path = folder.to_string_lossy().into_owned();
    let database_url =
        prefer_primary(inputs.database_url).map_err(|error| anyhow!("preparing the storage API: {error}"))?;
    let mut variables = vec![
        ("DATABASE_URL", database_url.as_str()),
        ("AUTH_JWT_SECRET", secret.as_str()),
        ("JWT_JWKS", key_set.as_str()),
        ("ANON_KEY", keys.anon_key.as_str()),
        ("FILE_STORAGE_BACKEND_PATH", path.as_str()),
        ("UPLOAD_FILE_SIZE_LIMIT", limit.as_str()),
        ("UPLOAD_SIGNED_URL_EXPIRATION_TIME", "7200"),
        ("TUS_URL_PATH", "/storage/v1/upload/resumable"),
        ("S3_PROTOCOL_PREFIX", "/storage/v1"),
        ("BASALT_STORAGE_PREFIX", "/storage/v1"),
        ("REGION", REGION),
        ("PROJECT_REF", "stub"),
        ("S3_PROTOCOL_ENABLED", if settings.has_s3 { "true" } else { "false" }),
        ("IMAGE_TRANSFORMATION_ENABLED", if settings.has_images { "true" } else { "false" }),
    ];
    let quota = settings.quota.unwrap_or_default().to_string();
    variables.push(("BASALT_STORAGE_QUOTA", quota.as_str()));
    if let Some((id, secret)) = find_s3_key(project, keys) {
        variables.extend([("S3_PROTOCOL_ACCESS_KEY_ID", id), ("S3_PROTOCOL_ACCESS_KEY_SECRET", secret)]);
    }
    if let Some(store) = &settings.store {
        variables.extend([
            ("STORAGE_BACKEND", "s3"),
            ("STORAGE_S3_BUCKET", store.bucket.as_str()),
            ("STORAGE_S3_ENDPOINT", store.endpoint.as_deref().unwrap_or_default()),
            ("AWS_ACCESS_KEY_ID", store.access_key_id.as_str()),
            ("AWS_SECRET_ACCESS_KEY", store.secret_access_key.as_str()),
            ("STORAGE_S3_FORCE_PATH_STYLE", if store.has_path_style { "true" } else { "false" }),
        ]);
    }
    let config = StorageConfig::from_environment(&Environment::new(variables));
    let mut config = config.map_err(|problems| anyhow!("the settings of the storage API: {}", problems.join("; ")))?;
    // The variable of the region would also be the region of the signatures of clients.
    if let (BackendSettings::S3(bucket), Some(store)) = (&mut config.backend, &settings.store) {
        store.region.clone_into(&mut bucket.region);
    }
    let limits = &mut config.load_limits;
    limits.uploads = settings.max_uploads.unwrap_or(limits.uploads);
    limits.uploads_per_network = settings.max_uploads_per_network.unwrap_or(limits.uploads_per_network);
    limits.images_per_minute = settings.images_per_minute.unwrap_or(limits.images_per_minute);
    config.explains_policies = inputs.explains_policies;
    // In a database of an operator `storage.search` may be that of Supabase Storage, which is too slow under row security.
    config.lists_by_case = true;
    // In development a change by SQL is seen at once.
    config.public_validity = if inputs.explains_policies { Duration::ZERO } else { PUBLIC_VALIDITY };
    config.requires_authorization_header = false;
    config.token_check = Some(TokenCheck::new(|claims| {
        let opens = classify_token(claims).opens_service(api_keys::STORAGE_SCOPE);
        if opens { Ok(()) } else { Err("The token does not open this service") }
    }));
    config.creates_schema = inputs.creates_schema;
    let url = project.api_url(project.file.port());
    config.public_url = url.starts_with("https:").then_some(url);
    Ok(config)
}

/// Creates the folder of the files, for its owner alone.
pub(super) fn create_folder(folder: &Path) -> anyhow::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder).context("creating the folder of stored files")?;
    data_folder::restrict_permissions(folder, 0o700)
}

/// The buckets of a project.
pub(crate) fn seeds(project: &Project) -> Vec<BucketSeed> {
    let folder = &project.layout.folder;
    let seed = |bucket: &crate::config_file::storage::BucketSettings| BucketSeed {
        name: bucket.name.clone(),
        public: bucket.public,
        file_size_limit: bucket.file_size_limit,
        allowed_mime_types: bucket.allowed_mime_types.clone().filter(|types| !types.is_empty()),
        objects: bucket.objects_path.as_ref().map(|path| folder.join(path)).filter(|path| path.is_dir()),
    };
    project.file.basalt.storage.buckets.iter().map(seed).collect()
}

impl RunningStorage {
    /// Verifies and signs later tokens with these keys.
    pub(super) fn replace_keys(&self, jwt: &JwtKeys) {
        let secret = jwt.secret_of_tokens.as_ref().unwrap_or(&jwt.secret);
        let keys: Vec<_> = jwt.keys.iter().cloned().map(serde_json::Value::Object).collect();
        match Keys::new(secret.reveal(), &keys) {
            Ok(keys) => self.api.replace_keys(keys),
            Err(error) => tracing::error!(error, "the storage API keeps its former keys"),
        }
    }

    /// Creates the buckets of the project, and deletes what interrupted work leaves behind, until shutdown.
    pub(super) async fn maintain(self, seeds: Vec<BucketSeed>, mut closing: ShutdownSignal) {
        let work = async {
            if let Err(error) = self.api.prepare().await {
                tracing::error!(error, "the schema storage cannot be created");
            }
            match seed::apply(&self.api, &seeds).await {
                Ok(seeded) if seeded.buckets == 0 => {}
                Ok(seeded) => {
                    tracing::info!(seeded.buckets, seeded.objects, "buckets of the project are ready");
                    if let Some(refused) = seeded.describe_refused() {
                        tracing::warn!(refused, "some objects of the project are missing");
                    }
                }
                Err(error) => {
                    tracing::error!(error = %error.message, cause = error.cause, "buckets of the project were not created");
                }
            }
            sweep::maintain(Arc::clone(&self.api)).await;
        };
        tokio::select! {
            () = work => {}
            _ = closing.wait_for(|closing| *closing) => {}
        }
        self.api.database().pool().renew();
    }
}
