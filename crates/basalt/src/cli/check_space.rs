//! The space for stored files in `basalt check`: what they take, what they may take, and what to do if little is left.

use std::path::PathBuf;

use serde_json::{Value, json};
use storage_rs::backend::disk::read_space;
use storage_rs::backend::{Space, SpaceState};

use crate::plural::format_count;
use crate::project::Project;
use crate::serve::storage::{FOLDER, is_served};

/// The stored files of a project, which are in its data folder.
#[derive(Debug)]
pub(super) struct StoredFiles {
    folder: PathBuf,
    space: Space,
}

impl StoredFiles {
    /// Measures the files; `None` if this server has none, or a bucket keeps them.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn measure(project: &Project) -> std::io::Result<Option<Self>> {
        let settings = &project.file.basalt.storage;
        let is_external = !matches!(project.database_url(), Ok(None));
        if settings.store.is_some() || !is_served(project, is_external) {
            return Ok(None);
        }
        let folder = project.data.join(FOLDER);
        let space = read_space(&folder, settings.quota)?;
        Ok(Some(Self { folder, space }))
    }

    /// What the files take and what is free, in one sentence.
    pub(super) fn summary(&self) -> String {
        let Space { available, reserved, used, quota, .. } = self.space;
        let used = format_size(used.unwrap_or_default());
        let of_quota = quota.map(|quota| format!(" of the quota of {}", format_size(quota))).unwrap_or_default();
        let (available, reserved) = (format_size(available), format_size(reserved));
        format!("stored files take {used}{of_quota}; {available} of the file system are free, and {reserved} stay free")
    }

    /// What is short, and its remedy.
    pub(super) fn warnings(&self) -> Vec<String> {
        let space = &self.space;
        let left = |state: SpaceState, bytes: u64| match state {
            SpaceState::Sufficient => None,
            SpaceState::Low => {
                Some(format!("{} are left for uploads, a larger one is answered 507", format_size(bytes)))
            }
            SpaceState::Exhausted => Some("nothing is left, each upload is answered 507".to_owned()),
        };
        let of_quota = left(space.quota_state(), space.left_of_quota().unwrap_or_default());
        let of_file_system = left(space.file_system_state(), space.left_on_file_system());
        let of_quota = of_quota.map(|left| format!("basalt.storage.quota: {left}: raise it, or delete objects"));
        let of_file_system = of_file_system.map(|left| {
            let folder = self.folder.display();
            format!("the file system of {folder}: {left}: free space on it, or keep the files in a bucket, basalt.storage.bucket")
        });
        of_quota.into_iter().chain(of_file_system).collect()
    }

    /// The figures in bytes.
    pub(super) fn to_json(&self) -> Value {
        let Space { total, available, reserved, used, quota } = self.space;
        json!({ "total": total, "available": available, "reserved": reserved, "used": used, "quota": quota })
    }
}

/// Formats a number of bytes with at most one decimal: `1.5 GiB`.
fn format_size(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let Some((unit, bits)) = units.into_iter().find(|(_, bits)| bytes >> bits > 0) else {
        return format_count(bytes, "byte");
    };
    let tenths = (u128::from(bytes) * 10) >> bits;
    match tenths % 10 {
        0 => format!("{} {unit}", tenths / 10),
        decimal => format!("{}.{decimal} {unit}", tenths / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_down_to_a_decimal() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (1_048_575, "1023.9 KiB"),
            (1_610_612_736, "1.5 GiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(format_size(bytes), text);
        }
    }

    #[test]
    fn what_is_short_has_a_remedy() {
        const GIB: u64 = 1 << 30;
        let plenty = Space { total: 100 * GIB, available: 50 * GIB, reserved: GIB, used: Some(0), quota: Some(GIB) };
        let warnings = |space| StoredFiles { folder: "/data/storage".into(), space }.warnings().join("\n");
        assert_eq!(warnings(plenty), "");
        assert_eq!(warnings(Space { quota: None, ..plenty }), "");
        assert_eq!(
            warnings(Space { used: Some(GIB - 2048), ..plenty }),
            "basalt.storage.quota: 2 KiB are left for uploads, a larger one is answered 507: raise it, or delete objects"
        );
        assert_eq!(
            warnings(Space { used: Some(GIB + 1), ..plenty }),
            "basalt.storage.quota: nothing is left, each upload is answered 507: raise it, or delete objects"
        );
        let short = warnings(Space { available: 3 * GIB, ..plenty });
        assert!(short.starts_with("the file system of /data/storage: 2 GiB are left for uploads"), "{short}");
        let full = warnings(Space { available: GIB, ..plenty });
        assert!(full.starts_with("the file system of /data/storage: nothing is left"), "{full}");
    }
}
