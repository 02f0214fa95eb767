//! File changes found by polling.

use std::path::Path;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};

use super::source::{FileFilter, FolderFiles, scan};

/// The shortest polling interval.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Polls every `every`, without an end; notifies of files other than the `known` ones.
/// A folder that cannot be read is logged once.
pub(super) async fn watch(
    folder: &Path,
    filter: &FileFilter,
    mut known: Option<FolderFiles>,
    every: Duration,
    reported: &Notify,
) {
    let mut turn = interval(every.max(MIN_POLL_INTERVAL));
    turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_failing = false;
    loop {
        turn.tick().await;
        match scan(folder, filter) {
            Ok(seen) => {
                is_failing = false;
                if known.as_ref() != Some(&seen) {
                    known = Some(seen);
                    reported.notify_one();
                }
            }
            Err(error) => {
                if !is_failing {
                    tracing::error!(folder = %folder.display(), %error, "reading the settings folder failed");
                }
                (is_failing, known) = (true, None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;

    const FILTER: FileFilter = FileFilter::Variables;

    async fn is_notified(reported: &Notify) -> bool {
        tokio::time::timeout(Duration::from_secs(5), reported.notified()).await.is_ok()
    }

    #[tokio::test]
    async fn file_changes_notify_except_for_other_files() {
        let folder = std::env::temp_dir().join(format!("basalt-polled-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.env"), "A=1").unwrap();
        let known = scan(&folder, &FILTER).ok();
        fs::write(folder.join("a.env"), "A=10").unwrap();
        let reported = Arc::new(Notify::new());
        let (watched, tells) = (folder.clone(), Arc::clone(&reported));
        let watching = tokio::spawn(async move { watch(&watched, &FILTER, known, MIN_POLL_INTERVAL, &tells).await });
        assert!(is_notified(&reported).await, "written before it was watched");

        fs::write(folder.join("notes.txt"), "nothing").unwrap();
        assert!(tokio::time::timeout(MIN_POLL_INTERVAL * 4, reported.notified()).await.is_err(), "no settings");
        fs::write(folder.join("a.env"), "A=100").unwrap();
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
