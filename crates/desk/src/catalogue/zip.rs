//! Whether a file that arrives in parts is a ZIP archive.

/// The longest comment at the end, and the record before it, in bytes (APPNOTE 4.3.16).
const LONGEST_END: usize = 22 + 65_535;
/// The size of the record at the end without its comment, in bytes.
const END_RECORD: usize = 22;
const END_SIGNATURE: [u8; 4] = *b"PK\x05\x06";
const FILE_SIGNATURE: [u8; 4] = *b"PK\x03\x04";

/// What is kept of a file to tell whether it is a ZIP archive: its first bytes and its end.
#[derive(Debug, Default)]
pub(super) struct ZipCheck {
    start: Vec<u8>,
    end: Vec<u8>,
}

impl ZipCheck {
    /// Takes the next part.
    pub(super) fn read(&mut self, part: &[u8]) {
        let missing = FILE_SIGNATURE.len().saturating_sub(self.start.len());
        self.start.extend_from_slice(&part[..missing.min(part.len())]);
        self.end.extend_from_slice(&part[part.len().saturating_sub(LONGEST_END)..]);
        // Not at each part: what is kept has at most twice the needed size.
        if self.end.len() > 2 * LONGEST_END {
            self.end.drain(..self.end.len() - LONGEST_END);
        }
    }

    /// Returns whether the parts, `size` bytes in all, are a whole ZIP archive with a file in it.
    pub(super) fn is_whole(&self, size: u64) -> bool {
        self.start == FILE_SIGNATURE && self.find_directory(size).is_some()
    }

    /// Returns where the list of files begins, if it ends where its record says.
    fn find_directory(&self, size: u64) -> Option<u64> {
        let last = self.end.len().checked_sub(END_RECORD)?;
        (last.saturating_sub(LONGEST_END)..=last).rev().find_map(|at| {
            let record = &self.end[at..];
            let number = |from: usize, length: usize| {
                record[from..from + length].iter().rev().fold(0_u64, |number, byte| (number << 8) | u64::from(*byte))
            };
            let (files, length, start, comment) = (number(10, 2), number(12, 4), number(16, 4), number(20, 2));
            let is_at_end = record[..4] == END_SIGNATURE && record.len() as u64 == END_RECORD as u64 + comment;
            // Archives of more than 4 GiB say in another record where the list begins; they are larger than the limit.
            let ends_before = start.checked_add(length)? <= size - record.len() as u64;
            (is_at_end && files > 0 && ends_before).then_some(start)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns an archive of one empty file, with a comment.
    fn archive(comment: &[u8]) -> Vec<u8> {
        let mut file = b"PK\x03\x04\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0a".to_vec();
        let start = u32::try_from(file.len()).expect("a short file");
        let mut entry = vec![0; 46];
        entry[..4].copy_from_slice(b"PK\x01\x02");
        entry[28] = 1;
        entry.push(b'a');
        let length = u32::try_from(entry.len()).expect("a short entry");
        file.extend(entry);
        file.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
        file.extend(length.to_le_bytes());
        file.extend(start.to_le_bytes());
        file.extend(u16::try_from(comment.len()).expect("a short comment").to_le_bytes());
        file.extend(comment);
        file
    }

    fn check(file: &[u8], part: usize) -> bool {
        let mut check = ZipCheck::default();
        for part in file.chunks(part) {
            check.read(part);
        }
        check.is_whole(file.len() as u64)
    }

    #[test]
    fn whole_archives_are_told_from_other_files() {
        for comment in [&b""[..], b"made by hand", &vec![b'x'; 65_535]] {
            for part in [1_000_000, 1000, 3] {
                assert!(check(&archive(comment), part), "{} {part}", comment.len());
            }
        }
        let whole = archive(b"");
        let empty = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
        for other in [&b""[..], b"PK\x03\x04", empty, b"<html></html>", &whole[..whole.len() - 1], &whole[1..]] {
            assert!(!check(other, 7), "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn damaged_files_do_not_panic(at in 0_usize..100, value: u8, end in 0_usize..100, part in 1_usize..50) {
            let mut file = archive(b"comment");
            let length = file.len();
            file[at % length] = value;
            let _ = check(&file, part);
            let _ = check(&file[..end.min(length)], part);
        }
    }
}
