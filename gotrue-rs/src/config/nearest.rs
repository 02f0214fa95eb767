//! Finds the known name that is most similar to an unknown one.

/// Returns the candidate with the smallest edit distance to `word`; `None` if all are too different.
pub fn find_nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bound = (word.chars().count() / 4).clamp(1, 6);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= bound)
        .map(|candidate| (edit_distance(word, candidate), candidate))
        .filter(|(changes, _)| *changes <= bound)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Returns the edit distance: the number of inserted, deleted or replaced characters.
fn edit_distance(left: &str, right: &str) -> usize {
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
