//! The entries of backups: regular files and folders (POSIX.1-2001, ustar).

use std::io::{self, ErrorKind, Read, Write};

use tar::{Archive, Builder, EntryType, Header};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
}

/// The header of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its relative path.
    pub name: String,
    pub kind: EntryKind,
    /// In bytes.
    pub size: u64,
}

/// Appends a folder.
pub(super) fn add_folder(tar: &mut Builder<impl Write>, name: &str) -> io::Result<()> {
    tar.append(&build_header(&format!("{name}/"), EntryType::Directory, 0)?, io::empty())
}

/// Appends a file of `size` bytes; `seen` gets each part of the written content.
///
/// A source that ends earlier is continued with zeros, and one that is longer is cut: the file may change meanwhile.
pub(super) fn add_file(
    tar: &mut Builder<impl Write>,
    name: &str,
    size: u64,
    source: &mut dyn Read,
    seen: &mut dyn FnMut(&[u8]),
) -> io::Result<()> {
    let content = Observed { inner: source.chain(io::repeat(0)).take(size), seen };
    tar.append(&build_header(name, EntryType::Regular, size)?, content)
}

/// Calls `read` for each entry up to the end of the archive, and returns the inner reader.
///
/// # Errors
/// The archive is truncated, contains other entries than backups have, or `read` fails.
pub(super) fn read_entries<R: Read>(
    inner: R,
    mut read: impl FnMut(&Entry, &mut dyn Read) -> anyhow::Result<()>,
) -> anyhow::Result<R> {
    let mut archive = Archive::new(inner);
    // Entries of extensions, such as those of long names, are not interpreted but refused.
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry.map_err(mark_damage)?;
        let header = parse_header(entry.header()).map_err(mark_damage)?;
        read(&header, &mut entry)?;
    }
    Ok(archive.into_inner())
}

/// Gives errors of the format, which the library does not tell from others, the kind of invalid data.
fn mark_damage(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::Other { io::Error::new(ErrorKind::InvalidData, error) } else { error }
}

/// Content of which each part is passed on when it is read.
struct Observed<'a, R> {
    inner: R,
    seen: &'a mut dyn FnMut(&[u8]),
}

impl<R: Read> Read for Observed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        (self.seen)(&buffer[..count]);
        Ok(count)
    }
}

fn build_header(name: &str, kind: EntryType, size: u64) -> io::Result<Header> {
    let mut header = Header::new_ustar();
    header.set_path(name).map_err(|error| io::Error::other(format!("{name} does not fit into a backup: {error}")))?;
    header.set_entry_type(kind);
    header.set_mode(if kind == EntryType::Directory { 0o700 } else { 0o600 });
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size);
    header.set_cksum();
    Ok(header)
}

fn parse_header(header: &Header) -> io::Result<Entry> {
    let invalid = || io::Error::new(ErrorKind::InvalidData, "a header of the archive is damaged");
    let kind = match header.entry_type() {
        EntryType::Regular => EntryKind::File,
        EntryType::Directory => EntryKind::Folder,
        _ => return Err(invalid()),
    };
    let size = header.entry_size()?;
    if header.as_ustar().is_none() || (kind == EntryKind::Folder && size > 0) {
        return Err(invalid());
    }
    let path = header.path_bytes();
    let name = std::str::from_utf8(&path).map_err(|_| invalid())?;
    let name = if kind == EntryKind::Folder { name.trim_end_matches('/') } else { name };
    Ok(Entry { name: name.to_owned(), kind, size })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BLOCK: usize = 512;

    fn write(files: &[(String, Vec<u8>)]) -> Vec<u8> {
        let mut tar = Builder::new(Vec::new());
        add_folder(&mut tar, "data").expect("written");
        for (name, content) in files {
            add_file(&mut tar, name, content.len() as u64, &mut content.as_slice(), &mut |_| {}).expect("written");
        }
        tar.into_inner().expect("written")
    }

    fn read(bytes: &[u8]) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
        let mut files = Vec::new();
        read_entries(bytes, |entry, source| {
            let mut content = Vec::new();
            source.read_to_end(&mut content)?;
            if entry.kind == EntryKind::File {
                files.push((entry.name.clone(), content));
            }
            Ok(())
        })?;
        Ok(files)
    }

    #[test]
    fn source_of_another_length_is_cut_or_continued() {
        let mut tar = Builder::new(Vec::new());
        let mut seen = Vec::new();
        add_file(&mut tar, "a", 3, &mut &b"abcdef"[..], &mut |part| seen.extend_from_slice(part)).expect("written");
        add_file(&mut tar, "b", 3, &mut &b"x"[..], &mut |part| seen.extend_from_slice(part)).expect("written");
        assert_eq!(seen, b"abcx\0\0");
        let files = read(&tar.into_inner().expect("written")).expect("readable");
        assert_eq!(files, [("a".to_owned(), b"abc".to_vec()), ("b".to_owned(), b"x\0\0".to_vec())]);
    }

    #[test]
    fn longest_names_and_largest_files_are_kept() {
        let name = format!("data/{}/{}", "f".repeat(100), "n".repeat(99));
        let mut tar = Builder::new(Vec::new());
        add_folder(&mut tar, &name).expect("written");
        add_file(&mut tar, &name, 1, &mut &b"a"[..], &mut |_| {}).expect("written");
        assert_eq!(read(&tar.into_inner().expect("written")).expect("readable"), [(name, b"a".to_vec())]);
        for size in [(8 << 30) - 1, 8 << 30, 1 << 45] {
            let header = build_header("a", EntryType::Regular, size).expect("a header");
            assert_eq!(parse_header(&header).expect("a header").size, size);
        }
    }

    #[test]
    fn names_without_room_and_other_kinds_are_refused() {
        for name in ["x".repeat(100), format!("a/{}", "x".repeat(101)), format!("{}/a", "x".repeat(156))] {
            assert!(add_folder(&mut Builder::new(Vec::new()), &name).is_err(), "{name}");
        }
        for kind in [EntryType::Symlink, EntryType::Link, EntryType::GNULongName, EntryType::XHeader, EntryType::Fifo] {
            let mut tar = Builder::new(Vec::new());
            tar.append(&build_header("a", kind, 1).expect("a header"), &b"b"[..]).expect("written");
            assert!(read(&tar.into_inner().expect("written")).is_err(), "{kind:?}");
        }
        let mut tar = Builder::new(Vec::new());
        tar.append(&build_header("a/", EntryType::Directory, 1).expect("a header"), &b"b"[..]).expect("written");
        assert!(read(&tar.into_inner().expect("written")).is_err());
    }

    #[test]
    fn headers_are_those_of_earlier_versions() {
        let mut expected = [0; BLOCK];
        for (at, text) in [
            (0, "data/a"),
            (100, "0000600"),
            (108, "0000000"),
            (116, "0000000"),
            (124, "00000000012"),
            (136, "00000000000"),
            (156, "0"),
            (257, "ustar"),
            (263, "00"),
        ] {
            expected[at..at + text.len()].copy_from_slice(text.as_bytes());
        }
        let header = build_header("data/a", EntryType::Regular, 10).expect("a header");
        let mut bytes = *header.as_bytes();
        // Of the checksum, the number of leading zeros differs.
        bytes[148..156].fill(0);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn the_tar_program_lists_what_is_written() {
        use std::process::{Command, Stdio};
        let bytes = write(&[("data/a".to_owned(), vec![7; 700]), ("data/b".to_owned(), Vec::new())]);
        let mut tar = Command::new("tar")
            .args(["-tf", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program tar");
        tar.stdin.take().expect("piped").write_all(&bytes).expect("written");
        let output = tar.wait_with_output().expect("an end");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "data/\ndata/a\ndata/b\n");
        assert!(output.status.success());
    }

    proptest! {
        #[test]
        fn files_are_read_as_written(
            files in proptest::collection::vec(
                ("[a-z]{1,9}(/[a-z]{1,9}){0,9}", proptest::collection::vec(any::<u8>(), 0..2000)), 0..6),
        ) {
            prop_assert_eq!(read(&write(&files)).expect("readable"), files);
        }

        #[test]
        fn truncated_entries_are_refused(length in 1_usize..BLOCK + 1000) {
            let bytes = write(&[("a".to_owned(), vec![1; 1000])]);
            // Behind the folder, which is one block.
            prop_assert!(read(&bytes[..BLOCK + length]).is_err());
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..3000), at in 0_usize..512) {
            let _ = read(&bytes);
            let mut changed = write(&[("a".to_owned(), vec![1; 10])]);
            changed[at] ^= bytes.first().copied().unwrap_or(1) | 1;
            let _ = read(&changed);
        }
    }
}
