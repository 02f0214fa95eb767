//! Submissions, notes and messages as they are stored, and their JSON.

use foundation::time::Time;
use serde_json::{Value, json};
use uuid::Uuid;

use super::filter::SubmissionStatus;
use crate::functions::send_submission::TemplateTitles;
use crate::functions::send_submission::address::EmailAddress;

/// The number of characters of an excerpt.
const EXCERPT_LENGTH: usize = 160;

/// A stored submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionRecord {
    pub id: Uuid,
    /// The text.
    pub description: String,
    /// The time of the submission.
    pub created_at: Time,
    /// What was done about it.
    pub status: SubmissionStatus,
    /// The id of the template that it is about.
    pub template: Option<u16>,
    /// The address of the account that was signed in.
    pub account_email: Option<String>,
    /// The addresses in the text, if they were recorded.
    pub senders: Option<Vec<String>>,
    /// 0 to 100.
    pub spam_score: i32,
    /// The number of mails about it.
    pub messages: i64,
    /// The number of replies.
    pub replies: i64,
    /// The number of mails that wait for delivery.
    pub waiting: i64,
    /// The number of mails that were given up.
    pub failed: i64,
}

/// A note of the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteRecord {
    pub id: Uuid,
    pub text: String,
    /// Who wrote it.
    pub author: String,
    /// The time of writing.
    pub created_at: Time,
}

/// A mail about a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRecord {
    /// Its id, also in the outbox.
    pub id: Uuid,
    /// `notice`, `confirmation` or `reply`.
    pub kind: String,
    /// The recipient's address.
    pub recipient: String,
    pub subject: String,
    /// The text of a reply, without the quoted submission.
    pub text: Option<String>,
    /// Who wrote the reply.
    pub author: Option<String>,
    /// `waiting`, `sent`, `failed` or `held`.
    pub state: String,
    /// The error of the last attempt.
    pub error: Option<String>,
    /// The time of writing.
    pub created_at: Time,
    /// The time of delivery, as long as the outbox knows it.
    pub sent_at: Option<Time>,
    /// The number of started attempts, as long as the outbox knows it.
    pub attempts: Option<i32>,
}

/// A submission with everything that is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionDetails {
    pub submission: SubmissionRecord,
    /// Its notes, oldest first.
    pub notes: Vec<NoteRecord>,
    /// The mails about it, oldest first.
    pub messages: Vec<MessageRecord>,
}

/// Returns the addresses that a submission may be answered at: the account's, then those in the text.
pub(super) fn list_senders(account: Option<&str>, recorded: Option<&[String]>, description: &str) -> Vec<String> {
    let named = recorded.map_or_else(|| EmailAddress::list(description), parse_all);
    let mut senders: Vec<EmailAddress> = account.and_then(EmailAddress::parse).into_iter().collect();
    for address in named {
        if senders.iter().all(|known| !known.is_same(address.as_str())) {
            senders.push(address);
        }
    }
    senders.iter().map(|address| address.as_str().to_owned()).collect()
}

fn parse_all(recorded: &[String]) -> Vec<EmailAddress> {
    recorded.iter().filter_map(|text| EmailAddress::parse(text)).collect()
}

impl SubmissionRecord {
    /// Returns the addresses that it may be answered at.
    pub fn list_senders(&self) -> Vec<String> {
        list_senders(self.account_email.as_deref(), self.senders.as_deref(), &self.description)
    }

    /// Returns how far its mails got: `none`, `failed`, `waiting` or `delivered`.
    pub fn delivery(&self) -> &'static str {
        match self {
            Self { messages: 0, .. } => "none",
            Self { failed, .. } if *failed > 0 => "failed",
            Self { waiting, .. } if *waiting > 0 => "waiting",
            _ => "delivered",
        }
    }

    /// Returns the beginning of the text on one line.
    pub fn excerpt(&self) -> String {
        let mut line = String::new();
        for word in self.description.split_whitespace() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.extend(word.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }));
        }
        match line.char_indices().nth(EXCERPT_LENGTH) {
            Some((end, _)) => format!("{}…", line[..end].trim_end()),
            None => line,
        }
    }

    /// Returns the members of a list's entry.
    pub fn to_json(&self, titles: &TemplateTitles) -> Value {
        let template = self.template.map(|id| json!({ "id": id, "title": titles.find(id) }));
        json!({
            "id": self.id,
            "created_at": format_time(self.created_at),
            "status": self.status.as_str(),
            "excerpt": self.excerpt(),
            "senders": self.list_senders(),
            "template": template,
            "replies": self.replies,
            "delivery": self.delivery(),
            "spam_score": self.spam_score,
        })
    }
}

impl NoteRecord {
    /// Returns the JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "text": self.text,
            "author": self.author,
            "created_at": format_time(self.created_at),
        })
    }
}

impl MessageRecord {
    /// Returns the JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "kind": self.kind,
            "to": self.recipient,
            "subject": self.subject,
            "text": self.text,
            "author": self.author,
            "state": self.state,
            "error": self.error,
            "created_at": format_time(self.created_at),
            "sent_at": self.sent_at.map(format_time),
            "attempts": self.attempts,
        })
    }
}

impl SubmissionDetails {
    /// Returns the members of a list's entry with text, notes and messages.
    pub fn to_json(&self, titles: &TemplateTitles) -> Value {
        let mut body = self.submission.to_json(titles);
        body["description"] = self.submission.description.as_str().into();
        body["notes"] = self.notes.iter().map(NoteRecord::to_json).collect();
        body["messages"] = self.messages.iter().map(MessageRecord::to_json).collect();
        body
    }
}

/// Formats a time in UTC (ISO 8601).
pub(super) fn format_time(time: Time) -> String {
    time.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(description: &str) -> SubmissionRecord {
        SubmissionRecord {
            id: Uuid::nil(),
            description: description.to_owned(),
            created_at: Time::UNIX_EPOCH,
            status: SubmissionStatus::New,
            template: None,
            account_email: None,
            senders: None,
            spam_score: 0,
            messages: 0,
            replies: 0,
            waiting: 0,
            failed: 0,
        }
    }

    #[test]
    fn account_precedes_addresses_in_text() {
        let mut submission = record("bob@example.com or ADA@example.com");
        assert_eq!(submission.list_senders(), ["bob@example.com", "ADA@example.com"]);
        submission.account_email = Some("ada@example.com".to_owned());
        assert_eq!(submission.list_senders(), ["ada@example.com", "bob@example.com"]);
        submission.senders = Some(vec![]);
        assert_eq!(submission.list_senders(), ["ada@example.com"]);
    }

    #[test]
    fn delivery_names_the_worst_state() {
        let with = |messages, waiting, failed| SubmissionRecord { messages, waiting, failed, ..record("a") };
        let states = [(0, 0, 0), (2, 0, 0), (2, 1, 0), (3, 1, 1)].map(|(m, w, f)| with(m, w, f).delivery());
        assert_eq!(states, ["none", "delivered", "waiting", "failed"]);
    }

    proptest! {
        #[test]
        fn excerpt_is_one_short_line(text in "\\PC{0,400}|[\\s\\x00-\\x1f]{0,20}") {
            let excerpt = record(&text).excerpt();
            prop_assert!(excerpt.chars().count() <= EXCERPT_LENGTH + 1);
            prop_assert!(!excerpt.contains(char::is_control));
        }
    }
}
