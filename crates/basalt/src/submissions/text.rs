//! Submissions as plain text of 80 columns, without control characters.

use foundation::time::format_minutes;
use functions_rs::functions::send_submission::TemplateTitles;
use functions_rs::submissions::records::{MessageRecord, SubmissionDetails, SubmissionRecord};

/// The number of columns.
const WIDTH: usize = 80;

/// Formats a submission as two lines: what it is, and who writes what.
pub(super) fn format_entry(submission: &SubmissionRecord) -> String {
    let note = match (submission.delivery(), submission.replies) {
        ("failed", _) => "a mail failed".to_owned(),
        (_, 0) => String::new(),
        (_, 1) => "1 reply".to_owned(),
        (_, replies) => format!("{replies} replies"),
    };
    let status = submission.status.as_str();
    let first = format!("{}  {}  {status:<8}  {note}", submission.id, submission.created_at.format("%Y-%m-%d %H:%M"));
    let sender = submission.list_senders().into_iter().next().map_or_else(String::new, |sender| format!("{sender}: "));
    let second = truncate(&format!("    {sender}{}", submission.excerpt()));
    format!("{}\n{second}", first.trim_end())
}

/// Formats everything about a submission.
pub(super) fn format_details(details: &SubmissionDetails, titles: &TemplateTitles) -> String {
    let submission = &details.submission;
    let senders = submission.list_senders();
    let mut lines = vec![
        format!("Submission {}", submission.id),
        format!("Received:  {}", format_minutes(submission.created_at)),
        format!("Status:    {}", submission.status.as_str()),
        format!("Senders:   {}", if senders.is_empty() { "none named".to_owned() } else { senders.join(", ") }),
    ];
    if let Some(id) = submission.template {
        let title = titles.find(id).map_or_else(String::new, |title| format!(", {title}"));
        lines.push(format!("Template:  {id}{title}"));
    }
    if submission.spam_score > 0 {
        lines.push(format!("Spam:      {} of 100", submission.spam_score));
    }
    lines.push(String::new());
    lines.push(submission.description.clone());
    for note in &details.notes {
        lines.push(format!("\nNote of {}, {}:", note.author, format_minutes(note.created_at)));
        lines.push(note.text.clone());
    }
    lines.extend(details.messages.iter().map(format_message));
    lines.iter().map(|text| wrap(text)).collect::<Vec<_>>().join("\n")
}

fn format_message(message: &MessageRecord) -> String {
    let kind = match message.kind.as_str() {
        "notice" => "Notice",
        "confirmation" => "Confirmation",
        _ => "Reply",
    };
    let mut text =
        format!("\n{kind} to {}, {}: {}", message.recipient, format_minutes(message.created_at), message.state);
    if let Some(error) = &message.error {
        text += "\n";
        text += error;
    }
    if let Some(content) = &message.text {
        text += &["\nSubject: ", &message.subject, "\n", content].concat();
    }
    text
}

/// Cuts a line at the last column.
fn truncate(line: &str) -> String {
    let line = replace_control_characters(line);
    match line.char_indices().nth(WIDTH) {
        None => line,
        Some(_) => line.chars().take(WIDTH - 1).chain(['…']).collect(),
    }
}

/// Breaks lines at spaces so that they fit; longer words are broken anywhere.
fn wrap(text: &str) -> String {
    let mut wrapped: Vec<String> = Vec::new();
    for line in text.split('\n') {
        let mut current: Vec<char> = Vec::new();
        for c in replace_control_characters(line).trim_end().chars() {
            if current.len() == WIDTH {
                let space = current.iter().rposition(|c| *c == ' ').filter(|space| *space > 0 && c != ' ');
                let rest = space.map_or_else(Vec::new, |space| current.split_off(space)[1..].to_vec());
                wrapped.push(current.iter().collect::<String>().trim_end().to_owned());
                current = rest;
                if c == ' ' {
                    continue;
                }
            }
            current.push(c);
        }
        wrapped.push(current.iter().collect());
    }
    wrapped.join("\n")
}

/// Makes control characters visible, because they might affect a terminal.
fn replace_control_characters(line: &str) -> String {
    line.replace('\t', "    ").chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_broken_at_spaces() {
        let text = format!("{} {}\n\nend", "a".repeat(70), "b".repeat(20));
        assert_eq!(wrap(&text), format!("{}\n{}\n\nend", "a".repeat(70), "b".repeat(20)));
        assert_eq!(wrap(&"x".repeat(100)), format!("{}\n{}", "x".repeat(80), "x".repeat(20)));
        assert_eq!(wrap(&format!("{} b", "a".repeat(80))), format!("{}\nb", "a".repeat(80)));
        assert_eq!(wrap("\u{1b}[2J"), "\u{fffd}[2J");
    }

    proptest! {
        #[test]
        fn wrapped_text_fits_and_keeps_its_words(text in "[a-zé \n\u{1b}]{0,400}") {
            let wrapped = wrap(&text);
            prop_assert!(wrapped.lines().all(|line| line.chars().count() <= WIDTH));
            let words_of = |text: &str| text.replace('\u{1b}', "\u{fffd}").split_whitespace().collect::<String>();
            prop_assert_eq!(words_of(&wrapped), words_of(&text));
        }

        #[test]
        fn truncated_line_fits(text in "\\PC{0,200}") {
            prop_assert!(truncate(&text).chars().count() <= WIDTH);
        }
    }
}
