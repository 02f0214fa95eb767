//! Parses mails (RFC 5322 and MIME, RFC 2045–2047): any bytes give headers, bodies and attachments.
//!
//! Parts and headers are limited; what lies beyond the limits is left out.
//!
//! `mail-parser` finds headers and parts. Contents are decoded from their bytes in the mail: the parser drops the end of
//! Base64 without padding, and converts attachments of text to UTF-8.

use std::borrow::Cow;

use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::parsers::MessageStream;
use mail_parser::{Address, ContentType, Encoding, Header, MessageParser, MessagePart, MimeHeaders};

use crate::message::Message;

/// The maximum number of headers.
const MAX_HEADERS: usize = 200;
/// The maximum number of parts that are not made of parts.
const MAX_PARTS: usize = 100;
/// The maximum number of words `boundary`, each of which may let the parser search the rest of the mail.
const MAX_BOUNDARIES: usize = 200;

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
        let raw = limit_boundaries(raw);
        let parsed = MessageParser::new().with_mime_headers().parse(raw);
        let Some(message) = parsed.filter(|message| !message.headers().is_empty()) else {
            return Self { text: Some(decode_text(raw, None)), ..Self::default() };
        };
        let headers = message.headers().iter().take(MAX_HEADERS);
        let mut mail = Self { headers: headers.map(|header| decode_header(raw, header)).collect(), ..Self::default() };
        for part in message.parts.iter().filter(|part| !part.is_multipart()).take(MAX_PARTS) {
            mail.add_part(raw, part);
        }
        mail
    }

    /// Returns the first value of a header, case-insensitively; empty if there is none.
    pub fn header(&self, wanted: &str) -> &str {
        self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map_or("", |(_, value)| value)
    }

    /// Returns the mailboxes of all headers of this name, such as `To`.
    pub fn mailboxes(&self, wanted: &str) -> Vec<Mailbox> {
        let values = self.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        values.flat_map(|(_, value)| Mailbox::parse_list(value)).collect()
    }

    fn add_part(&mut self, raw: &[u8], part: &MessagePart<'_>) {
        let content = decode_content(raw, part);
        let kind = part.content_type();
        let content_type = kind.map(format_media_type).unwrap_or_default();
        let disposition = part.content_disposition().map_or("", ContentType::ctype);
        let name = part.attachment_name();
        if disposition != "attachment" && name.is_none() {
            let text = || decode_text(&content, kind.and_then(|kind| kind.attribute("charset")));
            match content_type.as_str() {
                "" | "text/plain" if self.text.is_none() => return self.text = Some(text()),
                "text/html" if self.html.is_empty() => return self.html = text(),
                _ => {}
            }
        }
        let content_id = part.content_id().unwrap_or_default().to_owned();
        self.attachments.push(Attachment {
            name: name.map_or_else(|| format!("part-{}", self.attachments.len() + 1), without_nul),
            is_inline: disposition == "inline" || (!content_id.is_empty() && disposition.is_empty()),
            content_type: if content_type.is_empty() { "application/octet-stream".to_owned() } else { content_type },
            content_id,
            content: content.into_owned(),
        });
    }
}

fn limit_boundaries(raw: &[u8]) -> &[u8] {
    let word = b"boundary";
    let found = raw.windows(word.len()).enumerate().filter(|(_, window)| window.eq_ignore_ascii_case(word));
    found.map(|(at, _)| at).nth(MAX_BOUNDARIES).map_or(raw, |at| &raw[..at])
}

fn format_media_type(kind: &ContentType<'_>) -> String {
    kind.subtype().map_or_else(|| kind.ctype().to_owned(), |subtype| format!("{}/{subtype}", kind.ctype()))
}

/// Returns the name of a header as it is written, and its decoded text.
fn decode_header(raw: &[u8], header: &Header<'_>) -> (String, String) {
    let bytes = |from: u32, to: usize| raw.get(from as usize..to).unwrap_or_default();
    let name = String::from_utf8_lossy(bytes(header.offset_field, header.offset_start as usize));
    let value = MessageStream::new(bytes(header.offset_start, raw.len())).parse_unstructured();
    let name = name.trim_matches(|each: char| each == ':' || each.is_whitespace());
    (without_nul(name), without_nul(value.as_text().unwrap_or_default()))
}

/// Decodes the content of a part; one that its `Content-Transfer-Encoding` does not fit stays as it is.
fn decode_content<'a>(raw: &'a [u8], part: &MessagePart<'_>) -> Cow<'a, [u8]> {
    let body = raw.get(part.raw_body_offset() as usize..part.raw_end_offset() as usize).unwrap_or_default();
    let decoded = match part.encoding {
        Encoding::None => None,
        Encoding::Base64 => base64_decode(body),
        Encoding::QuotedPrintable => quoted_printable_decode(body),
    };
    decoded.map_or(Cow::Borrowed(body), Cow::Owned)
}

/// Decodes text of a character set; of an unknown one as UTF-8, and of ASCII, which mails claim that have umlauts.
fn decode_text(bytes: &[u8], charset: Option<&str>) -> String {
    let decode = charset.filter(|charset| !charset.eq_ignore_ascii_case("us-ascii"));
    let decode = decode.and_then(|charset| charset_decoder(charset.as_bytes()));
    without_nul(&decode.map_or_else(|| String::from_utf8_lossy(bytes).into_owned(), |decode| decode(bytes)))
}

/// Leaves out the character that no text of PostgreSQL has.
fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}

/// An address with an optional name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mailbox {
    /// The name; empty if there is none.
    pub name: String,
    pub address: String,
}

impl Mailbox {
    /// Parses a list of mailboxes separated by commas; entries without an address are left out.
    pub fn parse_list(text: &str) -> Vec<Self> {
        let line = text.replace(['\r', '\n'], " ") + "\n";
        let parsed = MessageStream::new(line.as_bytes()).parse_address();
        let parsed = parsed.as_address().into_iter().flat_map(Address::iter);
        let mailboxes = parsed.map(|mailbox| Self {
            name: mailbox.name().unwrap_or_default().trim().to_owned(),
            address: mailbox.address().unwrap_or_default().to_owned(),
        });
        let is_address = |text: &str| text.contains('@') && !text.contains(char::is_whitespace);
        mailboxes.filter(|mailbox| is_address(&mailbox.address)).collect()
    }
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
