//! Prefix codes of brotli (RFC 7932 §3): their construction, and how they are written.

/// The longest code of a symbol.
const MAX_BITS: u8 = 15;
/// The longest code of a code length.
const MAX_LENGTH_BITS: u8 = 5;
/// The symbols of code lengths, in the order in which their own lengths are written.
const LENGTH_ORDER: [usize; 18] = [1, 2, 3, 4, 0, 5, 17, 6, 16, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// The codes of these lengths, 0 to 5, with their numbers of bits.
const LENGTH_CODES: [(u32, u32); 6] = [(0, 2), (7, 4), (3, 3), (2, 2), (1, 2), (15, 4)];
/// The symbol of a run of three to ten zeros.
const ZEROS: usize = 17;

/// Bits, the lowest first.
#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    count: u32,
}

impl BitWriter {
    /// Writes the lowest `count` bits of `bits`, at most 32.
    pub(super) fn write(&mut self, bits: u32, count: u32) {
        self.pending |= u64::from(bits) << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push((self.pending & 0xFF) as u8);
            self.pending >>= 8;
            self.count -= 8;
        }
    }

    /// Returns the bytes; the last is filled with zeros.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.count > 0 {
            self.bytes.push((self.pending & 0xFF) as u8);
        }
        self.bytes
    }
}

/// The codes of an alphabet, by symbol: bits in the order of writing, and their number.
pub(super) struct PrefixCode {
    codes: Vec<(u32, u32)>,
}

impl PrefixCode {
    /// Writes a symbol.
    pub(super) fn write(&self, out: &mut BitWriter, symbol: usize) {
        let (bits, count) = self.codes[symbol];
        out.write(bits, count);
    }

    /// Assigns the canonical codes of these lengths.
    fn from_lengths(lengths: &[u8]) -> Self {
        let mut codes = vec![(0, 0); lengths.len()];
        let mut next = 0_u32;
        for length in 1..=MAX_BITS {
            for (symbol, _) in lengths.iter().enumerate().filter(|(_, it)| **it == length) {
                codes[symbol] = (next.reverse_bits() >> (32 - u32::from(length)), u32::from(length));
                next += 1;
            }
            next <<= 1;
        }
        Self { codes }
    }
}

/// Writes the prefix code for these counts of symbols and returns it.
/// `symbol_bits` is the size of a symbol.
pub(super) fn write_code(out: &mut BitWriter, counts: &[u32], symbol_bits: u32) -> PrefixCode {
    let used: Vec<usize> = (0..counts.len()).filter(|symbol| counts[*symbol] > 0).collect();
    if used.len() <= 2 {
        return write_simple_code(out, &used, counts.len(), symbol_bits);
    }
    let lengths = limit_lengths(counts, MAX_BITS);
    let symbols = encode_lengths(&lengths);
    let mut length_counts = [0; 18];
    for (symbol, _) in &symbols {
        length_counts[*symbol] += 1;
    }
    if length_counts.iter().filter(|count| **count > 0).count() == 1 {
        // A code of two symbols, because one of a single symbol is written in another way.
        length_counts[usize::from(length_counts[0] > 0)] += 1;
    }
    let length_lengths = limit_lengths(&length_counts, MAX_LENGTH_BITS);
    // A complex code without skipped lengths.
    out.write(0, 2);
    let mut space = 32;
    for symbol in LENGTH_ORDER {
        let length = length_lengths[symbol];
        let (bits, count) = LENGTH_CODES[usize::from(length)];
        out.write(bits, count);
        if length > 0 {
            space -= 32 >> length;
        }
        if space == 0 {
            break;
        }
    }
    let code = PrefixCode::from_lengths(&length_lengths);
    for (symbol, extra) in symbols {
        code.write(out, symbol);
        if symbol == ZEROS {
            out.write(extra, 3);
        }
    }
    PrefixCode::from_lengths(&lengths)
}

/// Writes a code of at most two symbols; that of a single symbol has no bits.
fn write_simple_code(out: &mut BitWriter, used: &[usize], size: usize, symbol_bits: u32) -> PrefixCode {
    out.write(1, 2);
    out.write(u32::from(used.len() == 2), 2);
    let mut lengths = vec![0; size];
    for symbol in used {
        out.write(u32::try_from(*symbol).unwrap_or_default(), symbol_bits);
        lengths[*symbol] = u8::from(used.len() == 2);
    }
    if used.is_empty() {
        out.write(0, symbol_bits);
    }
    PrefixCode::from_lengths(&lengths)
}

/// Returns the lengths as symbols with extra bits; zeros at the end are omitted.
fn encode_lengths(lengths: &[u8]) -> Vec<(usize, u32)> {
    let end = lengths.iter().rposition(|length| *length > 0).map_or(0, |last| last + 1);
    let mut symbols = Vec::new();
    let mut at = 0;
    while at < end {
        let zeros = lengths[at..end].iter().take_while(|length| **length == 0).count().min(10);
        // A second run in sequence would have another meaning.
        let follows_run = symbols.last().is_some_and(|(symbol, _)| *symbol == ZEROS);
        if zeros >= 3 && !follows_run {
            symbols.push((ZEROS, u32::try_from(zeros - 3).unwrap_or_default()));
            at += zeros;
        } else {
            symbols.push((usize::from(lengths[at]), 0));
            at += 1;
        }
    }
    symbols
}

/// Returns the code lengths for these counts, none longer than `limit`.
fn limit_lengths(counts: &[u32], limit: u8) -> Vec<u8> {
    // Rare symbols count more until the longest code is short enough.
    let mut floor = 1;
    loop {
        let raised: Vec<u32> = counts.iter().map(|count| if *count > 0 { (*count).max(floor) } else { 0 }).collect();
        let lengths = find_lengths(&raised);
        if lengths.iter().all(|length| *length <= limit) {
            return lengths;
        }
        floor *= 2;
    }
}

/// Returns the code lengths of Huffman's algorithm; at least two symbols have a count.
fn find_lengths(counts: &[u32]) -> Vec<u8> {
    // The symbols below each node, with the sum of their counts.
    let leaves = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let mut nodes: Vec<(u64, Vec<usize>)> = leaves.map(|(symbol, count)| (u64::from(*count), vec![symbol])).collect();
    let mut lengths = vec![0_u8; counts.len()];
    nodes.sort_by_key(|node| std::cmp::Reverse(node.0));
    while nodes.len() > 1 {
        let (Some(first), Some(second)) = (nodes.pop(), nodes.pop()) else { break };
        let symbols: Vec<usize> = first.1.into_iter().chain(second.1).collect();
        for symbol in &symbols {
            lengths[*symbol] += 1;
        }
        let sum = first.0 + second.0;
        let at = nodes.partition_point(|node| node.0 > sum);
        nodes.insert(at, (sum, symbols));
    }
    lengths
}
