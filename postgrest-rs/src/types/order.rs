//! The order of names in generated types: that of the Unicode Collation Algorithm for names of Latin letters (UTS #10).

use std::cmp::Ordering;

use icu_normalizer::DecomposingNormalizerBorrowed;

/// Punctuation and symbols in their order, before digits and letters.
const PUNCTUATION: &str = "\t\n\u{b}\u{c}\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// The first primary weight of letters.
const LETTERS: u32 = 1000;

/// The weights of a name: base characters, then accents, then case.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Weights {
    base: Vec<u32>,
    accents: Vec<(usize, u32)>,
    upper: Vec<bool>,
}

/// Compares two names.
pub(super) fn compare(left: &str, right: &str) -> Ordering {
    if left == right {
        return Ordering::Equal;
    }
    weigh(left).cmp(&weigh(right))
}

fn weigh(name: &str) -> Weights {
    let mut weights = Weights { base: Vec::new(), accents: Vec::new(), upper: Vec::new() };
    for character in DecomposingNormalizerBorrowed::new_nfd().normalize(name).chars() {
        if ('\u{300}'..='\u{36f}').contains(&character) {
            weights.accents.push((weights.base.len(), u32::from(character)));
            continue;
        }
        let lower = character.to_lowercase().next().unwrap_or(character);
        weights.upper.push(lower != character);
        weights.base.push(match PUNCTUATION.chars().position(|mark| mark == character) {
            Some(position) => u32::try_from(position).unwrap_or(0),
            None if character.is_ascii_digit() => 100 + u32::from(character),
            None => LETTERS + u32::from(lower),
        });
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_the_algorithm() {
        let expected = ["_x", "$dollar", "123", "9x", "a", "A", "a_b", "a-b", "ab", "aB", "u", "Übung", "v"];
        let mut sorted = expected;
        sorted.reverse();
        sorted.sort_by(|left, right| compare(left, right));
        assert_eq!(sorted, expected);
    }
}
