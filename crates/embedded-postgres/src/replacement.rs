//! The replacement of a cluster by an upgraded one.
//!
//! Once the new cluster is complete it gets the name [`UPGRADED`]; then the old one gets the name under which it is kept,
//! and the new one that of the old one. Between these two steps there is no cluster, and the next start takes the
//! upgraded one. Before them the next start removes it. Nothing writes to the old cluster meanwhile.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::thread::sleep;

use data_folder::durable::rename_on_disk;

use crate::postmaster::POLL_INTERVAL;
use crate::start_error::StartError;

/// The complete new cluster, in the folder of the database.
pub(crate) const UPGRADED: &str = "cluster.upgraded";
/// How often removing a folder is tried again while a program that was ended still writes to it.
const REMOVALS: usize = 100;

/// Finishes or removes an upgrade that was interrupted while the new cluster replaced the old one.
pub(crate) fn finish_interrupted(upgraded: &Path, cluster: &Path) -> Result<(), StartError> {
    if !upgraded.exists() {
        return Ok(());
    }
    if cluster.exists() {
        return remove_folder(upgraded);
    }
    tracing::info!("finishing the interrupted upgrade of the database");
    rename_cluster(upgraded, cluster)
}

/// Renames a cluster, and waits until that is on the disk.
pub(crate) fn rename_cluster(from: &Path, to: &Path) -> Result<(), StartError> {
    rename_on_disk(from, to).map_err(StartError::io(format!("moving {} to {}", from.display(), to.display())))
}

/// Removes a folder, in which programs that were just ended may still write.
pub(crate) fn remove_folder(folder: &Path) -> Result<(), StartError> {
    let mut outcome = Ok(());
    for _ in 0..REMOVALS {
        outcome = match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Err(error),
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(StartError::io(format!("removing {}", folder.display()))(error));
            }
            _ => return Ok(()),
        };
        sleep(POLL_INTERVAL);
    }
    outcome.map_err(StartError::io(format!("removing {}", folder.display())))
}
