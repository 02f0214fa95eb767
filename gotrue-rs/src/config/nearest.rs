//! Finds the known name that is most similar to an unknown one.

/// Returns the candidate with the smallest edit distance to `word`, at most `limit`.
pub fn find_nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, limit: usize) -> Option<&'a str> {
    let word: Vec<char> = word.chars().collect();
    candidates
        .into_iter()
        .filter(|candidate| candidate.chars().count().abs_diff(word.len()) <= limit)
        .map(|candidate| (edit_distance(&word, candidate), candidate))
        .filter(|(changes, _)| *changes <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Formats the end of a message about an unknown word: `, did you mean recovery?`, or nothing if no candidate is similar.
pub fn format_suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let limit = (word.chars().count() / 3).max(2);
    find_nearest(word, candidates, limit).map(|nearest| format!(", did you mean {nearest}?")).unwrap_or_default()
}

/// Returns the number of characters to insert, delete, replace, or swap with their neighbour.
fn edit_distance(left: &[char], right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before_last = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let replaced = last[j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut changes = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                changes = changes.min(before_last[j - 2] + 1);
            }
            row.push(changes);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}
