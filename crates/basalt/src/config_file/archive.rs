//! `[basalt.database] archive`: the archive of the embedded database's write-ahead log.

use std::path::PathBuf;
use std::time::Duration;

use gotrue_rules::wire::go_duration::GoDuration;

/// The key of the folder.
const FOLDER: &str = "basalt.database.archive";
/// The key of the interval.
const INTERVAL: &str = "basalt.database.archive_interval";
/// The interval if none is configured.
const DEFAULT_INTERVAL: Duration = Duration::from_mins(1);

/// The archive of the write-ahead log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArchiveSettings {
    /// The folder; relative to the file's folder until it is used.
    pub folder: PathBuf,
    /// The longest time that a transaction is not in the archive yet.
    pub interval: Duration,
}

/// Parses the archive; `None` without a folder.
pub(super) fn parse_archive(
    text: &impl Fn(&str) -> Option<String>,
    refuse: &mut impl FnMut(&str, &str),
) -> Option<ArchiveSettings> {
    let valid = Duration::from_secs(1)..=Duration::from_hours(24);
    let mut interval = DEFAULT_INTERVAL;
    if let Some(given) = text(INTERVAL) {
        match GoDuration::parse(&given).map(GoDuration::to_std).filter(|given| valid.contains(given)) {
            Some(given) => interval = given,
            None => refuse(INTERVAL, "must be a length of time from \"1s\" to \"24h\""),
        }
    }
    let folder = text(FOLDER)?;
    if folder.contains('\0') {
        refuse(FOLDER, "must be the path of a folder");
        return None;
    }
    Some(ArchiveSettings { folder: folder.into(), interval })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::ConfigFile;
    use super::*;
    use crate::problem::Problem;

    fn read(lines: &str) -> Result<ConfigFile, Vec<Problem>> {
        ConfigFile::read(Path::new("config.toml"), &format!("[basalt.database]\n{lines}\n"), &|_| Ok(None))
    }

    #[test]
    fn archive_has_an_interval() {
        assert_eq!(read("archive_interval = \"2s\"").expect("valid").basalt.archive, None);
        let archive = |lines: &str| read(lines).expect("valid").basalt.archive.expect("an archive");
        assert_eq!(archive("archive = \"wal\"").interval, DEFAULT_INTERVAL);
        let given = archive("archive = \"wal\"\narchive_interval = \"2s\"");
        assert_eq!(given, ArchiveSettings { folder: "wal".into(), interval: Duration::from_secs(2) });
    }

    #[test]
    fn invalid_intervals_have_their_line() {
        for interval in ["0s", "25h", "often"] {
            let problems = read(&format!("archive = \"wal\"\narchive_interval = \"{interval}\"")).expect_err("invalid");
            assert_eq!(problems.first().and_then(|problem| problem.line), Some(3), "{interval}");
        }
    }
}
