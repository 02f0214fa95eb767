//! What all requests share: settings, keys, database, files and clock.

use std::sync::{Arc, PoisonError, RwLock};

use chrono::{DateTime, Utc};
use postgrest_rs::service::dependencies::StatementFaults;

use crate::backend::{Backend, FileKey};
use crate::caller::keys::Keys;
use crate::clock::Clock;
use crate::config::Config;
use crate::database::{Database, schema};
use crate::image::{ImageLimits, ImageRenderer};
use crate::limits::{ImageRate, OpenUploads, UploadTurns};
use crate::public_objects::PublicObjects;
use crate::upload_locks::UploadLocks;

/// The API over a database and a backend: what its requests share. [`Storage::handle`] answers them.
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
    upload_turns: UploadTurns,
    open_uploads: OpenUploads,
    image_rate: ImageRate,
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
        let now = clock.now();
        Ok(Arc::new(Self {
            public_objects,
            upload_turns: UploadTurns::new(config.load_limits),
            open_uploads: OpenUploads::new(config.load_limits.open_uploads, config.tus.lifetime()),
            image_rate: ImageRate::new(config.load_limits.images_per_minute, now),
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

    /// The database.
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

    /// The turns of uploads.
    pub(crate) fn upload_turns(&self) -> &UploadTurns {
        &self.upload_turns
    }

    /// The resumable uploads that are not over.
    pub(crate) fn open_uploads(&self) -> &OpenUploads {
        &self.open_uploads
    }

    /// The images that are transformed for each network.
    pub(crate) fn image_rate(&self) -> &ImageRate {
        &self.image_rate
    }

    /// The renderer of images.
    pub fn images(&self) -> &ImageRenderer {
        &self.images
    }

    /// Deletes files whose rows are gone. What fails is left to the sweeper.
    pub(crate) async fn delete_files(&self, keys: &[FileKey]) {
        if !keys.is_empty()
            && let Err(error) = self.backend.delete(keys).await
        {
            tracing::warn!(%error, files = keys.len(), "files without rows were not deleted");
        }
    }
}
