//! Finds the known name that is most similar to an unknown one.

use strsim::osa_distance;

/// Returns the candidate with the smallest edit distance to `word`, at most `limit`.
pub fn find_nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, limit: usize) -> Option<&'a str> {
    let length = word.chars().count();
    let alike = candidates.into_iter().filter(|candidate| candidate.chars().count().abs_diff(length) <= limit);
    let near = alike.map(|candidate| (osa_distance(word, candidate), candidate));
    near.filter(|(changes, _)| *changes <= limit).min().map(|(_, candidate)| candidate)
}

/// Formats the end of a message about an unknown word: `, did you mean recovery?`, or nothing if no candidate is similar.
pub fn format_suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let limit = (word.chars().count() / 3).max(2);
    find_nearest(word, candidates, limit).map(|nearest| format!(", did you mean {nearest}?")).unwrap_or_default()
}
