//! What the owner sends: bodies of requests, validated.

use serde_json::Value;
use uuid::Uuid;

use super::error::InvalidInput;
use super::filter::SubmissionStatus;

/// The maximum number of characters of a note.
pub const MAX_NOTE: usize = 4_000;
/// The maximum number of characters of a subject.
pub const MAX_SUBJECT: usize = 200;
/// The maximum number of characters of a reply.
pub const MAX_REPLY: usize = 10_000;
/// The maximum number of submissions that are deleted at once.
pub const MAX_DELETED: usize = 200;

/// A reply, validated; the recipient is compared with the addresses of the submission later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyInput {
    /// The recipient's address as given.
    pub to: String,
    /// One line of text.
    pub subject: String,
    /// The text, with line feeds alone as line breaks.
    pub text: String,
}

impl ReplyInput {
    /// Validates the parts of a reply.
    ///
    /// # Errors
    /// A part is empty, too long, or has characters that a mail cannot have.
    pub fn new(to: &str, subject: &str, text: &str) -> Result<Self, InvalidInput> {
        let subject = subject.trim();
        if subject.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
            return Err(InvalidInput::new("subject must be one line without control characters"));
        }
        let to = parse_text("to", to, 254)?;
        Ok(Self {
            to,
            subject: parse_text("subject", subject, MAX_SUBJECT)?,
            text: parse_text("text", text, MAX_REPLY)?,
        })
    }

    /// Reads the members `to`, `subject` and `text` of a body, which `find` returns by name.
    ///
    /// # Errors
    /// A member is missing or invalid.
    pub fn read<'b>(find: impl Fn(&str) -> Option<&'b Value>) -> Result<Self, InvalidInput> {
        Self::new(read_text(&find, "to")?, read_text(&find, "subject")?, read_text(&find, "text")?)
    }
}

/// Reads the member `status`.
///
/// # Errors
/// It is missing, or there is no such status.
pub fn read_status<'b>(find: impl Fn(&str) -> Option<&'b Value>) -> Result<SubmissionStatus, InvalidInput> {
    SubmissionStatus::parse(read_text(&find, "status")?)
}

/// Reads the member `text` of a note.
///
/// # Errors
/// It is missing, empty or too long.
pub fn read_note<'b>(find: impl Fn(&str) -> Option<&'b Value>) -> Result<String, InvalidInput> {
    parse_text("text", read_text(&find, "text")?, MAX_NOTE)
}

/// Reads the member `ids`.
///
/// # Errors
/// It is missing, there are too many ids, or one is none.
pub fn read_ids<'b>(find: impl Fn(&str) -> Option<&'b Value>) -> Result<Vec<Uuid>, InvalidInput> {
    let ids = find("ids").and_then(Value::as_array).filter(|ids| (1..=MAX_DELETED).contains(&ids.len()));
    let ids = ids.ok_or_else(|| InvalidInput::new(format!("ids must be a list of 1 to {MAX_DELETED} ids")))?;
    let parsed = ids.iter().map(|id| id.as_str().and_then(|id| Uuid::try_parse(id).ok())).collect::<Option<_>>();
    parsed.ok_or_else(|| InvalidInput::new("ids must be ids of submissions"))
}

fn read_text<'b>(find: &impl Fn(&str) -> Option<&'b Value>, name: &'static str) -> Result<&'b str, InvalidInput> {
    find(name).and_then(Value::as_str).ok_or_else(|| InvalidInput::new(format!("{name} must be a text")))
}

/// Trims a text, makes its line breaks equal, and checks its length.
fn parse_text(name: &'static str, text: &str, most: usize) -> Result<String, InvalidInput> {
    let text = text.trim().replace("\r\n", "\n").replace('\r', "\n");
    match text.chars().take(most + 1).count() {
        0 => Err(InvalidInput::new(format!("{name} is required"))),
        length if length > most => Err(InvalidInput::new(format!("{name} must have at most {most} characters"))),
        _ if text.contains('\0') => Err(InvalidInput::new(format!("{name} must not contain a NUL character"))),
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn reply_is_trimmed_and_has_equal_line_breaks() {
        let body = json!({ "to": " a@b.co ", "subject": " Re: you ", "text": "one\r\ntwo\rthree\n" });
        let reply = ReplyInput::read(|name| body.get(name)).expect("a reply");
        let parts = (reply.to.as_str(), reply.subject.as_str(), reply.text.as_str());
        assert_eq!(parts, ("a@b.co", "Re: you", "one\ntwo\nthree"));
    }

    #[test]
    fn reply_with_line_breaks_in_its_subject_is_refused() {
        for subject in ["a\r\nBcc: b@example.com", "a\nb", "a\u{2028}b", "a\u{0}b", " ", &"x".repeat(201)] {
            assert!(ReplyInput::new("a@b.co", subject, "text").is_err(), "{subject:?}");
        }
        for text in ["", " \n ", "a\u{0}", &"x".repeat(10_001)] {
            assert!(ReplyInput::new("a@b.co", "subject", text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn invalid_members_are_refused() {
        for body in [json!({}), json!({ "status": 1 }), json!({ "status": "open" }), json!({ "status": null })] {
            assert!(read_status(|name| body.get(name)).is_err(), "{body}");
        }
        let closed = json!({ "status": "closed" });
        assert_eq!(read_status(|name| closed.get(name)), Ok(SubmissionStatus::Closed));
        for body in [json!({ "ids": [] }), json!({ "ids": ["x"] }), json!({ "ids": vec![Uuid::nil(); 201] })] {
            assert!(read_ids(|name| body.get(name)).is_err(), "{body}");
        }
        let note = json!({ "text": "x".repeat(4_001) });
        assert!(read_note(|name| note.get(name)).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_members_do_not_panic(text: String, number: f64, kind in 0..4) {
            let value = match kind { 0 => json!(text), 1 => json!(number), 2 => json!([text]), _ => json!({ text: 1 }) };
            let _ = ReplyInput::read(|_| Some(&value));
            let _ = read_status(|_| Some(&value));
            let _ = read_note(|_| Some(&value));
            let _ = read_ids(|_| Some(&value));
        }

        #[test]
        fn accepted_subject_is_one_line(subject in "[\\x00-\\x7f\u{2028}é]{0,30}") {
            if let Ok(reply) = ReplyInput::new("a@b.co", &subject, "text") {
                prop_assert!(!reply.subject.contains(char::is_control));
            }
        }
    }
}
