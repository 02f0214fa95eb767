//! The state of an SMTP connection: bytes in, replies and mails out, without I/O.

use super::command::{Command, CommandError};
use super::data::MailData;
use crate::received::MAX_MAIL_BYTES;

/// The maximum number of bytes of a command line.
const MAX_LINE_BYTES: usize = 2048;
/// The maximum number of recipients of a mail.
const MAX_RECIPIENTS: usize = 100;
/// The maximum number of mails of a connection.
const MAX_MAILS: usize = 1000;
/// The number of wrong commands after which the connection is closed.
const MAX_ERRORS: usize = 10;

/// What the server does after received bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Sends a reply.
    Reply(String),
    /// Keeps a mail and replies whether it did.
    Keep(Envelope),
    /// Sends a reply and closes the connection.
    Close(String),
}

/// A received mail with the addresses of its commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Envelope {
    /// The sender; empty for a delivery report.
    pub from: String,
    pub recipients: Vec<String>,
    /// The mail in the format of RFC 5322.
    pub content: Vec<u8>,
}

/// The state of a connection.
#[derive(Debug, Default)]
pub struct Session {
    line: Vec<u8>,
    state: State,
    has_greeted: bool,
    envelope: Option<Envelope>,
    mails: usize,
    errors: usize,
    is_closed: bool,
}

/// What the next bytes are.
#[derive(Debug, Default)]
enum State {
    #[default]
    Command,
    /// So many lines of credentials are expected.
    Credentials(u8),
    Content(MailData),
}

impl Session {
    /// The first line of the server.
    pub const GREETING: &'static str = "220 localhost ESMTP Basalt\r\n";

    /// Takes received bytes and returns what to do, in this order.
    pub fn receive(&mut self, mut bytes: &[u8]) -> Vec<Effect> {
        let mut effects = Vec::new();
        while !bytes.is_empty() && !self.is_closed {
            let used = if let State::Content(data) = &mut self.state {
                let Some(used) = data.receive(bytes) else { return effects };
                effects.push(self.end_content());
                used
            } else {
                let used = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
                self.line.extend_from_slice(&bytes[..used]);
                effects.extend(self.take_line());
                used
            };
            self.is_closed |= matches!(effects.last(), Some(Effect::Close(_)));
            bytes = &bytes[used..];
        }
        effects
    }

    fn end_content(&mut self) -> Effect {
        let envelope = self.envelope.take().unwrap_or_default();
        self.mails += 1;
        match std::mem::take(&mut self.state) {
            State::Content(data) => match data.into_content() {
                Some(content) => Effect::Keep(Envelope { content, ..envelope }),
                None => reply("552 5.3.4 the mail is larger than 10 MB"),
            },
            _ => reply("503 5.5.1 send DATA first"),
        }
    }

    /// Handles a line if it is complete.
    fn take_line(&mut self) -> Option<Effect> {
        if self.line.len() > MAX_LINE_BYTES {
            return Some(close("500 5.5.2 the line is too long"));
        }
        let is_complete = self.line.ends_with(b"\n");
        let line = std::mem::take(&mut self.line);
        if !is_complete {
            self.line = line;
            return None;
        }
        // A bare LF ends no line (RFC 5321 §2.3.8).
        let Some(line) = line.strip_suffix(b"\r\n") else { return Some(self.refuse(CommandError::Unknown)) };
        if let State::Credentials(lines) = self.state {
            return Some(self.take_credentials(lines, line));
        }
        Some(match Command::parse(line) {
            Ok(command) => self.answer(command),
            Err(error) => self.refuse(error),
        })
    }

    fn take_credentials(&mut self, lines: u8, line: &[u8]) -> Effect {
        if line == b"*" {
            self.state = State::Command;
            return reply("501 5.7.0 authentication cancelled");
        }
        match lines {
            0 | 1 => {
                self.state = State::Command;
                reply("235 2.7.0 any credentials are accepted")
            }
            _ => {
                self.state = State::Credentials(lines - 1);
                reply("334 UGFzc3dvcmQ6")
            }
        }
    }

    fn refuse(&mut self, error: CommandError) -> Effect {
        self.errors += 1;
        if error == CommandError::Http || self.errors >= MAX_ERRORS {
            return close(&error.to_string());
        }
        reply(&error.to_string())
    }

    fn answer(&mut self, command: Command) -> Effect {
        match command {
            Command::Hello { is_extended } => {
                self.has_greeted = true;
                self.envelope = None;
                if is_extended {
                    reply(&format!(
                        "250-localhost\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250-ENHANCEDSTATUSCODES\r\n\
                         250-AUTH PLAIN LOGIN\r\n250 SIZE {MAX_MAIL_BYTES}"
                    ))
                } else {
                    reply("250 localhost")
                }
            }
            Command::Mail { from, size } => self.begin_mail(from, size),
            Command::Recipient(to) => self.add_recipient(to),
            Command::Data => match &self.envelope {
                Some(envelope) if !envelope.recipients.is_empty() => {
                    self.state = State::Content(MailData::new(MAX_MAIL_BYTES));
                    reply("354 end the mail with a dot in a line of its own")
                }
                _ => reply("503 5.5.1 send MAIL and RCPT first"),
            },
            Command::AuthPlain { is_continued } => self.begin_credentials(is_continued.then_some(1), "334 "),
            Command::AuthLogin { is_continued: true } => self.begin_credentials(Some(2), "334 VXNlcm5hbWU6"),
            Command::AuthLogin { is_continued: false } => self.begin_credentials(Some(1), "334 UGFzc3dvcmQ6"),
            Command::Reset => {
                self.envelope = None;
                reply("250 2.0.0 reset")
            }
            Command::Noop => reply("250 2.0.0 nothing done"),
            Command::Verify => reply("252 2.1.5 every address is accepted"),
            Command::Quit => close("221 2.0.0 closing"),
        }
    }

    fn begin_credentials(&mut self, lines: Option<u8>, question: &str) -> Effect {
        let Some(lines) = lines else { return reply("235 2.7.0 any credentials are accepted") };
        self.state = State::Credentials(lines);
        reply(question)
    }

    fn begin_mail(&mut self, from: String, size: Option<usize>) -> Effect {
        if !self.has_greeted {
            return reply("503 5.5.1 send EHLO first");
        }
        if self.envelope.is_some() {
            return reply("503 5.5.1 a mail is already begun; send RSET to begin another one");
        }
        if size.is_some_and(|size| size > MAX_MAIL_BYTES) {
            return reply("552 5.3.4 the mail is larger than 10 MB");
        }
        if self.mails >= MAX_MAILS {
            return close("421 4.5.3 too many mails in one connection");
        }
        self.envelope = Some(Envelope { from, ..Envelope::default() });
        reply("250 2.1.0 sender accepted")
    }

    fn add_recipient(&mut self, to: String) -> Effect {
        let Some(envelope) = &mut self.envelope else { return reply("503 5.5.1 send MAIL first") };
        if envelope.recipients.len() >= MAX_RECIPIENTS {
            return reply("452 4.5.3 a mail has at most 100 recipients");
        }
        if !envelope.recipients.contains(&to) {
            envelope.recipients.push(to);
        }
        reply("250 2.1.5 recipient accepted")
    }
}

fn reply(text: &str) -> Effect {
    Effect::Reply(format!("{text}\r\n"))
}

fn close(text: &str) -> Effect {
    Effect::Close(format!("{text}\r\n"))
}
