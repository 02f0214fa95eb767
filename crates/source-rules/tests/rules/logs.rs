//! Log messages are constants; values are fields.

use source_rules::{
    CRATES, code_and_comments, is_word_character, list_files, read_text, relative_path, repository_root,
};

const MACROS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

#[test]
fn log_messages_are_constants() {
    let (mut number, mut broken) = (0, Vec::new());
    for path in CRATES.iter().flat_map(|name| list_files(&repository_root().join(name).join("src"), &[".rs"])) {
        for message in log_messages(&read_text(&path)) {
            number += 1;
            if !is_constant(&message) {
                broken.push(format!("{}: {message}", relative_path(&path)));
            }
        }
    }
    assert!(number > 60, "only {number} log messages were found: are they written in another way?");
    assert!(broken.is_empty(), "log messages that are no constants:\n{}", broken.join("\n"));
}

#[test]
fn log_messages_are_found() {
    let text = r#"
        tracing::warn!(user.id = %id, "one, (two)"); // tracing::warn!("comment")
        other_tracing::warn!("not ours"); let text = "tracing::info!(\"text\")";
        tracing::error!(
            error = format!("{error}, {}", more(1, 2)),
            "three",
        );
        tracing::info!("{notice}"); tracing::debug!(message); tracing::trace!("{}: {sentence}", path);
    "#;
    let messages = log_messages(text);
    assert_eq!(messages, ["\"one, (two)\"", "\"three\"", "\"{notice}\"", "message", "path"]);
    let are_constant: Vec<bool> = messages.iter().map(|message| is_constant(message)).collect();
    assert_eq!(are_constant, [true, true, false, false, false]);
}

/// Whether the argument is a literal without placeholders.
fn is_constant(message: &str) -> bool {
    message.len() > 2 && message.starts_with('"') && message.ends_with('"') && !message.contains('{')
}

/// The last argument of each log macro in a source.
fn log_messages(text: &str) -> Vec<String> {
    let code: Vec<char> = code_and_comments(text).0.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let starts = (0..code.len()).filter_map(|at| Some(at + macro_length(&code, at)?));
    starts.map(|start| last_argument(&code[start..], &text[start..])).collect()
}

/// The length of `tracing::<level>!(` if it starts here.
fn macro_length(code: &[char], at: usize) -> Option<usize> {
    let is_word_before = at > 0 && is_word_character(code[at - 1]);
    let opening = MACROS.iter().map(|name| format!("tracing::{name}!("));
    let mut opening = opening.filter(|opening| code[at..].iter().copied().take(opening.len()).eq(opening.chars()));
    opening.next().filter(|_| !is_word_before).map(|opening| opening.len())
}

/// The last argument before the parenthesis that closes the macro.
fn last_argument(code: &[char], text: &[char]) -> String {
    let (mut depth, mut start) = (0, 0);
    let argument = |range: std::ops::Range<usize>| text[range].iter().collect::<String>().trim().to_owned();
    let mut last = String::new();
    for (at, character) in code.iter().enumerate() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => {
                let rest = argument(start..at);
                return if rest.is_empty() { last } else { rest };
            }
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                last = argument(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    last
}
