//! Parses mails (RFC 5322 and MIME, RFC 2045–2047): any bytes give headers, bodies and attachments.
//!
//! Nesting, parts and headers are limited; what lies beyond the limits is left out.

mod encoding;
mod header;

use crate::message::Message;

use self::encoding::{decode_body, decode_charset};
use self::header::{HeaderParameters, decode_words, split_headers};

pub use self::header::Mailbox;

/// The maximum depth of nested parts.
const MAX_DEPTH: usize = 8;
/// The maximum number of parts.
const MAX_PARTS: usize = 100;

/// A parsed mail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedMail {
    /// Names and decoded values in their order.
    pub headers: Vec<(String, String)>,
    /// The plain text, if there is one.
    pub text: Option<String>,
    /// The HTML; empty if there is none.
    pub html: String,
    /// The other parts.
    pub attachments: Vec<Attachment>,
}

/// A part of a mail that is not its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attachment {
    /// The name of the file; `part-<n>` if it has none.
    pub name: String,
    /// The media type.
    pub content_type: String,
    /// The `Content-ID` without brackets; empty if there is none.
    pub content_id: String,
    /// Whether the HTML shows it.
    pub is_inline: bool,
    /// The decoded content.
    pub content: Vec<u8>,
}

impl ParsedMail {
    /// Parses a mail.
    pub fn parse(raw: &[u8]) -> Self {
        let mut mail = Self::default();
        let (headers, body) = split_headers(raw);
        let mut parts = 0;
        mail.add_part(&headers, body, 0, &mut parts);
        mail.headers = headers.into_iter().map(|(name, value)| (name, decode_words(&value))).collect();
        mail
    }

    /// Returns the first value of a header, case-insensitively; empty if there is none.
    pub fn header(&self, wanted: &str) -> &str {
        find(&self.headers, wanted)
    }

    /// Returns the mailboxes of all headers of this name, such as `To`.
    pub fn mailboxes(&self, wanted: &str) -> Vec<Mailbox> {
        let values = self.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        values.flat_map(|(_, value)| Mailbox::parse_list(value)).collect()
    }

    fn add_part(&mut self, headers: &[(String, String)], body: &[u8], depth: usize, parts: &mut usize) {
        *parts += 1;
        if *parts > MAX_PARTS {
            return;
        }
        let content_type = HeaderParameters::parse(find(headers, "content-type"));
        if content_type.value.starts_with("multipart/") && depth < MAX_DEPTH {
            for part in split_multipart(body, content_type.get("boundary")) {
                let (headers, body) = split_headers(part);
                self.add_part(&headers, body, depth + 1, parts);
            }
            return;
        }
        let content = decode_body(body, find(headers, "content-transfer-encoding"));
        let disposition = HeaderParameters::parse(find(headers, "content-disposition"));
        let name = [disposition.get("filename"), content_type.get("name")].into_iter().find(|name| !name.is_empty());
        if disposition.value != "attachment" && name.is_none() {
            let text = || decode_charset(&content, content_type.get("charset"));
            match content_type.value.as_str() {
                "" | "text/plain" if self.text.is_none() => return self.text = Some(text()),
                "text/html" if self.html.is_empty() => return self.html = text(),
                _ => {}
            }
        }
        let content_id = find(headers, "content-id").trim_matches(['<', '>', ' ']).to_owned();
        let number = self.attachments.len() + 1;
        self.attachments.push(Attachment {
            name: name.map_or_else(|| format!("part-{number}"), decode_words),
            content_type: match content_type.value.as_str() {
                "" => "application/octet-stream".to_owned(),
                kind => kind.to_owned(),
            },
            is_inline: disposition.value == "inline" || (!content_id.is_empty() && disposition.value.is_empty()),
            content_id,
            content,
        });
    }
}

/// Returns the first value of a header; empty if there is none.
fn find<'a>(headers: &'a [(String, String)], wanted: &str) -> &'a str {
    headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map_or("", |(_, value)| value)
}

/// Returns the parts between the delimiter lines of a boundary (RFC 2046 §5.1.1).
fn split_multipart<'a>(body: &'a [u8], boundary: &str) -> Vec<&'a [u8]> {
    if boundary.is_empty() {
        return Vec::new();
    }
    let delimiter = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut start: Option<usize> = None;
    let mut at = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let trimmed = line.trim_ascii_end();
        if let Some(rest) = trimmed.strip_prefix(delimiter.as_bytes())
            && (rest.is_empty() || rest == b"--")
        {
            if let Some(start) = start {
                parts.push(without_line_end(&body[start..at]));
            }
            start = (rest.is_empty() && parts.len() < MAX_PARTS).then_some(at + line.len());
            if start.is_none() {
                return parts;
            }
        }
        at += line.len();
    }
    // The closing delimiter is missing.
    parts.extend(start.map(|start| &body[start..]));
    parts
}

/// Returns a part without the line end that belongs to the delimiter after it.
fn without_line_end(part: &[u8]) -> &[u8] {
    let part = part.strip_suffix(b"\n").unwrap_or(part);
    part.strip_suffix(b"\r").unwrap_or(part)
}

/// Formats a message that was never a mail, such as an SMS.
pub(crate) fn format_sms(message: &Message) -> Vec<u8> {
    let header = |text: &str| text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    let lines: Vec<&str> = message.text.lines().collect();
    format!(
        "Date: {}\r\nTo: {}\r\nMessage-ID: <{}>\r\nMIME-Version: 1.0\r\n\
         Content-Type: text/plain; charset=\"UTF-8\"\r\nContent-Transfer-Encoding: 8bit\r\n\r\n{}\r\n",
        message.at.to_rfc2822(),
        header(&message.to),
        header(&message.mail.message_id),
        lines.join("\r\n"),
    )
    .into_bytes()
}
