//! Composes the mail of a call of `POST /api/v1/send`.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::mailbox_request::AnswerError;
use crate::received::MAX_MAIL_BYTES;

/// The delimiter of parts; Base64 does not contain it.
const BOUNDARY: &str = "=_basalt_part";
/// The maximum number of recipients.
const MAX_RECIPIENTS: usize = 100;

/// Returns sender, recipients and the mail in the format of RFC 5322.
///
/// # Errors
/// The body is not that of the call.
pub(super) fn parse(body: &[u8]) -> Result<(String, Vec<String>, Vec<u8>), AnswerError> {
    let refuse = |reason: &str| AnswerError::bad_request(reason);
    let body: Value = serde_json::from_slice(body).map_err(|error| refuse(&format!("the body is no JSON: {error}")))?;
    let from = address(&body["From"]).ok_or_else(|| refuse("From has no valid Email"))?;
    let mut recipients = Vec::new();
    let mut head = format!("From: {}\r\n", mailbox(&body["From"], &from));
    for name in ["To", "Cc", "ReplyTo"] {
        let mut named = Vec::new();
        for entry in list(&body[name]) {
            let address = address(entry).ok_or_else(|| refuse(&format!("{name} has an invalid Email")))?;
            named.push(mailbox(entry, &address));
            recipients.extend((name != "ReplyTo").then_some(address));
        }
        if !named.is_empty() {
            let name = if name == "ReplyTo" { "Reply-To" } else { name };
            head.push_str(&format_header(name, &named.join(", ")));
        }
    }
    for entry in list(&body["Bcc"]) {
        let address = entry.as_str().and_then(valid_address).ok_or_else(|| refuse("Bcc has an invalid address"))?;
        recipients.push(address);
    }
    if recipients.is_empty() || recipients.len() > MAX_RECIPIENTS {
        return Err(refuse("give from 1 to 100 recipients in To, Cc and Bcc"));
    }
    head.push_str(&format_header("Subject", &encode_words(text(&body["Subject"]))));
    for (name, value) in body["Headers"].as_object().into_iter().flatten() {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(refuse("Headers has an invalid name"));
        }
        head.push_str(&format_header(name, &encode_words(text(value))));
    }
    head.push_str("MIME-Version: 1.0\r\n");
    let raw = add_parts(head, &body)?;
    if raw.len() > MAX_MAIL_BYTES {
        return Err(refuse("the mail is larger than 10 MB"));
    }
    Ok((from, recipients, raw.into_bytes()))
}

/// Appends the bodies and the attachments.
fn add_parts(mut mail: String, body: &Value) -> Result<String, AnswerError> {
    let _ = write!(mail, "Content-Type: multipart/mixed; boundary=\"{BOUNDARY}\"\r\n\r\n");
    for (name, kind) in [("Text", "plain"), ("HTML", "html")] {
        let content = text(&body[name]);
        if !content.is_empty() {
            let headers = format!("Content-Type: text/{kind}; charset=utf-8\r\n");
            add_part(&mut mail, &headers, content.as_bytes());
        }
    }
    for file in list(&body["Attachments"]) {
        let refuse = || AnswerError::bad_request("an attachment has no valid Content in Base64");
        let content = STANDARD.decode(text(&file["Content"])).map_err(|_| refuse())?;
        let kind = match text(&file["ContentType"]) {
            kind if kind.contains('/') && kind.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';') => kind,
            _ => "application/octet-stream",
        };
        let id = text(&file["ContentID"]);
        let disposition = if id.is_empty() { "attachment" } else { "inline" };
        let mut headers = format!("Content-Type: {kind}\r\n");
        let name = encode_words(text(&file["Filename"])).replace(['"', '\\'], "_");
        headers.push_str(&format_header("Content-Disposition", &format!("{disposition}; filename=\"{name}\"")));
        if !id.is_empty() {
            headers.push_str(&format_header("Content-ID", &format!("<{id}>")));
        }
        add_part(&mut mail, &headers, &content);
    }
    let _ = write!(mail, "--{BOUNDARY}--\r\n");
    Ok(mail)
}

fn add_part(mail: &mut String, headers: &str, content: &[u8]) {
    let _ = write!(mail, "--{BOUNDARY}\r\n{headers}Content-Transfer-Encoding: base64\r\n\r\n");
    for line in STANDARD.encode(content).as_bytes().chunks(76) {
        mail.push_str(&String::from_utf8_lossy(line));
        mail.push_str("\r\n");
    }
}

/// Formats a header; control characters become spaces, so that a value adds no header.
fn format_header(name: &str, value: &str) -> String {
    let value: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("{name}: {value}\r\n")
}

/// Encodes a text with other characters than ASCII (RFC 2047).
fn encode_words(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    format!("=?utf-8?B?{}?=", STANDARD.encode(text))
}

fn mailbox(entry: &Value, address: &str) -> String {
    match text(&entry["Name"]) {
        "" => address.to_owned(),
        name if name.is_ascii() => format!("\"{}\" <{address}>", name.replace(['"', '\\'], "")),
        name => format!("{} <{address}>", encode_words(name)),
    }
}

fn address(entry: &Value) -> Option<String> {
    valid_address(entry["Email"].as_str()?)
}

/// Returns an address without characters that end it in a header or a list.
fn valid_address(address: &str) -> Option<String> {
    let is_valid = |c: char| !c.is_control() && !c.is_whitespace() && !"<>,;\"".contains(c);
    let has_parts = address.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty());
    (has_parts && address.len() <= 320 && address.chars().all(is_valid)).then(|| address.to_owned())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
