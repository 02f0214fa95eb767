//! Prepared clusters: stopped databases with roles and schemas that ephemeral servers copy.
//!
//! `initdb` and the schemas take most of the start of an empty server. A copy of some 25 MB takes a twentieth of that.
//! There is one prepared cluster per user, PostgreSQL release and schema; unused ones are removed after a month.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use data_folder::durable::sync_file_system;

use crate::account::Account;
use crate::binaries::Binaries;
use crate::cluster::ConnectionAddress;
use crate::start_error::StartError;
use crate::system_folder::SYSTEM_FOLDER;

/// Changes when the layout of a prepared cluster changes.
const LAYOUT: &str = "2";
/// A prepared cluster that was not used for so long is removed.
const UNUSED_LIFETIME: Duration = Duration::from_hours(24 * 30);
/// Marks a complete prepared cluster; its modification time is that of the last use.
const COMPLETE: &str = "complete";
/// The content of the marker.
const USED: &str = "used\n";
/// The parts of a database folder that are copied.
const PARTS: [&str; 2] = ["cluster", "password"];

/// Creates roles and schemas in the empty database at an address.
pub(crate) type Fill = Arc<dyn Fn(&ConnectionAddress) -> anyhow::Result<()> + Send + Sync>;

/// The prepared clusters of one user.
#[derive(Clone)]
pub struct PreparedClusters {
    folder: PathBuf,
    schema: String,
    fill: Fill,
}

impl PreparedClusters {
    /// Names the user's cache folder; `None` if the user has none.
    ///
    /// `fill` creates the roles and schemas, `schema` identifies them. Root uses a folder that PostgreSQL's account
    /// reaches.
    pub fn locate(variable: &dyn Fn(&str) -> Option<String>, schema: String, fill: Fill) -> Option<Self> {
        let below_home = || variable("HOME").map(|home| Path::new(&home).join(".cache"));
        let folder = if rustix::process::geteuid().is_root() {
            Path::new(SYSTEM_FOLDER).join("prepared")
        } else {
            variable("XDG_CACHE_HOME").map(PathBuf::from).or_else(below_home)?.join("basalt")
        };
        folder.is_absolute().then_some(Self { folder, schema, fill })
    }

    /// Creates roles and schemas.
    pub fn fill(&self, address: &ConnectionAddress) -> anyhow::Result<()> {
        (self.fill)(address)
    }

    /// Returns the prepared cluster for these binaries, whether it exists or not.
    pub(crate) fn entry(&self, binaries: &Binaries) -> PreparedCluster {
        let release = binaries.release().replace(|character: char| !character.is_ascii_alphanumeric(), "-");
        let name = format!("cluster-{LAYOUT}-{release}-{}", self.schema);
        PreparedCluster { folder: self.folder.join(name) }
    }
}

impl std::fmt::Debug for PreparedClusters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedClusters").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// A prepared cluster, which may not exist yet.
#[derive(Debug, Clone)]
pub(crate) struct PreparedCluster {
    folder: PathBuf,
}

impl PreparedCluster {
    /// Returns whether it can be copied.
    pub(crate) fn exists(&self) -> bool {
        self.folder.join(COMPLETE).is_file()
    }

    /// Copies it to `home`, a database folder without a cluster.
    ///
    /// The copy gets its final name last, so that an interrupted one is not used.
    pub(crate) fn copy_to(&self, home: &Path, account: Option<&Account>) -> Result<(), StartError> {
        let doing = || format!("copying the prepared database {} to {}", self.folder.display(), home.display());
        let half = home.join("cluster.tmp");
        remove_tree(&half).map_err(StartError::io(doing()))?;
        copy_tree(&self.folder.join("cluster"), &half, account).map_err(StartError::io(doing()))?;
        copy_file(&self.folder.join("password"), &home.join("password"), account).map_err(StartError::io(doing()))?;
        fs::rename(&half, home.join("cluster")).map_err(StartError::io(doing()))?;
        // Writing sets the time of the last use.
        let _ = fs::write(self.folder.join(COMPLETE), USED);
        Ok(())
    }

    /// Takes the right to create it; `None` while another process creates it.
    pub(crate) fn reserve(&self) -> Result<Option<Reservation>, StartError> {
        let doing = || format!("making the cache folder {}", self.folder.display());
        let parent = self.folder.parent().unwrap_or(Path::new("/")).to_owned();
        fs::DirBuilder::new().recursive(true).mode(0o711).create(&parent).map_err(StartError::io(doing()))?;
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.folder.with_extension("lock"))
            .map_err(StartError::io(doing()))?;
        if lock.try_lock().is_err() {
            return Ok(None);
        }
        remove_unused(&parent);
        let building = self.folder.with_extension("building");
        remove_tree(&building).map_err(StartError::io(doing()))?;
        Ok(Some(Reservation { cluster: self.clone(), building, _lock: lock }))
    }

    /// Removes it, so that the next start creates it again.
    pub(crate) fn discard(&self) {
        let _ = fs::remove_file(self.folder.join(COMPLETE));
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The right to create a prepared cluster.
#[derive(Debug)]
pub(crate) struct Reservation {
    cluster: PreparedCluster,
    building: PathBuf,
    /// Closing the file releases the lock.
    _lock: File,
}

impl Reservation {
    /// Returns the data folder in which to create the cluster.
    pub(crate) fn folder(&self) -> &Path {
        &self.building
    }

    /// Makes the stopped cluster of the database folder `home` the prepared one.
    ///
    /// Everything is on disk before the marker is: a crash of the machine leaves no damaged cluster behind.
    pub(crate) fn complete(self, home: &Path) -> Result<PreparedCluster, StartError> {
        let target = &self.cluster.folder;
        let doing = || format!("storing the prepared database in {}", target.display());
        let store = || {
            remove_tree(target)?;
            fs::DirBuilder::new().mode(0o700).create(target)?;
            for part in PARTS {
                fs::rename(home.join(part), target.join(part))?;
            }
            sync_file_system(target)?;
            let marker = OpenOptions::new().write(true).create_new(true).mode(0o600).open(target.join(COMPLETE))?;
            marker.sync_all()?;
            remove_tree(home)?;
            remove_tree(&self.building)
        };
        store().map_err(StartError::io(doing()))?;
        Ok(self.cluster)
    }
}

/// Removes the prepared clusters that were not used for a month.
fn remove_unused(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let used = fs::metadata(entry.path().join(COMPLETE)).and_then(|meta| meta.modified());
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with("cluster-"));
        if is_ours && used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > UNUSED_LIFETIME)) {
            PreparedCluster { folder: entry.path() }.discard();
        }
    }
}

fn remove_tree(path: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn copy_tree(from: &Path, to: &Path, account: Option<&Account>) -> std::io::Result<()> {
    let mode = fs::metadata(from)?.mode() & 0o777;
    fs::DirBuilder::new().mode(mode).create(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_tree(&path, &target, account)?;
        } else {
            copy_file(&path, &target, account)?;
        }
    }
    account.map_or(Ok(()), |account| account.chown(to))
}

fn copy_file(from: &Path, to: &Path, account: Option<&Account>) -> std::io::Result<()> {
    // On file systems that can, the copy shares its blocks with the original.
    fs::copy(from, to)?;
    account.map_or(Ok(()), |account| account.chown(to))
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    use data_folder::testing::TestFolder;

    use super::*;

    fn entry(folder: &TestFolder) -> PreparedCluster {
        PreparedCluster { folder: folder.join("cluster-1-15-0") }
    }

    /// A folder with the parts of a stopped cluster.
    fn home(folder: &TestFolder) -> PathBuf {
        let home = folder.join("made");
        fs::create_dir_all(home.join("cluster/base")).expect("folders");
        fs::write(home.join("cluster/base/1"), "data").expect("a file");
        fs::write(home.join("password"), "secret").expect("a file");
        home
    }

    #[test]
    fn completed_cluster_is_copied_with_its_password() {
        let folder = TestFolder::new("prepared-copy");
        let reservation = entry(&folder).reserve().expect("a folder").expect("nobody else");
        let prepared = reservation.complete(&home(&folder)).expect("stored");
        assert!(prepared.exists() && !folder.join("made").exists());
        let copy = folder.join("copy");
        fs::create_dir(&copy).expect("a folder");
        prepared.copy_to(&copy, None).expect("copied");
        assert_eq!(fs::read_to_string(copy.join("cluster/base/1")).expect("a file"), "data");
        assert_eq!(fs::read_to_string(copy.join("password")).expect("a file"), "secret");
        assert_eq!(fs::metadata(&prepared.folder).expect("a folder").permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn only_one_process_creates_it() {
        let folder = TestFolder::new("prepared-lock");
        let first = entry(&folder).reserve().expect("a folder");
        assert!(first.is_some());
        assert!(entry(&folder).reserve().expect("a folder").is_none());
        drop(first);
        assert!(entry(&folder).reserve().expect("a folder").is_some());
    }

    #[test]
    fn cluster_without_marker_does_not_exist() {
        let folder = TestFolder::new("prepared-marker");
        fs::create_dir_all(entry(&folder).folder.join("cluster")).expect("folders");
        assert!(!entry(&folder).exists());
        let reservation = entry(&folder).reserve().expect("a folder").expect("nobody else");
        assert!(reservation.complete(&home(&folder)).expect("stored").exists());
    }

    #[test]
    fn cluster_that_was_not_used_for_a_month_is_removed() {
        let folder = TestFolder::new("prepared-unused");
        let old = folder.join("cluster-0-14-0");
        fs::create_dir(&old).expect("a folder");
        let marker = File::create(old.join(COMPLETE)).expect("a file");
        marker.set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH)).expect("a time");
        drop(entry(&folder).reserve().expect("a folder"));
        assert!(!old.exists());
    }
}
