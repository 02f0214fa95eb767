//! Changes of files, found by looking at them again and again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};

use super::watching::is_of_settings;

/// The shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(100);

/// What shows that a file has changed: which it is, its size, its mode, and when it was written.
type Looks = (u64, u64, u32, i64, i64);

/// Looks so often, without an end. A folder that cannot be read is told of once.
pub async fn watch(folder: &Path, every: Duration, told: &Notify) {
    let mut turn = interval(every.max(SHORTEST));
    turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = look(folder);
    loop {
        turn.tick().await;
        let seen = look(folder);
        match (&known, &seen) {
            (Ok(_), Err(error)) => {
                tracing::error!(folder = %folder.display(), %error, "the folder of settings cannot be read");
            }
            (Ok(before), Ok(now)) if before == now => {}
            (_, Ok(_)) => told.notify_one(),
            (Err(_), Err(_)) => {}
        }
        known = seen;
    }
}

/// The files of settings as they look now.
pub fn look(folder: &Path) -> std::io::Result<BTreeMap<OsString, Looks>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !is_of_settings(&path) {
            continue;
        }
        // A file that goes while we look is not there.
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

    async fn is_told(told: &Notify) -> bool {
        tokio::time::timeout(Duration::from_secs(5), told.notified()).await.is_ok()
    }

    #[tokio::test]
    async fn what_is_written_made_renamed_or_gone_is_told_of_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("basalt-polled-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.env"), "A=1").unwrap();
        let told = Arc::new(Notify::new());
        let (watched, tells) = (folder.clone(), Arc::clone(&told));
        let watching = tokio::spawn(async move { watch(&watched, SHORTEST, &tells).await });
        tokio::time::sleep(SHORTEST).await;

        fs::write(folder.join("notes.txt"), "nothing").unwrap();
        assert!(tokio::time::timeout(SHORTEST * 4, told.notified()).await.is_err(), "no settings");
        fs::write(folder.join("a.env"), "A=12").unwrap();
        assert!(is_told(&told).await, "written");
        fs::write(folder.join("b.json"), "{}").unwrap();
        assert!(is_told(&told).await, "made");
        fs::rename(folder.join("b.json"), folder.join("c.json")).unwrap();
        assert!(is_told(&told).await, "renamed");
        fs::remove_dir_all(&folder).unwrap();
        tokio::time::sleep(SHORTEST * 3).await;
        fs::create_dir_all(&folder).unwrap();
        assert!(is_told(&told).await, "another folder");

        watching.abort();
        fs::remove_dir_all(&folder).unwrap();
    }
}
