//! The storage API of a world: on its database, by its clock and with its faults.
//!
//! The files of all worlds are in one folder, which ends with the server. A file is named by its version, which is new with every
//! write, and only rows name versions: a world reads nothing but what it wrote or what the world that it is a copy of wrote. So
//! forks and snapshots copy no files, and a file is deleted when no database holds it ([`FileHolders`]). A resumable
//! upload that is not complete belongs to the API that began it: it ends with a reset and with a change of settings.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, anyhow};
use chrono::{DateTime, Utc};
use foundation::database_url::with_database;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use gotrue_rs::config::{Config, JwtKeys};
use http_edge::ShutdownSignal;
use platform::store::migrate::DatabaseName;
use storage_rs::backend::disk::DiskBackend;
use storage_rs::backend::{
    Appended, Backend, BackendError, Content, ContentHeaders, FileFacts, FileKey, ListedFile, Space, Staging,
};
use storage_rs::clock::Clock;
use storage_rs::seed;
use storage_rs::storage::Storage;
use test_bench::backend::BackendPlan;
use uuid::Uuid;

use super::faults::WorldFaults;
use super::file_holders::{FileHolders, HolderId};
use crate::api_keys::ApiKeys;
use crate::database_source::DatabaseSource;
use crate::project::Project;
use crate::serve::storage::{
    FOLDER, RunningStorage, StorageInputs, build_settings, create_folder, find_database, seeds,
};

/// The largest number of connections of the storage API of one world.
const CONNECTIONS: usize = 4;
/// How long a world without requests keeps its connections: worlds come and go by hundreds.
const CONNECTED_WITHOUT_USE: Duration = Duration::from_secs(5);

/// The files of all worlds.
#[derive(Debug, Clone)]
pub(super) struct WorldFiles {
    data: PathBuf,
    disk: Arc<DiskBackend>,
    holders: Arc<FileHolders>,
}

impl WorldFiles {
    /// Opens the folder of the files inside the data folder.
    pub(super) fn open(data: &Path) -> anyhow::Result<Self> {
        let folder = data.join(FOLDER);
        create_folder(&folder)?;
        let disk = Arc::new(DiskBackend::open(&folder).context("opening the folder of stored files")?);
        let holders = Arc::new(FileHolders::new(Arc::clone(&disk)));
        Ok(Self { data: data.to_owned(), disk, holders })
    }

    /// Which databases hold which files.
    pub(super) fn holders(&self) -> Arc<FileHolders> {
        Arc::clone(&self.holders)
    }

    /// The files as the API of a database uses them.
    fn backend(&self, database: &DatabaseName) -> Arc<dyn Backend> {
        let holder = self.holders.holder_of(database);
        let (disk, holders) = (Arc::clone(&self.disk), self.holders());
        Arc::new(SharedFiles { disk, holders, holder, uploads: Mutex::default() })
    }

    /// Creates the buckets of the project in the databases that worlds begin with.
    pub(super) async fn seed(
        &self,
        project: &Project,
        source: &DatabaseSource,
        keys: &ApiKeys,
        databases: &[&DatabaseName],
    ) -> anyhow::Result<()> {
        let (seeds, is_embedded) = (seeds(project), matches!(source, DatabaseSource::Embedded(_)));
        let Some(url) = find_database(project, source).filter(|_| is_embedded && !seeds.is_empty()) else {
            return Ok(());
        };
        // Nothing is signed or verified here: the database and the files are what counts.
        let jwt = JwtKeys { secret: keys.jwt_secret.as_str().into(), ..JwtKeys::default() };
        for database in databases {
            let url = with_database(&url, database.as_str());
            let config = build_settings(&self.inputs(project, &url, keys, &jwt))?;
            let api = Storage::new(config, self.backend(database), Clock::of_machine());
            let api = api.map_err(|error| anyhow!("preparing the storage API: {error}"))?;
            let seeded = seed::apply(&api, &seeds).await;
            api.database().pool().renew();
            let seeded = seeded.map_err(|error| anyhow!("creating the buckets of the project: {}", error.message))?;
            if let Some(refused) = seeded.describe_refused() {
                tracing::warn!(refused, "some objects of the project are missing");
            }
        }
        Ok(())
    }

    fn inputs<'a>(
        &'a self,
        project: &'a Project,
        database_url: &'a str,
        keys: &'a ApiKeys,
        jwt: &'a JwtKeys,
    ) -> StorageInputs<'a> {
        let data = self.data.as_path();
        StorageInputs { project, database_url, keys, jwt, data, creates_schema: false, explains_policies: true }
    }

    /// Builds the storage API of a world, unless its settings turn it off.
    ///
    /// `server_url` is the address of the server with all worlds.
    pub(super) fn build_api(
        &self,
        source: &DatabaseSource,
        server_url: &str,
        plan: &BackendPlan,
        project: &Project,
        config: &Config,
        keys: &ApiKeys,
    ) -> anyhow::Result<Option<RunningStorage>> {
        let Some(url) = find_database(project, source) else { return Ok(None) };
        let url = with_database(&url, plan.database.as_str());
        let mut settings = build_settings(&self.inputs(project, &url, keys, &config.jwt))?;
        settings.database_pool_size = CONNECTIONS;
        settings.database_idle_timeout = CONNECTED_WITHOUT_USE;
        // Clients see the API below the path of the world, which the server removes.
        let path = plan.url.strip_prefix(server_url).unwrap_or_default();
        settings.tus.url_path.insert_str(0, path);
        settings.s3.prefix.insert_str(0, path);
        settings.public_url = None;
        let clock = Arc::clone(&plan.clock);
        let clock = Clock::new(move || clock.now());
        let faults = Arc::new(WorldFaults::new(&plan.faults));
        let api = Storage::with_faults(settings, self.backend(&plan.database), clock, Some(faults));
        let api = api.map_err(|error| anyhow!("preparing the storage API of a world: {error}"))?;
        Ok(Some(RunningStorage { api }))
    }
}

/// Closes connections that are not used, until shutdown; then all.
pub(super) async fn maintain(running: RunningStorage, mut closing: ShutdownSignal) {
    let pool = running.api.database().pool();
    let prune = async {
        loop {
            tokio::time::sleep(CONNECTED_WITHOUT_USE).await;
            pool.prune();
        }
    };
    tokio::select! {
        () = prune => {}
        _ = closing.wait_for(|closing| *closing) => {}
    }
    pool.renew();
}

/// Files on disk that other databases may hold too, and the resumable uploads that began here.
#[derive(Debug)]
struct SharedFiles {
    disk: Arc<DiskBackend>,
    holders: Arc<FileHolders>,
    holder: HolderId,
    uploads: Mutex<HashSet<Uuid>>,
}

impl SharedFiles {
    /// The uploads, if this one began here.
    fn staging_of(&self, id: Uuid) -> Result<&dyn Staging, BackendError> {
        let is_own = self.uploads.lock().unwrap_or_else(PoisonError::into_inner).contains(&id);
        if is_own { Ok(self.disk.staging()) } else { Err(BackendError::NotFound) }
    }
}

impl Staging for SharedFiles {
    fn create<'a>(&'a self, id: Uuid, description: &'a [u8]) -> BoxFuture<'a, Result<(), BackendError>> {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        self.disk.staging().create(id, description)
    }

    fn describe<'a>(&'a self, id: Uuid, description: &'a [u8]) -> BoxFuture<'a, Result<(), BackendError>> {
        async move { self.staging_of(id)?.describe(id, description).await }.boxed()
    }

    fn description(&self, id: Uuid) -> BoxFuture<'_, Result<Vec<u8>, BackendError>> {
        async move { self.staging_of(id)?.description(id).await }.boxed()
    }

    fn size(&self, id: Uuid) -> BoxFuture<'_, Result<u64, BackendError>> {
        async move { self.staging_of(id)?.size(id).await }.boxed()
    }

    fn append(&self, id: Uuid, offset: u64, content: Content) -> BoxFuture<'_, Result<Appended, BackendError>> {
        async move { self.staging_of(id)?.append(id, offset, content).await }.boxed()
    }

    fn finish<'a>(
        &'a self,
        id: Uuid,
        target: &'a FileKey,
        headers: &'a ContentHeaders,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        self.holders.hold(self.holder, target);
        async move { self.staging_of(id)?.finish(id, target, headers).await }.boxed()
    }

    fn remove(&self, id: Uuid) -> BoxFuture<'_, Result<(), BackendError>> {
        async move {
            match self.staging_of(id) {
                Ok(staging) => staging.remove(id).await?,
                Err(_) => return Ok(()),
            }
            self.uploads.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            Ok(())
        }
        .boxed()
    }

    fn list_idle(&self, since: DateTime<Utc>) -> BoxFuture<'_, Result<Vec<Uuid>, BackendError>> {
        self.disk.staging().list_idle(since)
    }
}

impl Backend for SharedFiles {
    fn put<'a>(
        &'a self,
        key: &'a FileKey,
        headers: &'a ContentHeaders,
        content: Content,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        self.holders.hold(self.holder, key);
        self.disk.put(key, headers, content)
    }

    fn get<'a>(
        &'a self,
        key: &'a FileKey,
        range: Option<Range<u64>>,
    ) -> BoxFuture<'a, Result<(FileFacts, Content), BackendError>> {
        self.disk.get(key, range)
    }

    fn head<'a>(&'a self, key: &'a FileKey) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        self.disk.head(key)
    }

    fn copy<'a>(
        &'a self,
        source: &'a FileKey,
        target: &'a FileKey,
        headers: &'a ContentHeaders,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        self.holders.hold(self.holder, target);
        self.disk.copy(source, target, headers)
    }

    fn delete<'a>(&'a self, keys: &'a [FileKey]) -> BoxFuture<'a, Result<(), BackendError>> {
        async move { self.disk.delete(&self.holders.give_up(self.holder, keys)).await }.boxed()
    }

    fn identify(&self, key: &FileKey) -> String {
        self.disk.identify(key)
    }

    fn list(&self) -> BoxStream<'_, Result<ListedFile, BackendError>> {
        self.disk.list()
    }

    /// Does nothing: a file without a row here may have one in another database.
    fn delete_listed<'a>(&'a self, _: &'a ListedFile) -> BoxFuture<'a, Result<(), BackendError>> {
        async { Ok(()) }.boxed()
    }

    fn space(&self) -> BoxFuture<'_, Result<Option<Space>, BackendError>> {
        self.disk.space()
    }

    fn staging(&self) -> &dyn Staging {
        self
    }

    fn delete_leftovers(&self, older_than: DateTime<Utc>) -> BoxFuture<'_, Result<u64, BackendError>> {
        self.disk.delete_leftovers(older_than)
    }
}
