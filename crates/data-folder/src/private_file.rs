//! Files with personal data or secrets that a command writes for the operator.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::durable::rename_on_disk;

/// A file that only its owner may read. It gets its name when it is complete, and is deleted otherwise.
#[derive(Debug)]
pub struct PrivateFile {
    file: PathBuf,
    /// The name until then: that of the file with `.part` at its end.
    part: PathBuf,
    out: BufWriter<File>,
    is_complete: bool,
}

impl PrivateFile {
    /// Creates the file under its temporary name.
    ///
    /// What an interrupted command left there is deleted and not opened: another user may read it, or it may be a link.
    ///
    /// # Errors
    /// The file exists and may not be replaced, or cannot be created.
    pub fn create(file: &Path, may_replace: bool) -> anyhow::Result<Self> {
        if file.symlink_metadata().is_ok() && !may_replace {
            bail!("{} is there already; --force writes over it", file.display());
        }
        let mut name = file.file_name().with_context(|| format!("{} names no file", file.display()))?.to_owned();
        name.push(".part");
        let part = file.with_file_name(name);
        let doing = || format!("writing {}", part.display());
        match fs::remove_file(&part) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).with_context(doing),
            _ => {}
        }
        let out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part).with_context(doing)?;
        Ok(Self { file: file.to_owned(), part, out: BufWriter::new(out), is_complete: false })
    }

    /// Stores the content and gives the file its name; both are on the disk then.
    ///
    /// # Errors
    /// The content cannot be stored, or the file cannot be replaced.
    pub fn finish(mut self) -> anyhow::Result<()> {
        let stored = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        let renamed = stored.and_then(|()| rename_on_disk(&self.part, &self.file));
        renamed.with_context(|| format!("writing {}", self.file.display()))?;
        self.is_complete = true;
        Ok(())
    }
}

impl Write for PrivateFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        if !self.is_complete {
            drop(fs::remove_file(&self.part));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::testing::TestFolder;

    fn write(file: &Path, may_replace: bool) -> anyhow::Result<()> {
        let mut out = PrivateFile::create(file, may_replace)?;
        out.write_all(b"new")?;
        out.finish()
    }

    #[test]
    fn leftover_is_neither_followed_nor_reused() {
        let folder = TestFolder::new("file-leftover");
        let [file, part, other] = ["a.csv", "a.csv.part", "other"].map(|name| folder.join(name));
        fs::write(&other, "other").expect("written");
        symlink(&other, &part).expect("a link");
        write(&file, false).expect("written");
        assert_eq!(fs::read_to_string(&other).expect("a text"), "other");
        fs::write(&part, "left over").expect("written");
        fs::set_permissions(&part, fs::Permissions::from_mode(0o644)).expect("permissions");
        write(&file, true).expect("written");
        assert_eq!(fs::read_to_string(&file).expect("a text"), "new");
        let mode = fs::metadata(&file).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(folder.names(), ["a.csv", "other"]);
    }

    #[test]
    fn existing_file_is_kept_unless_it_may_be_replaced() {
        let folder = TestFolder::new("file-existing");
        let [file, link] = ["a.json", "link"].map(|name| folder.join(name));
        fs::write(&file, "old").expect("written");
        symlink(folder.join("missing"), &link).expect("a link");
        for existing in [&file, &link] {
            let refused = write(existing, false).expect_err("it exists").to_string();
            assert!(refused.contains("--force writes over it"), "{refused}");
        }
        assert_eq!(fs::read_to_string(&file).expect("a text"), "old");
        assert_eq!(folder.names(), ["a.json", "link"]);
    }

    #[test]
    fn incomplete_file_is_deleted() {
        let folder = TestFolder::new("file-incomplete");
        let [file, busy] = ["a.json", "folder"].map(|name| folder.join(name));
        let mut out = PrivateFile::create(&file, false).expect("a file");
        out.write_all(b"half").expect("written");
        drop(out);
        fs::create_dir(&busy).expect("a folder");
        write(&busy, true).expect_err("a folder is not replaced");
        assert_eq!(folder.names(), ["folder"]);
    }
}
