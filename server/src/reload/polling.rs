//! File changes found by polling.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};

use super::source::FileFilter;

/// The shortest polling interval.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Attributes whose change indicates a changed file: inode, size, mode and modification time.
type FileAttributes = (u64, u64, u32, i64, i64);

/// Polls every `every`, without an end.
/// A folder that cannot be read is logged once.
pub(super) async fn watch(folder: &Path, filter: &FileFilter, every: Duration, reported: &Notify) {
    let mut turn = interval(every.max(MIN_POLL_INTERVAL));
    turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = scan(folder, filter);
    loop {
        turn.tick().await;
        let seen = scan(folder, filter);
        match (&known, &seen) {
            (Ok(_), Err(error)) => {
                tracing::error!(folder = %folder.display(), %error, "reading the settings folder failed");
            }
            (Ok(before), Ok(now)) if before == now => {}
            (_, Ok(_)) => reported.notify_one(),
            (Err(_), Err(_)) => {}
        }
        known = seen;
    }
}

/// Returns the attributes of the settings files.
pub(super) fn scan(folder: &Path, filter: &FileFilter) -> std::io::Result<BTreeMap<OsString, FileAttributes>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !filter.matches(&path) {
            continue;
        }
        // A file removed during the scan counts as missing.
        if let (Some(name), Ok(file)) = (path.file_name(), fs::metadata(&path)) {
            let looks = (file.ino(), file.size(), file.mode(), file.mtime(), file.mtime_nsec());
            files.insert(name.to_owned(), looks);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    async fn is_notified(reported: &Notify) -> bool {
        tokio::time::timeout(Duration::from_secs(5), reported.notified()).await.is_ok()
    }

    #[tokio::test]
    async fn file_changes_notify_except_for_other_files() {
        let folder = std::env::temp_dir().join(format!("basalt-polled-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.env"), "A=1").unwrap();
        let reported = Arc::new(Notify::new());
        let (watched, tells) = (folder.clone(), Arc::clone(&reported));
        let watching =
            tokio::spawn(async move { watch(&watched, &FileFilter::Variables, MIN_POLL_INTERVAL, &tells).await });
        tokio::time::sleep(MIN_POLL_INTERVAL).await;

        fs::write(folder.join("notes.txt"), "nothing").unwrap();
        assert!(tokio::time::timeout(MIN_POLL_INTERVAL * 4, reported.notified()).await.is_err(), "no settings");
        fs::write(folder.join("a.env"), "A=12").unwrap();
        assert!(is_notified(&reported).await, "written");
        fs::write(folder.join("b.json"), "{}").unwrap();
        assert!(is_notified(&reported).await, "made");
        fs::rename(folder.join("b.json"), folder.join("c.json")).unwrap();
        assert!(is_notified(&reported).await, "renamed");
        fs::remove_dir_all(&folder).unwrap();
        tokio::time::sleep(MIN_POLL_INTERVAL * 3).await;
        fs::create_dir_all(&folder).unwrap();
        assert!(is_notified(&reported).await, "another folder");

        watching.abort();
        fs::remove_dir_all(&folder).unwrap();
    }
}
