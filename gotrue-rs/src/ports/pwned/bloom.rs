//! A Bloom filter of SHA-1 hashes: bounded memory, no hash forgotten until it is emptied, few found that were not put
//! in. The hashes are random already and are cut into positions as they are.

use gotrue_rules::domain::policy::BloomFilter;

use super::Sha1;

/// The filter.
#[derive(Debug)]
pub(super) struct Filter {
    words: Vec<u64>,
    bits: u64,
    probes: u64,
    /// Hashes put in since it was last empty.
    items: u64,
    /// At so many it is emptied: before the share of wrong hits grows beyond what was asked for.
    full: u64,
}

impl Filter {
    /// An empty filter of that size.
    pub(super) fn new(size: BloomFilter) -> Self {
        let bits = size.bits();
        let words = usize::try_from(bits.div_ceil(64)).expect("the configuration bounds the size of the filter");
        Self { words: vec![0; words], bits, probes: size.probes(), items: 0, full: size.items.saturating_mul(4) / 5 }
    }

    /// Whether the hash was put in, or looks as if.
    pub(super) fn holds(&self, hash: &Sha1) -> bool {
        self.places(hash).all(|(word, mask)| self.words[word] & mask != 0)
    }

    /// Puts the hashes of one answer in; empties the filter before, if they would fill it.
    pub(super) fn add(&mut self, hashes: &[Sha1]) {
        let more = hashes.len() as u64;
        self.items += more;
        if self.items > self.full {
            self.words.fill(0);
            self.items = more;
        }
        for hash in hashes {
            for (word, mask) in self.places(hash).collect::<Vec<_>>() {
                self.words[word] |= mask;
            }
        }
    }

    /// The word and the bit of each probe: two numbers of the hash, added up. Its first bytes are not used, which all
    /// hashes of one answer share.
    fn places(&self, hash: &Sha1) -> impl Iterator<Item = (usize, u64)> + use<> {
        let number = |from: usize| hash[from..from + 8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let (first, step, bits) = (number(4), number(12) | 1, self.bits);
        (0..self.probes).map(move |n| {
            let place = first.wrapping_add(step.wrapping_mul(n)) % bits;
            ((place / 64) as usize, 1 << (place % 64))
        })
    }
}
