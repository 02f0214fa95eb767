//! Continuous archive of the write-ahead log, from which a backup is recovered up to any later time.
//!
//! The server copies complete segments itself: PostgreSQL keeps them for a replication slot until they are in the
//! archive. Neither a shell nor rights of PostgreSQL's account in the archive are needed.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use data_folder::PrivateFile;
use data_folder::durable::sync_folder;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use foundation::error_chain::ErrorChain;
use platform::clock::{Clock, SystemClock};
use telemetry::jobs::JobRun;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::base_backup::BackupSession;
use super::manifest::Manifest;
use super::wal::{Segment, format_position, is_history, list_names, parse_position};

/// The replication slot for which the database keeps the log.
const SLOT: &str = "basalt_archive";
/// The file that names the cluster whose log is archived.
const SYSTEM_FILE: &str = "system";
/// The end of the names of archived files.
const SUFFIX: &str = ".gz";

/// The running archive of a server.
pub struct WalArchive {
    stop: watch::Sender<()>,
    task: JoinHandle<()>,
}

impl WalArchive {
    /// Starts to archive the log of the embedded database into a folder.
    ///
    /// `interval` is the longest time that a transaction is not in the archive yet.
    ///
    /// # Errors
    /// The folder cannot be used, or holds the log of another database.
    pub async fn start(folder: PathBuf, interval: Duration, session: BackupSession) -> anyhow::Result<Self> {
        let cluster = session.describe().await.context("reading the state of the database")?;
        claim_folder(&folder, &cluster.system)?;
        let (position, is_new) = session.find_or_create_slot(SLOT).await.context("keeping the write-ahead log")?;
        if is_new {
            tracing::info!(folder = %folder.display(), "the archive of the write-ahead log begins: make a backup now");
        }
        let mut archiver = Archiver {
            session,
            folder,
            log: Path::new(&cluster.folder).join("pg_wal"),
            segment_size: u64::try_from(cluster.segment_size).unwrap_or_default().max(1),
            position: parse_position(&position).context("the position of the write-ahead log is invalid")?,
            last_transaction: String::new(),
        };
        let (stop, mut stopping) = watch::channel(());
        let task = http_edge::spawn_task(async move {
            while tokio::time::timeout(interval, stopping.changed()).await.is_err() {
                archiver.run().await;
            }
            archiver.run().await;
            archiver.session.close().await;
        });
        Ok(Self { stop, task })
    }

    /// Archives the rest of the log and ends.
    pub async fn finish(self) -> anyhow::Result<()> {
        drop(self.stop);
        self.task.await.context("ending the archive of the write-ahead log")
    }
}

/// Lets the database remove its log again, after the archive was removed from the settings.
pub async fn end_archiving(session: BackupSession) -> anyhow::Result<()> {
    let dropped = session.drop_slot(SLOT).await.context("ending the archive of the write-ahead log");
    session.close().await;
    dropped
}

struct Archiver {
    session: BackupSession,
    folder: PathBuf,
    log: PathBuf,
    segment_size: u64,
    /// Everything before is in the archive.
    position: u64,
    /// The number of the next transaction when the last segment was ended.
    last_transaction: String,
}

impl Archiver {
    async fn run(&mut self) {
        let started = SystemClock.now();
        let outcome = self.archive().await;
        let ended = SystemClock.now();
        let duration = (ended - started).to_std().unwrap_or_default();
        JobRun { job: "wal_archive", is_successful: outcome.is_ok(), duration, ended: ended.timestamp() }.record();
        if let Err(error) = outcome {
            tracing::error!(
                error = %ErrorChain(error.as_ref()),
                folder = %self.folder.display(),
                "the write-ahead log was not archived, retrying"
            );
        }
    }

    /// Ends the current segment if there were transactions, and archives all complete segments.
    async fn archive(&mut self) -> anyhow::Result<()> {
        let (mut flushed, transaction) = self.session.read_log().await?;
        if transaction != self.last_transaction {
            self.session.switch_segment().await?;
            flushed = self.session.read_log().await?.0;
        }
        let end = parse_position(&flushed).context("the position of the write-ahead log is invalid")?;
        let end = end - end % self.segment_size;
        let numbers = self.position / self.segment_size..end / self.segment_size;
        let (folder, log, size) = (self.folder.clone(), self.log.clone(), self.segment_size);
        tokio::task::spawn_blocking(move || copy_log(&folder, &log, numbers, size))
            .await
            .context("copying the write-ahead log")??;
        if end > self.position {
            self.session.advance_slot(SLOT, &format_position(end)).await?;
            self.position = end;
        }
        self.last_transaction = transaction;
        Ok(())
    }
}

/// Creates the folder, and refuses one that holds the log of another cluster.
fn claim_folder(folder: &Path, system: &str) -> anyhow::Result<()> {
    let doing = || format!("using {} as archive of the write-ahead log", folder.display());
    DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(doing)?;
    let file = folder.join(SYSTEM_FILE);
    if !file.exists() {
        let mut out = PrivateFile::create(&file, false)?;
        return out.write_all(system.as_bytes()).map_err(Into::into).and_then(|()| out.finish()).with_context(doing);
    }
    let owner = fs::read_to_string(&file).with_context(doing)?;
    ensure!(
        owner.trim() == system,
        "{} is the archive of another database: name a new folder in [basalt.database] archive",
        folder.display()
    );
    Ok(())
}

/// Copies the segments with these numbers and the histories of timelines.
fn copy_log(folder: &Path, log: &Path, numbers: std::ops::Range<u64>, size: u64) -> anyhow::Result<()> {
    let names = list_names(log).with_context(|| format!("reading {}", log.display()))?;
    // Of a segment in which a timeline begins, the newer timeline has all of the content.
    let segments: BTreeMap<u64, Segment> = names
        .iter()
        .filter_map(|name| Segment::parse(name, size))
        .filter(|segment| numbers.contains(&segment.number))
        .fold(BTreeMap::new(), |mut found, segment| {
            let known = found.entry(segment.number).or_insert(segment);
            *known = segment.max(*known);
            found
        });
    for name in names.iter().filter(|name| is_history(name)) {
        copy_file(&log.join(name), &folder.join(format!("{name}{SUFFIX}")))?;
    }
    for number in numbers {
        let segment = segments.get(&number).context(
            "a segment of the write-ahead log was removed before it was archived: make a new backup, and look at the space \
             and the speed of the archive",
        )?;
        let name = segment.name(size);
        copy_file(&log.join(&name), &folder.join(format!("{name}{SUFFIX}")))?;
    }
    sync_folder(folder).with_context(|| format!("writing {}", folder.display()))
}

/// Compresses a file into the archive; a file that is there must have the same content.
fn copy_file(from: &Path, to: &Path) -> anyhow::Result<()> {
    let doing = || format!("copying {} to {}", from.display(), to.display());
    let content = fs::read(from).with_context(doing)?;
    if to.exists() {
        let archived = decompress(to, content.len() as u64).with_context(doing)?;
        ensure!(
            archived == content,
            "{} has another content than the log of this database: name a new folder in [basalt.database] archive",
            to.display()
        );
        return Ok(());
    }
    let part = to.with_extension("part");
    let out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part).with_context(doing)?;
    let mut gzip = GzEncoder::new(out, Compression::fast());
    let written = gzip.write_all(&content).and_then(|()| gzip.finish());
    written.and_then(|out| out.sync_all()).and_then(|()| fs::rename(&part, to)).with_context(doing)
}

/// Reads an archived file, which has at most `limit` bytes.
fn decompress(file: &Path, limit: u64) -> anyhow::Result<Vec<u8>> {
    let input = File::open(file).with_context(|| format!("reading {}", file.display()))?;
    let mut content = Vec::new();
    GzDecoder::new(BufReader::new(input))
        .take(limit + 1)
        .read_to_end(&mut content)
        .with_context(|| format!("{} is damaged", file.display()))?;
    ensure!(content.len() as u64 <= limit, "{} is damaged: it is too long", file.display());
    Ok(content)
}

/// Unpacks the log since the backup into the log folder of a cluster to be recovered.
///
/// # Errors
/// The archive belongs to another database, or a segment between the first and the last one is missing.
pub(super) fn unpack_log(
    archive: &Path,
    log: &Path,
    manifest: &Manifest,
    own: &dyn Fn(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let doing = || format!("reading the archive {}", archive.display());
    let system = fs::read_to_string(archive.join(SYSTEM_FILE)).with_context(doing)?;
    ensure!(system.trim() == manifest.system, "{} is the archive of another database", archive.display());
    let size = manifest.segment_size;
    let first = Segment::parse(&manifest.first_segment, size).context("the backup names no segment")?;
    let last = Segment::parse(&manifest.last_segment, size).context("the backup names no segment")?;
    let mut next = last.number + 1;
    let mut names: Vec<(u64, String)> = Vec::new();
    for name in list_names(archive).with_context(doing)? {
        let Some(name) = name.strip_suffix(SUFFIX) else { continue };
        if is_history(name) {
            names.push((0, name.to_owned()));
        } else if let Some(segment) = Segment::parse(name, size).filter(|segment| segment.number >= first.number) {
            names.push((segment.number, name.to_owned()));
        }
    }
    names.sort_unstable();
    for (number, name) in names {
        if number > next {
            bail!(
                "the archive {} has no segment {}, so nothing after it can be recovered: use a later backup",
                archive.display(),
                Segment { number: next, ..last }.name(size)
            );
        }
        next = next.max(number + 1);
        let target = log.join(&name);
        if !target.exists() {
            let content = decompress(&archive.join(format!("{name}{SUFFIX}")), size)?;
            fs::write(&target, content).with_context(|| format!("writing {}", target.display()))?;
            own(&target)?;
        }
    }
    Ok(())
}
