//! Restores a backup into a new data folder: unpacks it, and prepares the recovery that the start of the database makes.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use chrono::{DateTime, Utc};
use data_folder::DataFolder;
use foundation::time::format_microseconds;
use indicatif::ProgressBar;

use super::archive::unpack_log;
use super::manifest::Manifest;
use super::read::{UnpackTarget, read};
use crate::restore_folder::RestoreFolder;
use crate::server::EmbeddedPostgres;

/// PostgreSQL's own file of settings, which the recovery adds to and then restores.
const SETTINGS: &str = "postgresql.auto.conf";
/// PostgreSQL's message if the log ends before the time.
const TARGET_NOT_REACHED: &str = "recovery ended before configured recovery target was reached";

/// What to restore.
#[derive(Debug, Clone)]
pub struct RestoreRequest {
    /// The backup.
    pub file: PathBuf,
    /// The archive with the write-ahead log since the backup.
    pub archive: Option<PathBuf>,
    /// The time after which transactions are left out.
    pub until: Option<DateTime<Utc>>,
}

/// A backup that is being restored: it is unpacked, recovered by a start of the database, and completed, or undone if one of
/// these fails.
#[derive(Debug, Clone)]
pub struct Restore {
    request: RestoreRequest,
    /// The data folder as it was named.
    data: PathBuf,
    /// Whether it existed.
    existed: bool,
    home: RestoreFolder,
}

/// An unpacked backup.
#[derive(Debug)]
pub struct UnpackedBackup {
    /// The description of the backup.
    pub manifest: Manifest,
    /// The settings that apply after the recovery.
    settings: Vec<u8>,
}

impl Restore {
    /// Begins to restore into a data folder, which must be missing or empty; returns it locked.
    ///
    /// # Errors
    /// The folder is in use, or a time is named without an archive.
    pub fn begin(data: &Path, request: RestoreRequest) -> anyhow::Result<(Self, DataFolder)> {
        let existed = refuse_used(data)?;
        if request.until.is_some() && request.archive.is_none() {
            bail!("a time can only be restored with the archive of the write-ahead log: add --archive DIR");
        }
        let folder = DataFolder::open(data)?;
        let home = RestoreFolder::create(folder.path())?;
        Ok((Self { request, data: data.to_owned(), existed, home }, folder))
    }

    /// Unpacks everything into the locked data folder and prepares the recovery.
    ///
    /// The bar shows how much of the file was read.
    ///
    /// # Errors
    /// The backup is damaged, or complete only after the time to restore.
    pub fn unpack(&self, data: &Path, bar: &ProgressBar) -> anyhow::Result<UnpackedBackup> {
        let Self { request, home, .. } = self;
        let own = |path: &Path| home.own(path);
        let cluster = home.unpacked();
        let target = UnpackTarget { data, password: &home.password(), cluster: &cluster, own: &own };
        let manifest = read(&request.file, Some(&target), bar)?;
        if let Some(until) = request.until.filter(|until| *until < manifest.ended_at) {
            bail!(
                "{} is before {}, when this backup was complete: choose an earlier backup",
                format_microseconds(until),
                format_microseconds(manifest.ended_at)
            );
        }
        if let Some(archive) = &request.archive {
            unpack_log(archive, &cluster.join("pg_wal"), &manifest, &own)?;
        }
        let path = cluster.join(SETTINGS);
        let doing = || format!("writing {}", path.display());
        let settings = fs::read(&path).with_context(doing)?;
        let mut file = OpenOptions::new().append(true).open(&path).with_context(doing)?;
        file.write_all(format_recovery(request.until).as_bytes()).and_then(|()| file.sync_all()).with_context(doing)?;
        let signal = cluster.join("recovery.signal");
        fs::write(&signal, "").with_context(|| format!("writing {}", signal.display()))?;
        home.own(&signal)?;
        home.complete()?;
        Ok(UnpackedBackup { manifest, settings })
    }

    /// Explains why the start of the database failed, with which it recovers.
    pub fn explain_start(&self, error: anyhow::Error) -> anyhow::Error {
        match self.request.until {
            Some(until) if format!("{error:#}").contains(TARGET_NOT_REACHED) => anyhow::anyhow!(
                "the archive has no transaction after {}: restore without --until to recover all of it",
                format_microseconds(until)
            ),
            _ => error.context("recovering the database"),
        }
    }

    /// Restores the settings of the recovered and stopped database, and writes everything to the disk.
    pub fn complete(&self, unpacked: &UnpackedBackup) -> anyhow::Result<()> {
        self.home.write_setting_file(SETTINGS, &unpacked.settings)?;
        self.home.flush(&self.data)
    }

    /// Removes everything that was created.
    pub fn undo(&self) {
        self.home.remove();
        remove_created(&self.data, self.existed);
    }
}

/// Returns whether the folder exists, if it is empty.
fn refuse_used(data: &Path) -> anyhow::Result<bool> {
    let used = || {
        format!(
            "{} is not empty, and a backup is restored into a new folder only: name another one with --data DIR",
            data.display()
        )
    };
    if EmbeddedPostgres::find_cluster(data).is_some() {
        bail!(used());
    }
    match fs::read_dir(data) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                bail!(used());
            }
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("reading {}", data.display())),
    }
}

/// Removes what was created in the folder, and the folder if it was created, too.
fn remove_created(data: &Path, existed: bool) {
    if !existed {
        drop(fs::remove_dir_all(data));
        return;
    }
    for entry in fs::read_dir(data).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        drop(if is_folder { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) });
    }
}

/// Formats the settings of the recovery, for which all of the log is in `pg_wal` already.
///
/// The cluster begins a new timeline, so that its log is never confused with that of the original. It accepts no
/// connections meanwhile: one that does counts as started.
fn format_recovery(until: Option<DateTime<Utc>>) -> String {
    let target = until.map_or_else(String::new, |until| {
        format!("recovery_target_time = '{}'\n", until.format("%Y-%m-%d %H:%M:%S%.6f+00"))
    });
    format!("\nhot_standby = 'off'\nrestore_command = 'exit 1'\nrecovery_target_action = 'promote'\n{target}")
}
