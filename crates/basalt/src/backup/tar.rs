//! The subset of the tar format that backups have: regular files and folders (POSIX.1-2001, ustar).

use std::io::{self, ErrorKind, Read, Write};

/// The unit of the format.
const BLOCK: usize = 512;
/// The longest name.
const MAX_NAME: usize = 100;
/// The largest size that the field of a header can hold.
const MAX_SIZE: u64 = 0o777_7777_7777;
/// Positions of the fields in a header.
const MODE: usize = 100;
const OWNER: usize = 108;
const GROUP: usize = 116;
const SIZE: usize = 124;
const TIME: usize = 136;
const CHECKSUM: usize = 148;
const KIND: usize = 156;
const MAGIC: usize = 257;

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
}

/// The header of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its relative path.
    pub name: String,
    /// Its kind.
    pub kind: EntryKind,
    /// Bytes of content.
    pub size: u64,
}

/// Writes entries one after the other.
pub(super) struct TarWriter<W> {
    inner: W,
}

/// Reads entries one after the other; as a reader it is the content of the current one.
pub(super) struct TarReader<R> {
    inner: R,
    remaining: u64,
    padding: usize,
}

impl<W: Write> TarWriter<W> {
    /// Writes to `inner`.
    pub(super) fn new(inner: W) -> Self {
        Self { inner }
    }

    /// Writes a folder.
    pub(super) fn add_folder(&mut self, name: &str) -> io::Result<()> {
        self.inner.write_all(&build_header(name, EntryKind::Folder, 0)?)
    }

    /// Writes a file of `size` bytes; `seen` gets each part of the written content.
    ///
    /// A source that ends earlier is continued with zeros, and one that is longer is cut: the file may change meanwhile.
    pub(super) fn add_file(
        &mut self,
        name: &str,
        size: u64,
        source: &mut dyn Read,
        seen: &mut dyn FnMut(&[u8]),
    ) -> io::Result<()> {
        self.inner.write_all(&build_header(name, EntryKind::File, size)?)?;
        let mut buffer = vec![0; 64 * 1024];
        let mut left = size;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let mut count = read_some(source, &mut buffer[..wanted])?;
            if count == 0 {
                buffer[..wanted].fill(0);
                count = wanted;
            }
            seen(&buffer[..count]);
            self.inner.write_all(&buffer[..count])?;
            left -= count as u64;
        }
        self.inner.write_all(&[0; BLOCK][..padding(size)])
    }

    /// Writes the end of the archive and returns the inner writer.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.inner.write_all(&[0; 2 * BLOCK])?;
        Ok(self.inner)
    }
}

impl<R: Read> TarReader<R> {
    /// Reads from `inner`.
    pub(super) fn new(inner: R) -> Self {
        Self { inner, remaining: 0, padding: 0 }
    }

    /// Skips the rest of the current entry and reads the next header; `None` at the end of the archive.
    ///
    /// # Errors
    /// The archive is truncated or is not one of this format.
    pub(super) fn next_entry(&mut self) -> io::Result<Option<Entry>> {
        io::copy(&mut *self, &mut io::sink())?;
        let mut block = [0; BLOCK];
        self.inner.read_exact(&mut block[..self.padding])?;
        self.padding = 0;
        self.inner.read_exact(&mut block)?;
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let entry = parse_header(&block)?;
        self.remaining = entry.size;
        self.padding = padding(entry.size);
        Ok(Some(entry))
    }

    /// Returns the inner reader.
    pub(super) fn into_inner(self) -> R {
        self.inner
    }
}

impl<R: Read> Read for TarReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(buffer.len());
        if wanted == 0 {
            return Ok(0);
        }
        let count = self.inner.read(&mut buffer[..wanted])?;
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.remaining -= count as u64;
        Ok(count)
    }
}

fn read_some(source: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// Returns the number of bytes from the end of the content to the next header.
fn padding(size: u64) -> usize {
    let last = usize::try_from(size % BLOCK as u64).unwrap_or_default();
    if last == 0 { 0 } else { BLOCK - last }
}

fn build_header(name: &str, kind: EntryKind, size: u64) -> io::Result<[u8; BLOCK]> {
    let name = if kind == EntryKind::Folder { format!("{name}/") } else { name.to_owned() };
    if name.len() > MAX_NAME || size > MAX_SIZE {
        return Err(io::Error::other(format!("{name}: the name or the file is too long for a backup")));
    }
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, &name);
    put(MODE, if kind == EntryKind::Folder { "0000700" } else { "0000600" });
    put(OWNER, "0000000");
    put(GROUP, "0000000");
    put(SIZE, &format!("{size:011o}"));
    put(TIME, "00000000000");
    put(CHECKSUM, "        ");
    put(KIND, if kind == EntryKind::Folder { "5" } else { "0" });
    put(MAGIC, "ustar\0");
    put(MAGIC + 6, "00");
    let sum = sum_header(&header);
    header[CHECKSUM..CHECKSUM + 8].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

fn parse_header(header: &[u8; BLOCK]) -> io::Result<Entry> {
    let invalid = || io::Error::new(ErrorKind::InvalidData, "a header of the archive is damaged");
    let mut summed = *header;
    summed[CHECKSUM..CHECKSUM + 8].fill(b' ');
    if &header[MAGIC..MAGIC + 5] != b"ustar"
        || parse_octal(&header[CHECKSUM..CHECKSUM + 8]) != Some(u64::from(sum_header(&summed)))
    {
        return Err(invalid());
    }
    let kind = match header[KIND] {
        b'0' => EntryKind::File,
        b'5' => EntryKind::Folder,
        _ => return Err(invalid()),
    };
    let end = header[..MAX_NAME].iter().position(|byte| *byte == 0).unwrap_or(MAX_NAME);
    let name = std::str::from_utf8(&header[..end]).map_err(|_| invalid())?;
    let name = if kind == EntryKind::Folder { name.trim_end_matches('/') } else { name };
    let size = parse_octal(&header[SIZE..SIZE + 12]).ok_or_else(invalid)?;
    if kind == EntryKind::Folder && size > 0 {
        return Err(invalid());
    }
    Ok(Entry { name: name.to_owned(), kind, size })
}

/// The sum of the bytes of a header whose checksum is blank.
fn sum_header(header: &[u8; BLOCK]) -> u32 {
    header.iter().map(|byte| u32::from(*byte)).sum()
}

fn parse_octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    if text.is_empty() || text.len() > 12 || !text.bytes().all(|byte| (b'0'..=b'7').contains(&byte)) {
        return None;
    }
    u64::from_str_radix(text, 8).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn write(files: &[(String, Vec<u8>)]) -> Vec<u8> {
        let mut tar = TarWriter::new(Vec::new());
        tar.add_folder("data").expect("written");
        for (name, content) in files {
            tar.add_file(name, content.len() as u64, &mut content.as_slice(), &mut |_| {}).expect("written");
        }
        tar.finish().expect("written")
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<(String, Vec<u8>)>> {
        let mut tar = TarReader::new(bytes);
        let mut files = Vec::new();
        while let Some(entry) = tar.next_entry()? {
            let mut content = Vec::new();
            tar.read_to_end(&mut content)?;
            if entry.kind == EntryKind::File {
                files.push((entry.name, content));
            }
        }
        Ok(files)
    }

    #[test]
    fn source_of_another_length_is_cut_or_continued() {
        let mut tar = TarWriter::new(Vec::new());
        let mut seen = Vec::new();
        tar.add_file("a", 3, &mut &b"abcdef"[..], &mut |part| seen.extend_from_slice(part)).expect("written");
        tar.add_file("b", 3, &mut &b"x"[..], &mut |part| seen.extend_from_slice(part)).expect("written");
        assert_eq!(seen, b"abcx\0\0");
        let files = read(&tar.finish().expect("written")).expect("readable");
        assert_eq!(files, [("a".to_owned(), b"abc".to_vec()), ("b".to_owned(), b"x\0\0".to_vec())]);
    }

    #[test]
    fn long_names_and_other_kinds_are_refused() {
        assert!(TarWriter::new(Vec::new()).add_folder(&"x".repeat(100)).is_err());
        let mut link = build_header("a", EntryKind::File, 0).expect("a header");
        link[KIND] = b'2';
        link[CHECKSUM..CHECKSUM + 8].fill(b' ');
        let sum = format!("{:06o}\0 ", sum_header(&link));
        link[CHECKSUM..CHECKSUM + 8].copy_from_slice(sum.as_bytes());
        assert!(parse_header(&link).is_err());
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
            files in proptest::collection::vec(("[a-z/]{1,99}", proptest::collection::vec(any::<u8>(), 0..2000)), 0..6),
        ) {
            prop_assert_eq!(read(&write(&files)).expect("readable"), files);
        }

        #[test]
        fn truncated_archives_are_refused(length in 0_usize..2500) {
            let bytes = write(&[("a".to_owned(), vec![1; 1000])]);
            // Of the end of the archive, one block of two is enough.
            let cut = length.min(bytes.len() - BLOCK - 1);
            prop_assert!(read(&bytes[..cut]).is_err());
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
