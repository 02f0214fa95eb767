//! Reads a backup from end to end: verifies every sum, and unpacks the files if there is a target.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail, ensure};
use flate2::bufread::GzDecoder;
use indicatif::ProgressBar;

use super::manifest::{FileSum, MANIFEST, MANIFEST_SUM, MAX_MANIFEST_BYTES, Manifest, Summing, sum};
use super::tar::{Entry, EntryKind, read_entries};

/// The files of the data folder, in the archive.
pub(super) const DATA: &str = "data";
/// The password of the database, in the archive.
pub(super) const PASSWORD: &str = "postgres/password";
/// The data folder of PostgreSQL, in the archive.
pub(super) const CLUSTER: &str = "postgres/cluster";
/// The largest number of entries.
const MAX_ENTRIES: usize = 5_000_000;

/// Where the files of a backup go.
pub(super) struct UnpackTarget<'a> {
    /// The data folder.
    pub data: &'a Path,
    /// The file of the password.
    pub password: &'a Path,
    /// The folder that becomes the data folder of PostgreSQL.
    pub cluster: &'a Path,
    /// Gives a file or folder of the database to the account of PostgreSQL.
    pub own: &'a dyn Fn(&Path) -> anyhow::Result<()>,
}

/// Verifies a backup; the bar shows how much of the file was read.
///
/// # Errors
/// The file is truncated, changed, incomplete, or no backup.
pub fn verify(file: &Path, bar: &ProgressBar) -> anyhow::Result<Manifest> {
    read(file, None, bar)
}

/// Verifies a backup, and unpacks its files on the way.
pub(super) fn read(file: &Path, target: Option<&UnpackTarget<'_>>, bar: &ProgressBar) -> anyhow::Result<Manifest> {
    let input = File::open(file).with_context(|| format!("reading {}", file.display()))?;
    bar.set_length(input.metadata().map_or(0, |meta| meta.len()));
    let source = BufReader::with_capacity(256 * 1024, Counting { inner: input, bar: bar.clone() });
    let outcome = BackupReader::new(target).read(source);
    bar.finish_and_clear();
    outcome.map_err(describe_damage).with_context(|| format!("{} cannot be used as a backup", file.display()))
}

/// Explains an unexpected end.
fn describe_damage(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(ErrorKind::UnexpectedEof) => error.context("it is truncated"),
        Some(ErrorKind::InvalidInput | ErrorKind::InvalidData) => error.context("it is damaged, or no backup"),
        _ => error,
    }
}

/// Shows the progress of reading.
struct Counting {
    inner: File,
    bar: ProgressBar,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bar.inc(count as u64);
        Ok(count)
    }
}

type Input = BufReader<Counting>;

struct BackupReader<'a> {
    target: Option<&'a UnpackTarget<'a>>,
    files: BTreeMap<String, FileSum>,
    manifest: Vec<u8>,
    manifest_sum: Vec<u8>,
}

impl<'a> BackupReader<'a> {
    fn new(target: Option<&'a UnpackTarget<'a>>) -> Self {
        Self { target, files: BTreeMap::new(), manifest: Vec::new(), manifest_sum: Vec::new() }
    }

    fn read(mut self, input: Input) -> anyhow::Result<Manifest> {
        let mut entries = 0;
        let mut gzip = read_entries(GzDecoder::new(input), |entry, content| {
            entries += 1;
            ensure!(entries <= MAX_ENTRIES, "it has more than {MAX_ENTRIES} entries");
            self.read_entry(entry, content)
        })?;
        // The rest of the compressed file, whose checksum is at its end.
        io::copy(&mut gzip, &mut io::sink())?;
        ensure!(gzip.into_inner().fill_buf()?.is_empty(), "something follows its end");
        ensure!(!self.manifest_sum.is_empty(), "it has no description of its files");
        ensure!(sum(&self.manifest).as_bytes() == self.manifest_sum, "the sum of its description differs");
        let manifest = Manifest::parse(&self.manifest)?;
        compare(&manifest.files, &self.files)?;
        Ok(manifest)
    }

    fn read_entry(&mut self, entry: &Entry, content: &mut dyn Read) -> anyhow::Result<()> {
        match (entry.name.as_str(), entry.kind) {
            (MANIFEST, EntryKind::File) => self.manifest = read_text(entry, content)?,
            (MANIFEST_SUM, EntryKind::File) => self.manifest_sum = read_text(entry, content)?,
            (name, EntryKind::Folder) => {
                if let Some((path, is_of_database)) = self.find_path(name)? {
                    self.create_folder(&path, is_of_database)?;
                }
            }
            (name, EntryKind::File) => {
                let found = self.read_file(name, entry.size, content)?;
                ensure!(self.files.insert(name.to_owned(), found).is_none(), "{name} is in it twice");
            }
        }
        Ok(())
    }

    fn read_file(&self, name: &str, size: u64, content: &mut dyn Read) -> anyhow::Result<FileSum> {
        let mut out: Option<(File, PathBuf, bool)> = match self.find_path(name)? {
            None => None,
            Some((path, is_of_database)) => {
                let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
                Some((created.with_context(|| format!("writing {}", path.display()))?, path, is_of_database))
            }
        };
        let (mut sum, mut buffer) = (Summing::new(), vec![0; 64 * 1024]);
        loop {
            let count = content.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            sum.add(&buffer[..count]);
            if let Some((file, path, _)) = &mut out {
                file.write_all(&buffer[..count]).with_context(|| format!("writing {}", path.display()))?;
            }
        }
        if let (Some((file, path, is_of_database)), Some(target)) = (out, self.target) {
            // Those of the database are flushed together.
            if is_of_database {
                (target.own)(&path)?;
            } else {
                file.sync_all().with_context(|| format!("writing {}", path.display()))?;
            }
        }
        Ok(FileSum { size, sha256: sum.finish() })
    }

    /// Returns where an entry goes, and whether it belongs to the database; `None` if nothing is unpacked.
    fn find_path(&self, name: &str) -> anyhow::Result<Option<(PathBuf, bool)>> {
        let is_plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        ensure!(is_plain, "it has an entry with the name {name:?}");
        let below = |prefix: &str| {
            let rest = name.strip_prefix(prefix)?;
            if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
        };
        let (base, rest, is_of_database): (fn(&UnpackTarget<'a>) -> &'a Path, &str, bool) = if name == PASSWORD {
            (|target| target.password, "", true)
        } else if let Some(rest) = below(CLUSTER) {
            (|target| target.cluster, rest, true)
        } else if let Some(rest) = below(DATA) {
            (|target| target.data, rest, false)
        } else {
            bail!("it has an entry with the name {name:?}");
        };
        Ok(self.target.map(|target| {
            let base = base(target);
            (if rest.is_empty() { base.to_owned() } else { base.join(rest) }, is_of_database)
        }))
    }

    fn create_folder(&self, path: &Path, is_of_database: bool) -> anyhow::Result<()> {
        let doing = || format!("creating {}", path.display());
        // Also one that is there, or whose parents are missing, as those of files that came during the backup.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(doing)?;
        match self.target {
            Some(target) if is_of_database => (target.own)(path),
            _ => Ok(()),
        }
    }
}

fn read_text(entry: &Entry, content: &mut dyn Read) -> anyhow::Result<Vec<u8>> {
    ensure!(entry.size <= MAX_MANIFEST_BYTES, "its description is too long");
    let mut bytes = Vec::new();
    content.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Compares the files that were read with those of the description.
fn compare(expected: &BTreeMap<String, FileSum>, found: &BTreeMap<String, FileSum>) -> anyhow::Result<()> {
    if let Some(name) = expected.keys().find(|name| !found.contains_key(*name)) {
        bail!("{name} is missing in it");
    }
    for (name, file) in found {
        match expected.get(name) {
            Some(listed) => ensure!(listed == file, "the sum of {name} differs"),
            None => bail!("{name} is not in its description"),
        }
    }
    Ok(())
}
