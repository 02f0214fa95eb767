//! Names similar to a name that was not found, as the Haskell library `fuzzyset` finds them: candidates share trigrams or else
//! bigrams with it, and are ordered by the Levenshtein distance.

use std::collections::{BTreeMap, HashMap};

/// The sizes of the parts that names are compared by, in the order tried.
const GRAM_SIZES: [usize; 2] = [3, 2];

/// The most candidates whose distance is computed.
const MAXIMUM_CANDIDATES: usize = 50;

/// The longest name that is searched, in bytes: the time of a search grows with its square.
pub const MAXIMUM_NAME: usize = 1024;

/// Names that can be searched by similarity.
#[derive(Debug, Clone, Default)]
pub struct FuzzySet {
    entries: Vec<Entry>,
    /// The entries that hold a gram and how often, by gram.
    grams: HashMap<String, Vec<(usize, u32)>>,
}

#[derive(Debug, Clone)]
struct Entry {
    name: String,
    lower: String,
    /// The Euclidean norm of the counts of the grams of each size.
    norms: [f64; 2],
}

impl FuzzySet {
    /// A set of these names. Of names that differ in case alone it holds the last.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut set = Self::default();
        let mut indices: HashMap<String, usize> = HashMap::new();
        for name in names {
            let lower = name.to_lowercase();
            if let Some(index) = indices.get(&lower) {
                name.clone_into(&mut set.entries[*index].name);
                continue;
            }
            indices.insert(lower.clone(), set.entries.len());
            let vectors = GRAM_SIZES.map(|size| count_grams(&lower, size));
            let norms = [norm(&vectors[0]), norm(&vectors[1])];
            for (gram, count) in vectors.into_iter().flatten() {
                set.grams.entry(gram).or_default().push((set.entries.len(), count));
            }
            set.entries.push(Entry { name: name.to_owned(), lower, norms });
        }
        set
    }

    /// The most similar name with at least this score.
    pub fn find_best(&self, name: &str, minimum: f64) -> Option<String> {
        self.find(name, minimum).into_iter().next().map(|(_, name)| name.to_owned())
    }

    /// The names with at least this score (0 to 1), most similar first. A name that differs in case alone is the only one.
    /// None is similar to a name longer than [`MAXIMUM_NAME`].
    pub fn find(&self, name: &str, minimum: f64) -> Vec<(f64, &str)> {
        if name.len() > MAXIMUM_NAME {
            return Vec::new();
        }
        let lower = name.to_lowercase();
        if let Some(entry) = self.entries.iter().find(|entry| entry.lower == lower) {
            return vec![(1.0, &entry.name)];
        }
        let found = (0..GRAM_SIZES.len()).map(|size| self.find_by_grams(&lower, minimum, size));
        found.into_iter().find(|matches| !matches.is_empty()).unwrap_or_default()
    }

    fn find_by_grams(&self, lower: &str, minimum: f64, size: usize) -> Vec<(f64, &str)> {
        let vector = count_grams(lower, GRAM_SIZES[size]);
        let mut products: BTreeMap<usize, f64> = BTreeMap::new();
        for (gram, count) in &vector {
            for (index, other) in self.grams.get(gram).into_iter().flatten() {
                *products.entry(*index).or_default() += f64::from(*count) * f64::from(*other);
            }
        }
        let length = norm(&vector);
        let mut candidates: Vec<_> = products
            .into_iter()
            .map(|(index, product)| (product / (length * self.entries[index].norms[size]), index))
            .collect();
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
        candidates.truncate(MAXIMUM_CANDIDATES);
        let mut matches: Vec<_> = candidates
            .into_iter()
            .map(|(_, index)| (similarity(lower, &self.entries[index].lower), self.entries[index].name.as_str()))
            .filter(|(score, _)| *score >= minimum)
            .collect();
        matches.sort_by(|a, b| b.0.total_cmp(&a.0));
        matches
    }
}

/// How often each part of this size occurs in the letters, digits, blanks and commas of a name between hyphens.
fn count_grams(lower: &str, size: usize) -> HashMap<String, u32> {
    let kept = lower.chars().filter(|c| c.is_alphanumeric() || c.is_whitespace() || *c == ',');
    let letters: Vec<char> = std::iter::once('-').chain(kept).chain(['-']).collect();
    let mut counts = HashMap::new();
    for gram in letters.windows(size) {
        *counts.entry(gram.iter().collect()).or_default() += 1;
    }
    counts
}

fn norm(counts: &HashMap<String, u32>) -> f64 {
    counts.values().map(|count| f64::from(*count).powi(2)).sum::<f64>().sqrt()
}

/// 1 less the Levenshtein distance as a part of the longer length.
fn similarity(a: &str, b: &str) -> f64 {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let longest = a.len().max(b.len());
    if longest == 0 {
        return 1.0;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let changed = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "names are short")]
    let score = (longest - row[b.len()]) as f64 / longest as f64;
    score
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_name_is_found_and_scores_are_sorted(
            names in prop::collection::vec("\\PC{0,12}", 1..8),
            part in "\\PC{1,4}",
            times in 1_usize..20_000,
        ) {
            let set = FuzzySet::new(names.iter().map(String::as_str));
            for name in &names {
                let found = set.find_best(name, 0.75).map(|found| found.to_lowercase());
                prop_assert_eq!(found, Some(name.to_lowercase()));
            }
            let long = part.repeat(times);
            let found = set.find(&long, 0.33);
            prop_assert!(found.is_sorted_by(|a, b| a.0 >= b.0));
            prop_assert!(found.iter().all(|(score, _)| (0.33..=1.0).contains(score)));
            prop_assert!(long.len() <= MAXIMUM_NAME || found.is_empty());
            let set = FuzzySet::new(std::iter::once(long.as_str()));
            prop_assert_eq!(set.find_best(&long, 0.75).is_some(), long.len() <= MAXIMUM_NAME);
        }
    }

    #[test]
    fn similar_name_is_found_from_the_minimum_score_on() {
        let set = FuzzySet::new(["projects", "clients"].into_iter());
        assert_eq!(set.find_best("projecxx", 0.75).as_deref(), Some("projects"));
        assert_eq!(set.find_best("projxxxx", 0.75), None);
        assert_eq!(set.find_best("Projects", 0.75).as_deref(), Some("projects"));
        assert_eq!(set.find("", 0.33), []);
    }

    #[test]
    fn last_of_names_that_differ_in_case_is_found() {
        let set = FuzzySet::new(["Foo", "bar", "foo"].into_iter());
        assert_eq!(set.find_best("fooz", 0.75).as_deref(), Some("foo"));
    }

    #[test]
    fn parameters_are_compared_as_a_list() {
        let set = FuzzySet::new(["(name, param, val)", "(attr, id)"].into_iter());
        assert_eq!(set.find_best("(param, val)", 0.33).as_deref(), Some("(name, param, val)"));
        assert_eq!(set.find_best("(attrs, id)", 0.33).as_deref(), Some("(attr, id)"));
        assert_eq!(set.find_best("(noclosealternative)", 0.33), None);
    }
}
