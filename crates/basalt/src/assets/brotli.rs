//! Compresses the filled pages by brotli (RFC 7932).
//!
//! One meta-block with one prefix code per alphabet and no static dictionary: for pages of some ten kilobytes, that is smaller
//! than gzip, and needs none of the tables of a complete implementation, which are larger than all pages together.

use super::prefix_code::{BitWriter, PrefixCode, write_code};

/// The window: 4 MiB.
const WINDOW_BITS: u32 = 22;
/// The longest input, which fits the window and the length of a meta-block.
const MAX_LENGTH: usize = 1 << 21;
/// The shortest match that is used.
const MIN_MATCH: usize = 4;
/// The longest match, to bound the time of a search.
const MAX_MATCH: usize = 2000;
/// The number of candidates of a search.
const MAX_CANDIDATES: usize = 96;
const HASH_BITS: u32 = 15;

const LITERALS: usize = 256;
const COMMANDS: usize = 704;
const DISTANCES: usize = 64;

/// Base and extra bits of the insert length codes (RFC 7932 §5).
const INSERT_CODES: [(u32, u32); 24] = [
    (0, 0),
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 1),
    (8, 1),
    (10, 2),
    (14, 2),
    (18, 3),
    (26, 3),
    (34, 4),
    (50, 4),
    (66, 5),
    (98, 5),
    (130, 6),
    (194, 7),
    (322, 8),
    (578, 9),
    (1090, 10),
    (2114, 12),
    (6210, 14),
    (22594, 24),
];
/// Base and extra bits of the copy length codes (RFC 7932 §5).
const COPY_CODES: [(u32, u32); 24] = [
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 1),
    (12, 1),
    (14, 2),
    (18, 2),
    (22, 3),
    (30, 3),
    (38, 4),
    (54, 4),
    (70, 5),
    (102, 5),
    (134, 6),
    (198, 7),
    (326, 8),
    (582, 9),
    (1094, 10),
    (2118, 24),
];
/// First command of each pair of groups of eight insert and copy codes, with an explicit distance.
const COMMAND_CELLS: [[usize; 3]; 3] = [[128, 192, 384], [256, 320, 512], [448, 576, 640]];

/// Literals, and the match after them; the last command has none.
struct Command {
    start: usize,
    literals: usize,
    copied: usize,
    distance: usize,
}

/// A symbol with its extra bits.
#[derive(Clone, Copy)]
struct Symbol {
    code: usize,
    extra: u32,
    bits: u32,
}

/// Returns the compressed input; `None` if it is empty or too long.
pub(super) fn compress(input: &[u8]) -> Option<Vec<u8>> {
    if input.is_empty() || input.len() > MAX_LENGTH {
        return None;
    }
    let commands = find_commands(input);
    let distances = encode_distances(&commands);
    let mut counts = (vec![0; LITERALS], vec![0; COMMANDS], vec![0; DISTANCES]);
    for (command, distance) in commands.iter().zip(&distances) {
        for byte in &input[command.start..command.start + command.literals] {
            counts.0[usize::from(*byte)] += 1;
        }
        counts.1[encode_command(command).0] += 1;
        if let Some(distance) = distance {
            counts.2[distance.code] += 1;
        }
    }
    let mut out = BitWriter::default();
    write_header(&mut out, input.len());
    let literal_code = write_code(&mut out, &counts.0, 8);
    let command_code = write_code(&mut out, &counts.1, 10);
    let distance_code = write_code(&mut out, &counts.2, 6);
    for (command, distance) in commands.iter().zip(&distances) {
        let (symbol, insert, copy) = encode_command(command);
        command_code.write(&mut out, symbol);
        out.write(insert.extra, insert.bits);
        out.write(copy.extra, copy.bits);
        for byte in &input[command.start..command.start + command.literals] {
            literal_code.write(&mut out, usize::from(*byte));
        }
        if let Some(distance) = distance {
            write_symbol(&mut out, &distance_code, *distance);
        }
    }
    Some(out.finish())
}

fn write_symbol(out: &mut BitWriter, code: &PrefixCode, symbol: Symbol) {
    code.write(out, symbol.code);
    out.write(symbol.extra, symbol.bits);
}

/// Writes the header of the stream and of its only meta-block, up to the prefix codes.
fn write_header(out: &mut BitWriter, length: usize) {
    out.write(1 | (WINDOW_BITS - 17) << 1, 4);
    // The last meta-block, which is not empty.
    out.write(0b01, 2);
    // The length in as few nibbles as possible, at least four.
    let last = u32::try_from(length - 1).unwrap_or_default();
    let nibbles = (u32::BITS - last.leading_zeros()).div_ceil(4).max(4);
    out.write(nibbles - 4, 2);
    out.write(last, 4 * nibbles);
    // One block type for literals, commands and distances each.
    out.write(0, 3);
    // No postfix bits and no direct distances.
    out.write(0, 6);
    // The context mode of the literals, without effect, then one prefix code for literals and one for distances.
    out.write(0, 2);
    out.write(0, 2);
}

/// Splits the input into literals and matches.
fn find_commands(input: &[u8]) -> Vec<Command> {
    let mut matches = Matches::new(input);
    let mut commands = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < input.len() {
        let found = matches.find(at);
        matches.insert(at);
        let Some((copied, distance)) = found else {
            at += 1;
            continue;
        };
        // A longer match one byte later is worth a literal.
        if matches.find(at + 1).is_some_and(|(later, _)| later > copied + 1) {
            at += 1;
            continue;
        }
        commands.push(Command { start, literals: at - start, copied, distance });
        for inner in at + 1..at + copied {
            matches.insert(inner);
        }
        at += copied;
        start = at;
    }
    if start < input.len() {
        commands.push(Command { start, literals: input.len() - start, copied: 0, distance: 0 });
    }
    commands
}

/// The earlier positions of every sequence of four bytes, as chains.
struct Matches<'a> {
    input: &'a [u8],
    latest: Vec<usize>,
    previous: Vec<usize>,
}

/// The end of a chain.
const NONE: usize = usize::MAX;

impl<'a> Matches<'a> {
    fn new(input: &'a [u8]) -> Self {
        Self { input, latest: vec![NONE; 1 << HASH_BITS], previous: vec![NONE; input.len()] }
    }

    fn hash(&self, at: usize) -> Option<usize> {
        let bytes = self.input.get(at..at + MIN_MATCH)?;
        let word = bytes.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        usize::try_from(word.wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)).ok()
    }

    fn insert(&mut self, at: usize) {
        if let Some(hash) = self.hash(at) {
            self.previous[at] = std::mem::replace(&mut self.latest[hash], at);
        }
    }

    /// Returns length and distance of the longest match of what follows `at`.
    fn find(&self, at: usize) -> Option<(usize, usize)> {
        let mut candidate = self.latest[self.hash(at)?];
        let mut best: Option<(usize, usize)> = None;
        for _ in 0..MAX_CANDIDATES {
            if candidate == NONE {
                break;
            }
            let pairs = self.input[candidate..].iter().zip(&self.input[at..]);
            let length = pairs.take(MAX_MATCH).take_while(|(before, now)| before == now).count();
            if length >= MIN_MATCH && best.is_none_or(|(longest, _)| length > longest) {
                best = Some((length, at - candidate));
            }
            candidate = self.previous[candidate];
        }
        best
    }
}

/// Returns the distance symbols; symbol 0 repeats the previous distance.
fn encode_distances(commands: &[Command]) -> Vec<Option<Symbol>> {
    // The most recent distance at the beginning of a stream (RFC 7932 §4).
    let mut latest = 4;
    let mut symbols = Vec::with_capacity(commands.len());
    for command in commands {
        symbols.push((command.copied > 0).then(|| {
            if command.distance == latest {
                return Symbol { code: 0, extra: 0, bits: 0 };
            }
            latest = command.distance;
            encode_distance(u32::try_from(command.distance).unwrap_or_default())
        }));
    }
    symbols
}

fn encode_distance(distance: u32) -> Symbol {
    let shifted = distance + 3;
    let bits = shifted.ilog2() - 1;
    let code = 16 + 2 * (bits - 1) + (shifted >> bits & 1);
    Symbol { code: usize::try_from(code).unwrap_or_default(), extra: shifted & ((1 << bits) - 1), bits }
}

/// Returns the symbol of a command with its insert and copy lengths.
fn encode_command(command: &Command) -> (usize, Symbol, Symbol) {
    let insert = encode_length(&INSERT_CODES, command.literals);
    // The copy length after the last literals is not read.
    let copy = encode_length(&COPY_CODES, command.copied.max(2));
    let cell = COMMAND_CELLS[insert.code / 8][copy.code / 8];
    (cell + insert.code % 8 * 8 + copy.code % 8, insert, copy)
}

fn encode_length(codes: &[(u32, u32); 24], length: usize) -> Symbol {
    let length = u32::try_from(length).unwrap_or_default();
    let code = codes.partition_point(|(base, _)| *base <= length).saturating_sub(1);
    let (base, bits) = codes[code];
    Symbol { code, extra: length - base, bits }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;

    fn decompress(stream: &[u8]) -> Vec<u8> {
        let mut whole = Vec::new();
        brotli_decompressor::Decompressor::new(stream, 4096).read_to_end(&mut whole).expect("a stream");
        whole
    }

    #[test]
    fn inputs_of_every_shape_are_restored() {
        let varied: Vec<u8> = (0..100_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
        let inputs: [&[u8]; 9] = [
            b"a",
            b"ab",
            b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            b"abcabcabcabcabcabc",
            b"\x00\x01\x02\x03",
            &vec![7; 70_000],
            &varied,
            include_bytes!("../../../../frontend/catalogue.toml"),
            include_bytes!("pages.rs"),
        ];
        for input in inputs {
            let stream = compress(input).expect("not empty");
            assert_eq!(decompress(&stream), input);
        }
        assert_eq!(compress(b""), None);
        assert_eq!(compress(&vec![0; MAX_LENGTH + 1]), None);
    }

    #[test]
    fn text_is_not_larger_than_by_gzip() {
        let text = include_bytes!("../../../../frontend/catalogue.toml");
        let gzip = super::super::content::gzip(text).expect("compressed").len();
        assert!(compress(text).expect("not empty").len() <= gzip);
    }

    proptest! {
        #[test]
        fn arbitrary_input_is_restored(parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..40), 1..30_usize), 1..20)) {
            let input: Vec<u8> = parts.iter().flat_map(|(part, times)| part.repeat(*times)).collect();
            prop_assert_eq!(decompress(&compress(&input).expect("not empty")), input);
        }

        #[test]
        fn text_with_few_symbols_is_restored(input in "[ab]{1,60}|[a-d]{1,400}") {
            prop_assert_eq!(decompress(&compress(input.as_bytes()).expect("not empty")), input.into_bytes());
        }
    }
}
