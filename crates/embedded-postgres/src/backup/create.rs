//! Creates a backup while the database is in use.
//!
//! It is a copy of the files, and the write-ahead log that makes them consistent.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use data_folder::durable::rename_on_disk;
use flate2::Compression;
use flate2::write::GzEncoder;
use indicatif::ProgressBar;
use platform::entropy::Entropy;

use super::base_backup::{BackupEnd, BackupSession, ClusterDescription};
use super::manifest::{FileSum, MANIFEST, MANIFEST_SUM, Manifest, Summing, sum};
use super::read::{CLUSTER, DATA, PASSWORD, verify};
use super::tar;
use super::wal::{Segment, find_first_segment, is_history, list_names};
use crate::server::EmbeddedPostgres;

/// Folders whose content a restored cluster creates anew (PostgreSQL, "Making a Base Backup").
const EMPTY_FOLDERS: [&str; 8] =
    ["pg_wal", "pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans"];
/// Files of a running server.
const SKIPPED_FILES: [&str; 6] =
    ["postmaster.pid", "postmaster.opts", "backup_label", "backup_label.old", "tablespace_map", "pg_internal.init"];
/// The file of PostgreSQL that is copied last, and whole.
const CONTROL: &str = "global/pg_control";
/// Files of the data folder that belong to a running server.
const SKIPPED_DATA: [&str; 4] = ["lock", "running.json", ".gitignore", "postgres"];
/// The folder of stored files, below the data folder.
const STORED_FILES: &str = "storage/objects";
/// Stored files that are being written, below the data folder.
const INCOMING_FILES: &str = "storage/incoming";
/// Attempts to read the control file without a change meanwhile.
const CONTROL_ATTEMPTS: u32 = 100;

/// A backup of an embedded database and its data folder that is about to be made.
#[derive(Debug, Clone)]
pub struct NewBackup {
    /// The new file.
    pub file: PathBuf,
    /// The data folder.
    pub data: PathBuf,
    /// The archive of the write-ahead log, which is left out if it is in the data folder.
    pub archive: Option<PathBuf>,
}

impl NewBackup {
    /// Refuses a file that exists or whose folder does not.
    pub fn check_place(&self) -> anyhow::Result<()> {
        if self.file.symlink_metadata().is_ok() {
            bail!("{} exists: a backup is written to a new file", self.file.display());
        }
        if let Some(folder) = self.file.parent().filter(|folder| !folder.is_dir()) {
            bail!("there is no folder {}: nothing was written", folder.display());
        }
        Ok(())
    }

    /// Writes the file with a session of a superuser; the bar shows how much was copied.
    ///
    /// # Errors
    /// The session is that of another database, or a file cannot be read or written. No partial file remains.
    pub async fn write(&self, session: &BackupSession, bar: ProgressBar) -> anyhow::Result<()> {
        let cluster = session.describe().await.context("reading the state of the database")?;
        let folder = EmbeddedPostgres::find_cluster(&self.data).context("the embedded database has vanished")?;
        if fs::canonicalize(&cluster.folder).ok() != fs::canonicalize(&folder).ok() {
            bail!("the running server does not use the embedded database in {}", folder.display());
        }
        if cluster.has_tablespaces {
            bail!("the database has tablespaces, which this backup cannot contain: use pg_basebackup");
        }
        let mut writer = BackupWriter::new(self, folder, bar)?;
        let slot = format!("basalt_backup_{}", Entropy::from_system().base32(12).to_lowercase());
        let started_at = session.start(&slot).await.context("beginning the backup")?;
        let mut writer = run_blocking(move || {
            writer.add_all()?;
            // Before the end, too: a file that is replaced or deleted after it would be missing.
            writer.add_later_data()?;
            Ok(writer)
        })
        .await?;
        let end = session.stop().await.context("ending the backup")?;
        run_blocking(move || {
            writer.add_later_data()?;
            let first_segment = writer.add_log(&cluster, &end)?;
            let manifest = Manifest {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                postgres_major: cluster.major.try_into().unwrap_or_default(),
                system: cluster.system,
                started_at,
                ended_at: end.ended_at,
                segment_size: cluster.segment_size.try_into().unwrap_or_default(),
                first_segment,
                last_segment: end.last_segment,
                users: end.users.try_into().unwrap_or_default(),
                files: std::mem::take(&mut writer.files),
            };
            writer.finish(&manifest)
        })
        .await
    }

    /// Verifies the written file, and removes it if it is damaged.
    pub fn verify(&self, bar: &ProgressBar) -> anyhow::Result<Manifest> {
        let verified = verify(&self.file, bar);
        if verified.is_err() {
            drop(fs::remove_file(&self.file));
        }
        verified
    }
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(work).await.context("copying the files of the database")?
}

/// The unfinished file, removed unless it was completed.
struct PartFile {
    path: PathBuf,
    is_complete: bool,
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_complete {
            drop(fs::remove_file(&self.path));
        }
    }
}

/// Writes the archive.
struct BackupWriter {
    tar: ::tar::Builder<GzEncoder<BufWriter<File>>>,
    files: BTreeMap<String, FileSum>,
    file: PathBuf,
    part: PartFile,
    cluster: PathBuf,
    data: PathBuf,
    /// Files and folders of the data folder that are left out.
    skipped: Vec<PathBuf>,
    bar: ProgressBar,
}

impl BackupWriter {
    /// Creates the file, readable by its owner alone.
    fn new(backup: &NewBackup, cluster: PathBuf, bar: ProgressBar) -> anyhow::Result<Self> {
        let NewBackup { file, data, archive } = backup.clone();
        let mut name = file.file_name().context("the name of the backup is missing")?.to_owned();
        name.push(".part");
        let path = file.with_file_name(name);
        let _ = fs::remove_file(&path);
        let out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let out = out.with_context(|| format!("writing {}", path.display()))?;
        let gzip = GzEncoder::new(BufWriter::with_capacity(256 * 1024, out), Compression::fast());
        let skipped =
            archive.into_iter().chain([path.clone()]).filter_map(|path| fs::canonicalize(path).ok()).collect();
        bar.set_length(measure(&cluster));
        Ok(Self {
            tar: ::tar::Builder::new(gzip),
            files: BTreeMap::new(),
            file,
            part: PartFile { path, is_complete: false },
            cluster,
            data,
            skipped,
            bar,
        })
    }

    /// Copies the data folder and the files of the database, the control file last.
    fn add_all(&mut self) -> anyhow::Result<()> {
        tar::add_folder(&mut self.tar, DATA)?;
        self.add_data(DATA, &self.data.clone())?;
        let home = self.cluster.parent().context("the folder of the database has no parent")?;
        let password = home.join("password");
        if !self.add_file(PASSWORD, &password)? {
            bail!("{} is missing, without which the database cannot be opened", password.display());
        }
        tar::add_folder(&mut self.tar, CLUSTER)?;
        self.add_folder_of_cluster("", &self.cluster.clone())?;
        let control = self.read_control()?;
        self.add_bytes(&format!("{CLUSTER}/{CONTROL}"), &control)
    }

    /// Copies keys and other files of the data folder.
    fn add_data(&mut self, name: &str, folder: &Path) -> anyhow::Result<()> {
        for entry in list_names(folder).with_context(|| format!("reading {}", folder.display()))? {
            let path = folder.join(&entry);
            let is_skipped = name == DATA && SKIPPED_DATA.contains(&entry.as_str());
            if is_skipped || fs::canonicalize(&path).is_ok_and(|path| self.skipped.contains(&path)) {
                continue;
            }
            let below = format!("{name}/{entry}");
            if below == format!("{DATA}/{INCOMING_FILES}") {
                continue;
            }
            let Ok(kind) = fs::metadata(&path) else { continue };
            if kind.is_dir() {
                tar::add_folder(&mut self.tar, &below)?;
                self.add_data(&below, &path)?;
            } else if kind.is_file() {
                self.add_file(&below, &path)?;
            }
        }
        Ok(())
    }

    /// Copies the stored files that are new since the data folder was copied: rows of the database name them. Stored files
    /// never change.
    fn add_later_data(&mut self) -> anyhow::Result<()> {
        let (name, folder) = (format!("{DATA}/{STORED_FILES}"), self.data.join(STORED_FILES));
        for entry in list_names(&folder).unwrap_or_default() {
            let (name, folder) = (format!("{name}/{entry}"), folder.join(&entry));
            let files =
                list_names(&folder).unwrap_or_default().into_iter().map(|file| (format!("{name}/{file}"), file));
            let later: Vec<_> = files.filter(|(below, _)| !self.files.contains_key(below)).collect();
            if !later.is_empty() {
                tar::add_folder(&mut self.tar, &name)?;
            }
            for (below, file) in later {
                let path = folder.join(file);
                if fs::metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
                    self.add_file(&below, &path)?;
                }
            }
        }
        Ok(())
    }

    /// Copies a folder of the database; `name` is its path below the data folder of PostgreSQL.
    fn add_folder_of_cluster(&mut self, name: &str, folder: &Path) -> anyhow::Result<()> {
        let entries = match list_names(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound && !name.is_empty() => return Ok(()),
            listed => listed.with_context(|| format!("reading {}", folder.display()))?,
        };
        for entry in entries {
            let below = if name.is_empty() { entry.clone() } else { format!("{name}/{entry}") };
            if SKIPPED_FILES.contains(&entry.as_str()) || entry.starts_with("pgsql_tmp") || below == CONTROL {
                continue;
            }
            let path = folder.join(&entry);
            let Ok(kind) = fs::symlink_metadata(&path) else { continue };
            let target = format!("{CLUSTER}/{below}");
            if kind.is_dir() {
                tar::add_folder(&mut self.tar, &target)?;
                if below == "pg_wal" {
                    tar::add_folder(&mut self.tar, &format!("{target}/archive_status"))?;
                }
                if !EMPTY_FOLDERS.contains(&below.as_str()) {
                    self.add_folder_of_cluster(&below, &path)?;
                }
            } else if kind.is_file() {
                self.add_file(&target, &path)?;
            } else {
                bail!("{} is neither a file nor a folder, which this backup cannot contain", path.display());
            }
        }
        Ok(())
    }

    /// Copies a file with the size that it has now; returns false if it has vanished.
    fn add_file(&mut self, name: &str, path: &Path) -> anyhow::Result<bool> {
        let doing = || format!("copying {}", path.display());
        let mut source = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            opened => opened.with_context(doing)?,
        };
        let size = source.metadata().with_context(doing)?.len();
        self.add(name, size, &mut source).with_context(doing)?;
        Ok(true)
    }

    fn add_bytes(&mut self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let mut source = bytes;
        self.add(name, bytes.len() as u64, &mut source)
    }

    fn add(&mut self, name: &str, size: u64, source: &mut dyn std::io::Read) -> anyhow::Result<()> {
        let (mut sum, bar) = (Summing::new(), &self.bar);
        tar::add_file(&mut self.tar, name, size, source, &mut |part| {
            sum.add(part);
            bar.inc(part.len() as u64);
        })?;
        self.files.insert(name.to_owned(), FileSum { size, sha256: sum.finish() });
        Ok(())
    }

    /// Reads the control file until two copies are equal: a copy made during a write would be refused.
    fn read_control(&self) -> anyhow::Result<Vec<u8>> {
        let path = self.cluster.join(CONTROL);
        let read = || fs::read(&path).with_context(|| format!("copying {}", path.display()));
        let mut before = read()?;
        for _ in 0..CONTROL_ATTEMPTS {
            let now = read()?;
            if now == before {
                return Ok(now);
            }
            before = now;
        }
        bail!("{} changes all the time", path.display())
    }

    /// Adds the label and the log from the start to the end of the copy; returns the first segment.
    fn add_log(&mut self, cluster: &ClusterDescription, end: &BackupEnd) -> anyhow::Result<String> {
        self.add_bytes(&format!("{CLUSTER}/backup_label"), end.label.as_bytes())?;
        let size = cluster.segment_size.try_into().unwrap_or_default();
        let parse = |name: &str| Segment::parse(name, size);
        let first =
            find_first_segment(&end.label).and_then(parse).context("the label of the backup names no segment")?;
        let last = parse(&end.last_segment).context("the end of the backup names no segment")?;
        let folder = self.cluster.join("pg_wal");
        for number in first.number..=last.number {
            let name = Segment { number, ..first }.name(size);
            if !self.add_file(&format!("{CLUSTER}/pg_wal/{name}"), &folder.join(&name))? {
                bail!(
                    "the write-ahead log {name} was removed during the backup, because more was written than \
                     max_slot_wal_keep_size allows: repeat the backup while less is written"
                );
            }
        }
        for name in list_names(&folder)?.iter().filter(|name| is_history(name)) {
            self.add_file(&format!("{CLUSTER}/pg_wal/{name}"), &folder.join(name))?;
        }
        Ok(first.name(size))
    }

    /// Adds the description, and gives the file its name once everything is on disk; then the name is, too.
    fn finish(mut self, manifest: &Manifest) -> anyhow::Result<()> {
        let text = manifest.to_json(false).to_string();
        self.add_bytes(MANIFEST, text.as_bytes())?;
        self.add_bytes(MANIFEST_SUM, sum(text.as_bytes()).as_bytes())?;
        self.bar.finish_and_clear();
        let doing = || format!("writing {}", self.file.display());
        let mut buffered = self.tar.into_inner().and_then(GzEncoder::finish).with_context(doing)?;
        buffered.flush().and_then(|()| buffered.get_ref().sync_all()).with_context(doing)?;
        if self.file.symlink_metadata().is_ok() {
            bail!("{} was created meanwhile: a backup is written to a new file", self.file.display());
        }
        rename_on_disk(&self.part.path, &self.file).with_context(doing)?;
        self.part.is_complete = true;
        Ok(())
    }
}

/// Returns the bytes of all files below a folder, for the progress.
fn measure(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let measure_entry = |entry: fs::DirEntry| match entry.metadata() {
        Ok(kind) if kind.is_dir() && entry.file_name() != "pg_wal" => measure(&entry.path()),
        Ok(kind) if kind.is_file() => kind.len(),
        _ => 0,
    };
    entries.flatten().map(measure_entry).sum()
}
