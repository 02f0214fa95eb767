//! Known texts and what they are shown as.

use std::collections::HashMap;
use std::sync::Arc;

use crate::text::encode;

/// The length of the start by which texts are found.
const START: usize = 4;
/// The number of bits of the filter: one for each hash of a start.
const BITS: usize = 1 << 14;

/// A text with a name.
#[derive(Debug, Clone)]
struct Literal {
    text: String,
    /// The text in a URL.
    quoted: String,
    shown: String,
}

/// Known texts, the longest first.
///
/// Most texts of a response have none of them: a filter of their starts tells this in one pass.
#[derive(Debug, Clone, Default)]
pub(super) struct Literals {
    sorted: Vec<Literal>,
    /// What each text is shown as.
    shown: HashMap<String, String>,
    /// The texts as they are and as they stand in URLs, by their starts.
    starts: HashMap<[u8; START], Vec<Arc<str>>>,
    /// The hashes of the starts, as bits.
    filter: Vec<u64>,
    has_short: bool,
}

impl Literals {
    /// Adds a text, which is shown as `<name>`; the first name of a text stays.
    pub(super) fn insert(&mut self, text: &str, name: &str) {
        if text.is_empty() || self.shown.contains_key(text) {
            return;
        }
        let at = self.sorted.partition_point(|known| known.text.len() >= text.len());
        let literal = Literal { text: text.to_owned(), quoted: encode(text), shown: format!("<{name}>") };
        self.add_start(&literal.text);
        self.add_start(&literal.quoted);
        self.shown.insert(literal.text.clone(), literal.shown.clone());
        self.sorted.insert(at, literal);
    }

    fn add_start(&mut self, text: &str) {
        let Some(start) = text.as_bytes().first_chunk::<START>().copied() else {
            self.has_short = true;
            return;
        };
        self.filter.resize(BITS / 64, 0);
        let bit = hash(start);
        self.filter[bit / 64] |= 1 << (bit % 64);
        self.starts.entry(start).or_default().push(text.into());
    }

    /// Returns what a whole text is shown as.
    pub(super) fn find(&self, text: &str) -> Option<&str> {
        self.shown.get(text).map(String::as_str)
    }

    /// Replaces the known texts in a text; `None` if it has none.
    pub(super) fn replace(&self, text: &str) -> Option<String> {
        if !self.has_any(text) {
            return None;
        }
        let mut replaced: Option<String> = None;
        let mut replace = |known: &str, shown: &str| {
            let current = replaced.as_deref().unwrap_or(text);
            if current.contains(known) {
                replaced = Some(current.replace(known, shown));
            }
        };
        for Literal { text: known, quoted, shown } in &self.sorted {
            replace(known, shown);
            if quoted != known {
                replace(quoted, shown);
            }
        }
        replaced
    }

    /// Returns whether a text has a known one; texts shorter than a start count as had by all.
    fn has_any(&self, text: &str) -> bool {
        if self.has_short || self.filter.is_empty() {
            return self.has_short;
        }
        let bytes = text.as_bytes();
        (0..bytes.len()).any(|at| {
            let Some(start) = bytes[at..].first_chunk::<START>().copied() else { return false };
            let bit = hash(start);
            (self.filter[bit / 64] >> (bit % 64)) & 1 == 1
                && self.starts.get(&start).into_iter().flatten().any(|known| bytes[at..].starts_with(known.as_bytes()))
        })
    }
}

/// Returns the number of the bit of a start.
fn hash(start: [u8; START]) -> usize {
    let product = u32::from_le_bytes(start).wrapping_mul(0x9E37_79B1);
    usize::try_from(product >> 18).unwrap_or_default()
}
