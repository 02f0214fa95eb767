//! A kept message with what its content says.

use foundation::time::Time;
use platform::mail::inbox::InboxMail;
use platform::mail::plain::to_plain_text;
use uuid::Uuid;

use crate::content::Content;
use crate::kind::kind_of_purpose;

/// How a message reaches its recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// An e-mail.
    Email,
    Sms,
}

impl Channel {
    /// Parses a name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Email, Self::Sms].into_iter().find(|channel| channel.as_str() == name)
    }

    /// Returns the name: `email` or `sms`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Sms => "sms",
        }
    }
}

/// A kept message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The id, a cursor for later messages.
    pub id: Uuid,
    pub channel: Channel,
    /// The time of writing.
    pub at: Time,
    /// The sender's address; empty for an SMS.
    pub from: String,
    /// The recipient's address, or number without `+`; several are separated by `, `.
    pub to: String,
    /// The subject; empty for an SMS.
    pub subject: String,
    /// The kind: as in `[auth.email.template.<kind>]`, a notification's name, `sms_otp`, `application` …
    pub kind: String,
    /// The plain text, converted from the HTML if the message has none.
    pub text: String,
    /// The HTML; empty if there is none.
    pub html: String,
    /// The code to enter.
    pub code: Option<String>,
    /// The token hash to verify.
    pub token_hash: Option<String>,
    /// The link to follow.
    pub link: Option<String>,
    /// All links in their order, each once.
    pub links: Vec<String>,
    /// Whether it is marked as read.
    pub is_read: bool,
    /// The number of attachments.
    pub attachment_count: usize,
    /// The row.
    pub(crate) mail: InboxMail,
}

impl Message {
    /// Reads a row; `address` is the sender of the auth API's mails.
    pub(crate) fn new(mail: InboxMail, address: &str) -> Self {
        let text = mail.text.clone().unwrap_or_else(|| to_plain_text(&mail.html));
        let Content { code, token_hash, link, links } = Content::read(&mail, &text);
        let channel = Channel::parse(&mail.channel).unwrap_or(Channel::Email);
        let usual_sender = if channel == Channel::Email { address } else { "" };
        Self {
            id: mail.id,
            channel,
            at: mail.created_at,
            from: mail.sender.clone().unwrap_or_else(|| usual_sender.to_owned()),
            to: mail.to.clone(),
            subject: mail.subject.clone(),
            kind: kind_of_purpose(&mail.kind).to_owned(),
            text,
            html: mail.html.clone(),
            code,
            token_hash,
            link,
            links,
            is_read: mail.is_read,
            attachment_count: usize::try_from(mail.attachment_count).unwrap_or_default(),
            mail,
        }
    }

    /// Returns the first words of the text, in one line of at most `length` characters.
    pub fn snippet(&self, length: usize) -> String {
        let line = self.text.split_whitespace().take(length).collect::<Vec<_>>().join(" ");
        if line.chars().count() <= length {
            return line;
        }
        line.chars().take(length.saturating_sub(1)).chain(['…']).collect()
    }

    /// Returns the addresses that the message is for.
    pub fn recipients(&self) -> impl Iterator<Item = &str> {
        self.to.split(", ").filter(|to| !to.is_empty())
    }
}
