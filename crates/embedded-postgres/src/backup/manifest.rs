//! The description of a backup and the sums of its files, the last entries of the archive.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use aws_lc_rs::digest;
use chrono::{DateTime, Utc};
use foundation::time::format_microseconds;
use serde_json::{Map, Value, json};

/// The entry with the description.
pub(super) const MANIFEST: &str = "manifest.json";
/// The entry with the SHA-256 of the description, in hexadecimal.
pub(super) const MANIFEST_SUM: &str = "manifest.sha256";
/// The largest description that is read.
pub(super) const MAX_MANIFEST_BYTES: u64 = 256 << 20;
/// The version of the format that is written and read.
const FORMAT: u64 = 1;

/// Size and sum of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileSum {
    /// Bytes.
    pub size: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// The description of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The version of Basalt.
    pub version: String,
    /// The major release of PostgreSQL.
    pub postgres_major: u64,
    /// The identifier of the cluster.
    pub system: String,
    /// When the backup began, by the clock of the database.
    pub started_at: DateTime<Utc>,
    /// Every transaction that committed before is in the backup.
    pub ended_at: DateTime<Utc>,
    /// Bytes of a segment of the write-ahead log.
    pub segment_size: u64,
    /// The first segment that is needed.
    pub first_segment: String,
    /// The last segment of the backup.
    pub last_segment: String,
    /// The number of users at the end.
    pub users: u64,
    /// The files, by name.
    pub(super) files: BTreeMap<String, FileSum>,
}

impl Manifest {
    /// Formats the description, without the files if `is_summary`.
    pub fn to_json(&self, is_summary: bool) -> Value {
        let mut json = json!({
            "format": FORMAT,
            "version": self.version,
            "postgres": self.postgres_major,
            "system": self.system,
            "started_at": format_microseconds(self.started_at),
            "ended_at": format_microseconds(self.ended_at),
            "segment_size": self.segment_size,
            "first_segment": self.first_segment,
            "last_segment": self.last_segment,
            "users": self.users,
            "file_count": self.files.len(),
            "bytes": self.bytes(),
        });
        if !is_summary {
            let describe = |(name, file): (&String, &FileSum)| (name.clone(), json!([file.size, file.sha256]));
            json["files"] = Value::Object(self.files.iter().map(describe).collect::<Map<_, _>>());
        }
        json
    }

    /// Parses a description.
    pub(super) fn parse(bytes: &[u8]) -> anyhow::Result<Self> {
        let json: Value = serde_json::from_slice(bytes).context("the description of the backup is damaged")?;
        if json["format"] != FORMAT {
            bail!("the backup has the format {}, and this version of Basalt reads format {FORMAT}", json["format"]);
        }
        let incomplete = |name: &str| format!("the description of the backup has no valid member {name}");
        let text = |name: &str| json[name].as_str().map(str::to_owned).with_context(|| incomplete(name));
        let number = |name: &str| json[name].as_u64().with_context(|| incomplete(name));
        let time = |name: &str| {
            let parsed = DateTime::parse_from_rfc3339(json[name].as_str().unwrap_or_default());
            parsed.map(|time| time.to_utc()).with_context(|| incomplete(name))
        };
        let mut files = BTreeMap::new();
        for (name, file) in json["files"].as_object().with_context(|| incomplete("files"))? {
            let sum = file[0].as_u64().zip(file[1].as_str()).with_context(|| incomplete("files"))?;
            files.insert(name.clone(), FileSum { size: sum.0, sha256: sum.1.to_owned() });
        }
        Ok(Self {
            version: text("version")?,
            postgres_major: number("postgres")?,
            system: text("system")?,
            started_at: time("started_at")?,
            ended_at: time("ended_at")?,
            segment_size: number("segment_size")?,
            first_segment: text("first_segment")?,
            last_segment: text("last_segment")?,
            users: number("users")?,
            files,
        })
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.values().map(|file| file.size).sum()
    }

    /// The number of files.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }
}

/// Returns the SHA-256 in hexadecimal.
pub(super) fn sum(bytes: &[u8]) -> String {
    hex::encode(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// Computes a sum of several parts.
pub(super) struct Summing(digest::Context);

impl Summing {
    pub(super) fn new() -> Self {
        Self(digest::Context::new(&digest::SHA256))
    }

    pub(super) fn add(&mut self, part: &[u8]) {
        self.0.update(part);
    }

    /// Returns the sum in hexadecimal.
    pub(super) fn finish(self) -> String {
        hex::encode(self.0.finish().as_ref())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn manifest() -> Manifest {
        let time = |text: &str| DateTime::parse_from_rfc3339(text).expect("a time").to_utc();
        Manifest {
            version: "1.0.0".to_owned(),
            postgres_major: 15,
            system: "7412".to_owned(),
            started_at: time("2026-01-01T00:00:00.000001Z"),
            ended_at: time("2026-01-01T00:00:01.5Z"),
            segment_size: 16 << 20,
            first_segment: "000000010000000000000002".to_owned(),
            last_segment: "000000010000000000000003".to_owned(),
            users: 3,
            files: BTreeMap::from([("data/keys.json".to_owned(), FileSum { size: 2, sha256: sum(b"{}") })]),
        }
    }

    #[test]
    fn description_is_parsed_as_formatted() {
        let bytes = manifest().to_json(false).to_string();
        assert_eq!(Manifest::parse(bytes.as_bytes()).expect("valid"), manifest());
    }

    #[test]
    fn other_formats_and_missing_members_are_refused() {
        for name in ["format", "version", "postgres", "ended_at", "segment_size", "first_segment", "users", "files"] {
            let mut json = manifest().to_json(false);
            json[name] = Value::Null;
            assert!(Manifest::parse(json.to_string().as_bytes()).is_err(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "\\PC*") {
            let _ = Manifest::parse(text.as_bytes());
        }
    }
}
