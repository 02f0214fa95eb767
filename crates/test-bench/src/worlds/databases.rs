//! The databases of the worlds: copies of a template, some of which are made in advance.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use foundation::error_chain::ErrorChain;
use platform::store::migrate::{DatabaseAdministrator, DatabaseName, MigrateError};
use tokio::sync::{Notify, OnceCell, watch};

/// The number of databases that are made in advance, once the first world was created.
const READY_DATABASES: usize = 8;

/// The number of databases that are dropped in the background; the removal of more is waited for.
const MAX_UNUSED_DATABASES: usize = 64;
/// The number of dropped databases after which the space of their catalog rows is freed.
const DROPS_PER_VACUUM: u64 = 50;

/// Is told what happens to databases, for what is kept beside them.
pub trait DatabaseObserver: std::fmt::Debug + Send + Sync + 'static {
    /// A copy is about to be made. Each call is followed by one of [`DatabaseObserver::copied`].
    fn copying(&self, source: &DatabaseName);

    /// A copy was made; `None` if that failed.
    fn copied(&self, source: &DatabaseName, copy: Option<&DatabaseName>);

    fn renamed(&self, from: &DatabaseName, to: &DatabaseName);

    fn dropped(&self, database: &DatabaseName);
}

/// A copy that is being made. One that is given up counts as failed.
struct ObservedCopy<'a> {
    observer: Option<&'a dyn DatabaseObserver>,
    source: &'a DatabaseName,
    copy: Option<&'a DatabaseName>,
}

impl Drop for ObservedCopy<'_> {
    fn drop(&mut self) {
        if let Some(observer) = self.observer {
            observer.copied(self.source, self.copy);
        }
    }
}

/// Creates and removes the databases of worlds; clones share them.
#[derive(Debug, Clone)]
pub struct WorldDatabases(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    administrator: DatabaseAdministrator,
    template: DatabaseName,
    /// Set once the template was prepared for being copied.
    is_prepared: OnceCell<()>,
    /// Starts the names of all databases made here.
    prefix: DatabaseName,
    counter: AtomicU64,
    /// The number of dropped databases.
    dropped: AtomicU64,
    ready: Mutex<Vec<DatabaseName>>,
    unused: Mutex<Vec<DatabaseName>>,
    changed: Notify,
    closing: watch::Sender<bool>,
    /// Whether the cluster remains after this process.
    is_cluster_kept: bool,
    observer: OnceLock<Arc<dyn DatabaseObserver>>,
}

impl WorldDatabases {
    /// Creates copies of `template`; their names start with `prefix`.
    pub fn new(administrator: DatabaseAdministrator, template: DatabaseName, prefix: DatabaseName) -> Self {
        Self::build(administrator, template, prefix, false)
    }

    fn build(
        administrator: DatabaseAdministrator,
        template: DatabaseName,
        prefix: DatabaseName,
        is_cluster_kept: bool,
    ) -> Self {
        Self(Arc::new(Inner {
            administrator,
            template,
            is_prepared: OnceCell::new(),
            prefix,
            counter: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            ready: Mutex::default(),
            unused: Mutex::default(),
            changed: Notify::new(),
            closing: watch::Sender::new(false),
            is_cluster_kept,
            observer: OnceLock::new(),
        }))
    }

    /// Tells an observer what happens from now on. Later calls have no effect.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn DatabaseObserver>) -> Self {
        self.0.observer.get_or_init(|| observer);
        self
    }

    fn observer(&self) -> Option<&dyn DatabaseObserver> {
        self.0.observer.get().map(AsRef::as_ref)
    }

    /// Does the same, and drops all databases at the end, because the cluster remains.
    pub fn with_kept_cluster(
        administrator: DatabaseAdministrator,
        template: DatabaseName,
        prefix: DatabaseName,
    ) -> Self {
        Self::build(administrator, template, prefix, true)
    }

    /// Makes databases in advance and drops unused ones, until [`WorldDatabases::close`].
    pub(crate) async fn maintain(self) {
        let mut closing = self.0.closing.subscribe();
        tokio::select! {
            () = self.maintain_forever() => {}
            _ = closing.wait_for(|is_closing| *is_closing) => {}
        }
    }

    /// Ends the upkeep; drops all databases if the cluster remains.
    pub(crate) async fn close(&self, created: impl IntoIterator<Item = DatabaseName>) {
        self.0.closing.send_replace(true);
        if self.0.is_cluster_kept {
            let (ready, unused) =
                (std::mem::take(&mut *lock(&self.0.ready)), std::mem::take(&mut *lock(&self.0.unused)));
            for database in created.into_iter().chain(ready).chain(unused) {
                self.drop_now(&database).await;
            }
        }
        self.0.administrator.close().await;
    }

    /// Returns whether the cluster remains after this process.
    pub(crate) fn is_cluster_kept(&self) -> bool {
        self.0.is_cluster_kept
    }

    async fn drop_now(&self, database: &DatabaseName) {
        match self.0.administrator.drop(database).await {
            Ok(()) => {
                if let Some(observer) = self.observer() {
                    observer.dropped(database);
                }
            }
            Err(error) => {
                tracing::warn!(error = %ErrorChain(&error), database = database.as_str(), "dropping a database failed");
            }
        }
        self.vacuum_sometimes().await;
    }

    /// Frees the space of dropped databases after some of them; autovacuum looks every ten minutes only.
    async fn vacuum_sometimes(&self) {
        let dropped = self.0.dropped.fetch_add(1, Ordering::Relaxed) + 1;
        if !dropped.is_multiple_of(DROPS_PER_VACUUM) {
            return;
        }
        if let Err(error) = self.0.administrator.vacuum_catalogs().await {
            tracing::debug!(error = %ErrorChain(&error), "the catalogs of the cluster were not vacuumed");
        }
    }

    async fn maintain_forever(&self) {
        loop {
            self.0.changed.notified().await;
            // Tests wait for new databases, but not for the removal of old ones.
            while lock(&self.0.ready).len() < READY_DATABASES {
                match self.copy_of_template().await {
                    Ok(database) => lock(&self.0.ready).push(database),
                    Err(error) => {
                        tracing::warn!(error = %ErrorChain(&error), "making a database in advance failed");
                        break;
                    }
                }
            }
            while let Some(unused) = { lock(&self.0.unused).pop() } {
                self.drop_now(&unused).await;
                if lock(&self.0.ready).len() < READY_DATABASES {
                    self.0.changed.notify_one();
                    break;
                }
            }
        }
    }

    /// Returns an empty database with all schemas.
    ///
    /// The caller then calls [`WorldDatabases::refill`], after what a test waits for: another one is made in its place.
    pub(crate) async fn take(&self) -> Result<DatabaseName, MigrateError> {
        self.drop_surplus().await;
        let ready = lock(&self.0.ready).pop();
        match ready {
            Some(database) => Ok(database),
            None => self.copy_of_template().await,
        }
    }

    /// Drops a database if many are to be dropped: creating and deleting in a loop would fill the disk.
    async fn drop_surplus(&self) {
        let surplus = {
            let mut unused = lock(&self.0.unused);
            if unused.len() > MAX_UNUSED_DATABASES { unused.pop() } else { None }
        };
        if let Some(surplus) = surplus {
            self.drop_now(&surplus).await;
        }
    }

    /// Makes databases in advance, in the background.
    pub(crate) fn refill(&self) {
        self.0.changed.notify_one();
    }

    async fn copy_of_template(&self) -> Result<DatabaseName, MigrateError> {
        let prepare = async {
            if let Err(error) = self.0.administrator.store_catalogs(&self.0.template).await {
                tracing::debug!(error = %ErrorChain(&error), "the template was not prepared: its copies start slower");
            }
        };
        self.0.is_prepared.get_or_init(|| prepare).await;
        self.copy_of(&self.0.template).await
    }

    /// Returns a copy of a database, whose sessions end.
    pub(crate) async fn copy_of(&self, database: &DatabaseName) -> Result<DatabaseName, MigrateError> {
        let copy = self.new_name();
        let observer = self.observer();
        if let Some(observer) = observer {
            observer.copying(database);
        }
        let mut reported = ObservedCopy { observer, source: database, copy: None };
        self.0.administrator.copy(database, &copy).await?;
        reported.copy = Some(&copy);
        drop(reported);
        Ok(copy)
    }

    /// Puts `replacement` in the place of `database`, whose content is dropped.
    pub(crate) async fn replace(
        &self,
        database: &DatabaseName,
        replacement: &DatabaseName,
    ) -> Result<(), MigrateError> {
        let unused = self.new_name();
        self.rename(database, &unused).await?;
        if let Err(error) = self.rename(replacement, database).await {
            self.rename(&unused, database).await?;
            return Err(error);
        }
        self.discard(unused);
        Ok(())
    }

    async fn rename(&self, from: &DatabaseName, to: &DatabaseName) -> Result<(), MigrateError> {
        self.0.administrator.rename(from, to).await?;
        if let Some(observer) = self.observer() {
            observer.renamed(from, to);
        }
        Ok(())
    }

    /// Drops a database in the background.
    pub(crate) fn discard(&self, database: DatabaseName) {
        lock(&self.0.unused).push(database);
        self.0.changed.notify_one();
    }

    fn new_name(&self) -> DatabaseName {
        self.0.prefix.numbered(self.0.counter.fetch_add(1, Ordering::Relaxed))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
