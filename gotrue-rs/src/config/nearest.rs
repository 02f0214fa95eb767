//! The known name that a misspelt one was meant to be.

/// The candidate fewest changes away from `word`; none when all are too far to be meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bound = (word.chars().count() / 4).clamp(1, 6);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= bound)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(changes, _)| *changes <= bound)
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many characters must be put in, taken out or replaced.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}
