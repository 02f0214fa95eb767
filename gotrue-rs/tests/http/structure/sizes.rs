//! No file is longer than a reader keeps in mind.

use super::source;

const MOST_LINES: usize = 400;

#[test]
fn no_file_has_more_than_400_lines() {
    let files = source::files(&source::repository(), &[".rs", ".ts", ".tsx"]);
    assert!(files.len() > 50, "only {} files found: is this the repository?", files.len());

    let long: Vec<String> = files
        .iter()
        .map(|path| (path, source::text(path).lines().count()))
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(path, lines)| format!("{}: {lines} lines", source::shown(path)))
        .collect();

    assert!(long.is_empty(), "split these by what they are about:\n{}", long.join("\n"));
}
