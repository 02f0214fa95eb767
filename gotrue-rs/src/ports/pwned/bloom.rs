//! A Bloom filter of SHA-1 hashes with bounded memory, no false negatives, and few false positives.
//!
//! The hashes are uniformly distributed and are used as bit positions directly.

use gotrue_rules::domain::policy::BloomFilter;

/// The SHA-1 of a password.
pub(super) type Sha1 = [u8; 20];

#[derive(Debug)]
pub(super) struct Filter {
    words: Vec<u64>,
    bits: u64,
    probes: u64,
    /// The number of hashes added since it was last empty.
    items: u64,
    /// The capacity: the filter is emptied before the false-positive rate exceeds the configured one.
    capacity: u64,
}

impl Filter {
    /// Creates an empty filter of that size.
    pub(super) fn new(size: BloomFilter) -> Self {
        let bits = size.bits();
        let words = usize::try_from(bits.div_ceil(64)).expect("the configuration limits the size of the filter");
        Self {
            words: vec![0; words],
            bits,
            probes: size.probes(),
            items: 0,
            capacity: size.items.saturating_mul(4) / 5,
        }
    }

    /// Whether the hash was added, or is a false positive.
    pub(super) fn contains(&self, hash: &Sha1) -> bool {
        self.probe_positions(hash).all(|(word, mask)| self.words[word] & mask != 0)
    }

    /// Adds the hashes of one response; empties the filter first if they would exceed its capacity.
    pub(super) fn add(&mut self, hashes: &[Sha1]) {
        let more = hashes.len() as u64;
        self.items += more;
        if self.items > self.capacity {
            self.words.fill(0);
            self.items = more;
        }
        for hash in hashes {
            for (word, mask) in self.probe_positions(hash).collect::<Vec<_>>() {
                self.words[word] |= mask;
            }
        }
    }

    /// The word and the bit of each probe, by double hashing with two numbers of the hash.
    ///
    /// The first bytes are not used, because all hashes of a response share them.
    fn probe_positions(&self, hash: &Sha1) -> impl Iterator<Item = (usize, u64)> + use<> {
        let number = |from: usize| hash[from..from + 8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let (first, step, bits) = (number(4), number(12) | 1, self.bits);
        (0..self.probes).map(move |n| {
            let place = first.wrapping_add(step.wrapping_mul(n)) % bits;
            ((place / 64) as usize, 1 << (place % 64))
        })
    }
}
