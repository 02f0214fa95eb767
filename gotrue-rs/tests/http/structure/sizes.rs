//! No source file has more than 400 lines.

use super::source;

const MAX_LINES: usize = 400;

#[test]
fn no_file_has_more_than_400_lines() {
    let files = source::list_files(&source::repository_root(), &[".rs", ".ts", ".tsx"]);
    assert!(files.len() > 50, "only {} files found: is this the repository?", files.len());

    let long: Vec<String> = files
        .iter()
        .map(|path| (path, source::read_text(path).lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(path, lines)| format!("{}: {lines} lines", source::relative_path(path)))
        .collect();

    assert!(long.is_empty(), "split these by what they are about:\n{}", long.join("\n"));
}
