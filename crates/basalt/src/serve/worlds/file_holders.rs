//! Which databases hold which files. A file is deleted when no database holds it: forks and snapshots share files with their
//! source, and a reset drops the database that had the others.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use platform::store::migrate::DatabaseName;
use storage_rs::backend::disk::DiskBackend;
use storage_rs::backend::{Backend, FileKey};
use test_bench::worlds::DatabaseObserver;

/// Names what the rows of a database hold; it stays the same when the database gets another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct HolderId(u64);

/// The files that the rows of one database may name.
#[derive(Debug, Default)]
struct Holder {
    files: HashSet<FileKey>,
    /// The copies of the database that are being made.
    copies: usize,
    /// Files that were given up while a copy was made: it may have their rows.
    given_up: Vec<FileKey>,
}

#[derive(Debug, Default)]
struct Holders {
    next: u64,
    databases: HashMap<DatabaseName, HolderId>,
    by_id: HashMap<HolderId, Holder>,
    /// The number of holders of each file.
    counts: HashMap<FileKey, usize>,
}

impl Holders {
    fn insert(&mut self, database: &DatabaseName, files: HashSet<FileKey>) -> HolderId {
        let id = HolderId(self.next);
        self.next += 1;
        for file in &files {
            *self.counts.entry(file.clone()).or_default() += 1;
        }
        self.by_id.insert(id, Holder { files, ..Holder::default() });
        self.databases.insert(database.clone(), id);
        id
    }

    fn find(&self, database: &DatabaseName) -> Option<HolderId> {
        self.databases.get(database).copied()
    }

    /// Counts a holder less, and returns the files that have none any more.
    fn subtract(&mut self, files: impl IntoIterator<Item = FileKey>) -> Vec<FileKey> {
        let mut free = Vec::new();
        for file in files {
            match self.counts.get_mut(&file) {
                Some(count) if *count > 1 => *count -= 1,
                _ => {
                    self.counts.remove(&file);
                    free.push(file);
                }
            }
        }
        free
    }
}

/// The holders of the files of all worlds.
#[derive(Debug)]
pub(super) struct FileHolders {
    disk: Arc<DiskBackend>,
    state: Mutex<Holders>,
}

impl FileHolders {
    pub(super) fn new(disk: Arc<DiskBackend>) -> Self {
        Self { disk, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, Holders> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The holder of what a database has now.
    pub(super) fn holder_of(&self, database: &DatabaseName) -> HolderId {
        let mut state = self.state();
        match state.find(database) {
            Some(id) => id,
            None => state.insert(database, HashSet::new()),
        }
    }

    /// Notes a file, before it is written.
    pub(super) fn hold(&self, id: HolderId, file: &FileKey) {
        let mut state = self.state();
        let is_new = state.by_id.get_mut(&id).is_some_and(|holder| holder.files.insert(file.clone()));
        if is_new {
            *state.counts.entry(file.clone()).or_default() += 1;
        }
    }

    /// Gives up files whose rows were deleted, and returns those that no database holds any more.
    pub(super) fn give_up(&self, id: HolderId, files: &[FileKey]) -> Vec<FileKey> {
        let mut state = self.state();
        let Some(holder) = state.by_id.get_mut(&id) else {
            // The database was dropped: no database holds what arrived since then.
            return files.iter().filter(|file| !state.counts.contains_key(*file)).cloned().collect();
        };
        if holder.copies > 0 {
            holder.given_up.extend_from_slice(files);
            return Vec::new();
        }
        let held: Vec<FileKey> = files.iter().filter(|file| holder.files.remove(*file)).cloned().collect();
        state.subtract(held)
    }

    /// Deletes files that no database holds, in the background.
    fn delete(&self, files: Vec<FileKey>) {
        if files.is_empty() {
            return;
        }
        let disk = Arc::clone(&self.disk);
        http_edge::spawn_task(async move {
            if let Err(error) = disk.delete(&files).await {
                tracing::warn!(%error, files = files.len(), "files of dropped databases were not deleted");
            }
        });
    }

    /// Ends a copy, which succeeded if it has a name.
    fn end_copy(&self, source: &DatabaseName, copy: Option<&DatabaseName>) -> Vec<FileKey> {
        let mut state = self.state();
        let Some(id) = state.find(source) else { return Vec::new() };
        if let Some(copy) = copy {
            let files = state.by_id.get(&id).map(|holder| holder.files.clone()).unwrap_or_default();
            state.insert(copy, files);
        }
        let Some(holder) = state.by_id.get_mut(&id) else { return Vec::new() };
        holder.copies = holder.copies.saturating_sub(1);
        if holder.copies > 0 {
            return Vec::new();
        }
        let given_up = std::mem::take(&mut holder.given_up);
        let held: Vec<FileKey> = given_up.into_iter().filter(|file| holder.files.remove(file)).collect();
        state.subtract(held)
    }

    fn drop_database(&self, database: &DatabaseName) -> Vec<FileKey> {
        let mut state = self.state();
        let id = state.databases.remove(database);
        let holder = id.and_then(|id| state.by_id.remove(&id));
        holder.map(|holder| state.subtract(holder.files)).unwrap_or_default()
    }
}

impl DatabaseObserver for FileHolders {
    fn copying(&self, source: &DatabaseName) {
        let id = self.holder_of(source);
        if let Some(holder) = self.state().by_id.get_mut(&id) {
            holder.copies += 1;
        }
    }

    fn copied(&self, source: &DatabaseName, copy: Option<&DatabaseName>) {
        self.delete(self.end_copy(source, copy));
    }

    fn renamed(&self, from: &DatabaseName, to: &DatabaseName) {
        let mut state = self.state();
        if let Some(id) = state.databases.remove(from) {
            state.databases.insert(to.clone(), id);
        }
    }

    fn dropped(&self, database: &DatabaseName) {
        self.delete(self.drop_database(database));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(name: &str) -> DatabaseName {
        DatabaseName::parse(name).expect("a name")
    }

    fn file(name: &str) -> FileKey {
        FileKey { bucket: "b".to_owned(), name: name.to_owned(), version: Some("1".to_owned()) }
    }

    fn with_holders(test: impl FnOnce(&FileHolders)) {
        let folder = std::env::temp_dir().join(format!(
            "basalt-holders-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        let disk = DiskBackend::open(&folder).expect("a store");
        test(&FileHolders::new(Arc::new(disk)));
        std::fs::remove_dir_all(&folder).expect("the folder is there");
    }

    #[test]
    fn file_is_free_when_its_last_holder_gives_it_up() {
        with_holders(|holders| {
            let (source, copy) = (database("source"), database("copy"));
            let id = holders.holder_of(&source);
            holders.hold(id, &file("a"));
            holders.copying(&source);
            assert_eq!(holders.end_copy(&source, Some(&copy)), []);
            assert_eq!(holders.give_up(id, &[file("a")]), [], "the copy has it");
            assert_eq!(holders.give_up(id, &[file("a")]), [], "once is enough");
            assert_eq!(holders.drop_database(&copy), [file("a")]);
            assert_eq!(holders.drop_database(&source), []);
        });
    }

    #[test]
    fn copy_has_what_was_given_up_and_written_while_it_was_made() {
        with_holders(|holders| {
            let (source, copy) = (database("source"), database("copy"));
            let id = holders.holder_of(&source);
            holders.hold(id, &file("a"));
            holders.copying(&source);
            holders.hold(id, &file("b"));
            assert_eq!(holders.give_up(id, &[file("a"), file("b")]), []);
            assert_eq!(holders.end_copy(&source, Some(&copy)), []);
            assert_eq!(holders.drop_database(&source), []);
            let mut free = holders.drop_database(&copy);
            free.sort_by(|one, other| one.name.cmp(&other.name));
            assert_eq!(free, [file("a"), file("b")]);
        });
    }

    #[test]
    fn copy_that_fails_holds_nothing() {
        with_holders(|holders| {
            let source = database("source");
            let id = holders.holder_of(&source);
            holders.hold(id, &file("a"));
            holders.copying(&source);
            assert_eq!(holders.give_up(id, &[file("a")]), []);
            assert_eq!(holders.end_copy(&source, None), [file("a")]);
        });
    }

    #[test]
    fn late_removal_of_a_replaced_database_leaves_its_successor_alone() {
        with_holders(|holders| {
            let (world, snapshot, unused) = (database("world"), database("snapshot"), database("unused"));
            let before = holders.holder_of(&world);
            holders.hold(before, &file("a"));
            holders.copying(&world);
            holders.end_copy(&world, Some(&snapshot));
            holders.renamed(&world, &unused);
            holders.renamed(&snapshot, &world);
            // The former API deletes what it replaced before the reset.
            assert_eq!(holders.give_up(before, &[file("a")]), []);
            assert_ne!(holders.holder_of(&world), before);
            assert_eq!(holders.drop_database(&unused), []);
            assert_eq!(holders.drop_database(&world), [file("a")]);
            // No database holds a file that arrives after its database was dropped.
            holders.hold(before, &file("late"));
            assert_eq!(holders.give_up(before, &[file("late")]), [file("late")]);
        });
    }
}
