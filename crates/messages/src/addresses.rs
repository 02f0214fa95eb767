//! The mailboxes in the headers of a mail.

use crate::message::Message;
use crate::mime::Mailbox;
use crate::store::MessageSender;

/// The sender and the recipients of a mail.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    pub from: Mailbox,
    pub to: Vec<Mailbox>,
    pub cc: Vec<Mailbox>,
    /// Recipients that no header names.
    pub bcc: Vec<Mailbox>,
    pub reply_to: Vec<Mailbox>,
}

impl Addresses {
    /// Reads a mail; `sender` is that of the auth API's mails.
    pub(crate) fn new(message: &Message, sender: &MessageSender) -> Self {
        let recipients = message.recipients().map(|to| Mailbox { name: String::new(), address: to.to_owned() });
        let reply_to = message.mail.mailboxes("reply-to");
        if message.mail.sender.is_none() {
            let from = Mailbox { name: sender.name.clone(), address: message.from.clone() };
            return Self { from, to: recipients.collect(), reply_to, ..Self::default() };
        }
        let (to, cc) = (message.mail.mailboxes("to"), message.mail.mailboxes("cc"));
        let is_named = |recipient: &Mailbox| {
            to.iter().chain(&cc).any(|named| named.address.eq_ignore_ascii_case(&recipient.address))
        };
        let bcc = recipients.filter(|recipient| !is_named(recipient)).collect();
        let from = message.mail.mailboxes("from").into_iter().next();
        let from = from.unwrap_or_else(|| Mailbox { name: String::new(), address: message.from.clone() });
        Self { from, to, cc, bcc, reply_to }
    }

    /// Returns all mailboxes.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Mailbox> {
        [&self.from].into_iter().chain(&self.to).chain(&self.cc).chain(&self.bcc).chain(&self.reply_to)
    }
}

/// Reads the stored headers of a mail.
pub(crate) trait StoredHeaders {
    /// Returns the first value of a header; empty if there is none.
    fn header(&self, wanted: &str) -> &str;
    /// Returns the mailboxes of all headers of this name.
    fn mailboxes(&self, wanted: &str) -> Vec<Mailbox>;
}

impl StoredHeaders for platform::mail::inbox::InboxMail {
    fn header(&self, wanted: &str) -> &str {
        let found = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map_or("", |(_, value)| value)
    }

    fn mailboxes(&self, wanted: &str) -> Vec<Mailbox> {
        let values = self.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        values.flat_map(|(_, value)| Mailbox::parse_list(value)).collect()
    }
}
