//! Segments of the write-ahead log: their names and positions (PostgreSQL, "WAL Internals").

use std::fs;
use std::io;
use std::path::Path;

/// The length of a segment's name: eight hexadecimal digits each of timeline, file and segment.
const NAME_LENGTH: usize = 24;

/// A segment of the write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Segment {
    /// The number among the segments of all timelines.
    pub number: u64,
    pub timeline: u32,
}

impl Segment {
    /// Parses the name of a segment of `size` bytes; `None` for other names.
    pub(super) fn parse(name: &str, size: u64) -> Option<Self> {
        if name.len() != NAME_LENGTH || !name.bytes().all(|byte| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte))
        {
            return None;
        }
        let part = |from: usize| u32::from_str_radix(&name[from..from + 8], 16).ok();
        let (timeline, file, segment) = (part(0)?, part(8)?, part(16)?);
        let in_file = segments_in_file(size)?;
        let number = u64::from(file).checked_mul(in_file)?.checked_add(u64::from(segment))?;
        (u64::from(segment) < in_file).then_some(Self { number, timeline })
    }

    pub(super) fn name(self, size: u64) -> String {
        let in_file = segments_in_file(size).unwrap_or(1);
        format!("{:08X}{:08X}{:08X}", self.timeline, self.number / in_file, self.number % in_file)
    }
}

/// Returns the number of segments with one file number; `None` for a size that is invalid.
fn segments_in_file(size: u64) -> Option<u64> {
    let is_valid = size.is_power_of_two() && (1 << 20..=1 << 30).contains(&size);
    is_valid.then(|| (1 << 32) / size)
}

/// Returns whether a file name is that of the history of a timeline.
pub(super) fn is_history(name: &str) -> bool {
    name.strip_suffix(".history")
        .is_some_and(|digits| digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Parses a position such as `1/2A000028`.
pub(super) fn parse_position(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    let parse = |digits: &str| {
        let is_valid = (1..=8).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_valid.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
    };
    Some(parse(high)? << 32 | parse(low)?)
}

pub(super) fn format_position(position: u64) -> String {
    format!("{:X}/{:X}", position >> 32, position & 0xFFFF_FFFF)
}

/// Returns the name of the first segment that a base backup needs, from its label.
pub(super) fn find_first_segment(label: &str) -> Option<&str> {
    let line = label.lines().find(|line| line.starts_with("START WAL LOCATION: "))?;
    line.split_once("(file ")?.1.split(')').next().filter(|name| name.len() == NAME_LENGTH)
}

/// Lists the names of the files in a folder.
pub(super) fn list_names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string().ok());
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZE: u64 = 16 << 20;

    #[test]
    fn names_follow_the_size_of_segments() {
        let last = Segment::parse("0000000100000002000000FF", SIZE).expect("a segment");
        assert_eq!((last.timeline, last.number), (1, 2 * 256 + 255));
        assert_eq!(Segment { number: last.number + 1, ..last }.name(SIZE), "000000010000000300000000");
        assert_eq!(Segment::parse("000000010000000200000100", SIZE), None, "256 segments of 16 MB are a file");
        assert_eq!(Segment::parse("000000010000000200000001.partial", SIZE), None);
        assert_eq!(Segment::parse("000000010000000200000001", 3), None);
    }

    #[test]
    fn label_names_the_first_segment() {
        let label = "START WAL LOCATION: 0/2000028 (file 000000010000000000000002)\nCHECKPOINT LOCATION: 0/2000060\n";
        assert_eq!(find_first_segment(label), Some("000000010000000000000002"));
        assert_eq!(find_first_segment("START WAL LOCATION: 0/2000028 (file x)"), None);
    }

    #[test]
    fn history_files_are_recognised() {
        assert!(is_history("00000002.history"));
        assert!(!is_history("00000002.history.gz") && !is_history("2.history"));
    }

    proptest! {
        #[test]
        fn names_and_positions_are_parsed_as_formatted(timeline: u32, number in 0_u64..1 << 40, position: u64) {
            let segment = Segment { number, timeline };
            prop_assert_eq!(Segment::parse(&segment.name(SIZE), SIZE), Some(segment));
            prop_assert_eq!(parse_position(&format_position(position)), Some(position));
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in "\\PC*", size: u64) {
            let _ = (Segment::parse(&text, size), parse_position(&text), find_first_segment(&text), is_history(&text));
        }
    }
}
