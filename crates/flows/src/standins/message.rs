//! Reads mails (RFC 5322, RFC 2045, RFC 2047): headers, texts, links and codes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::texts::digit_runs;
use crate::text::{parse_pairs, split_url};

/// The deepest part inside of parts.
const MAX_DEPTH: usize = 8;

/// A mail as flows see it.
///
/// Its members are `to`, `sender`, `subject`, `headers`, `links`, `kinds`, `body`, `code` and `token_hash`.
pub(super) fn parse_mail(to: &str, raw: &[u8]) -> Value {
    let (headers, body) = split_head(raw);
    let mut texts = Vec::new();
    collect_texts(&headers, body, &mut texts, 0);
    let find = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| show_header(name, value));
    let body = texts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
    let links = find_links(&body);
    let hash = links.first().and_then(|link| {
        let query = parse_pairs(split_url(link).query);
        let named = |wanted: &str| query.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
        named("token").or_else(|| named("token_hash"))
    });
    let shown: Vec<Value> = headers.iter().map(|(name, value)| json!([name, show_header(name, value)])).collect();
    json!({
        "to": to,
        "sender": find("from"),
        "subject": find("subject"),
        "headers": shown,
        "links": links,
        "kinds": texts.iter().map(|(kind, _)| kind.as_str()).collect::<Vec<_>>(),
        "code": find_code(&body),
        "token_hash": hash,
        "body": body,
    })
}

/// The facts of a mail without its prose.
pub(super) fn mail_facts(mail: &Value) -> Value {
    let subject = mail["subject"].as_str().unwrap_or_default();
    let mut shown = String::new();
    let mut end = 0;
    for (from, to) in digit_runs(subject, 6, 10) {
        shown.push_str(&subject[end..from]);
        shown.extend(["<", &(to - from).to_string(), " digits>"]);
        end = to;
    }
    shown.push_str(&subject[end..]);
    json!({ "subject": shown, "links": mail["links"], "kinds": mail["kinds"], "code": mail["code"].is_string() })
}

/// Splits a mail or a part into its headers, unfolded and with names in lower case, and its body.
fn split_head(raw: &[u8]) -> (Vec<(String, String)>, &[u8]) {
    let mut headers: Vec<(String, String)> = Vec::new();
    let mut rest = raw;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        let (line, behind) = rest.split_at(end);
        rest = behind;
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            break;
        }
        match (line.starts_with([' ', '\t']), headers.last_mut(), line.split_once(':')) {
            (true, Some((_, value)), _) => value.push_str(line),
            (false, _, Some((name, value))) => headers.push((name.to_ascii_lowercase(), value.trim_start().to_owned())),
            _ => {}
        }
    }
    (headers, rest)
}

fn collect_texts(headers: &[(String, String)], body: &[u8], texts: &mut Vec<(String, String)>, depth: usize) {
    let header = |name: &str| headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str());
    let content_type = header("content-type");
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind.starts_with("multipart/") && depth < MAX_DEPTH {
        let Some(boundary) = parameter(content_type, "boundary") else { return };
        for part in split_parts(body, &boundary) {
            let (headers, body) = split_head(part);
            collect_texts(&headers, body, texts, depth + 1);
        }
    } else if kind.is_empty() || kind.starts_with("text/") {
        let decoded = match header("content-transfer-encoding").trim().to_ascii_lowercase().as_str() {
            "quoted-printable" => decode_quoted_printable(body),
            "base64" => {
                let text: Vec<u8> = body.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
                STANDARD.decode(text).unwrap_or_default()
            }
            _ => body.to_vec(),
        };
        let kind = if kind.is_empty() { "text/plain".to_owned() } else { kind };
        texts.push((kind, String::from_utf8_lossy(&decoded).into_owned()));
    }
}

fn parameter(header: &str, name: &str) -> Option<String> {
    header.split(';').skip(1).find_map(|part| {
        let (key, value) = part.trim().split_once('=')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim_matches('"').to_owned())
    })
}

/// The parts between boundaries, each without the line end before the next boundary.
fn split_parts<'a>(body: &'a [u8], boundary: &str) -> Vec<&'a [u8]> {
    let marker = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut start = None;
    let mut at = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(marker.as_bytes()) {
            if let Some(start) = start {
                let part = &body[start..at];
                let part = part.strip_suffix(b"\n").unwrap_or(part);
                parts.push(part.strip_suffix(b"\r").unwrap_or(part));
            }
            start = Some(at + line.len());
            if line[marker.len()..].starts_with(b"--") {
                break;
            }
        }
        at += line.len();
    }
    parts
}

fn decode_quoted_printable(body: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(body.len());
    let mut at = 0;
    while at < body.len() {
        let rest = &body[at..];
        if rest.starts_with(b"=\r\n") {
            at += 3;
        } else if rest.starts_with(b"=\n") {
            at += 2;
        } else if let Some(byte) = hex_pair(rest) {
            decoded.push(byte);
            at += 3;
        } else {
            decoded.push(body[at]);
            at += 1;
        }
    }
    decoded
}

fn hex_pair(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"=")?.get(..2)?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The value of a header with its encoded words decoded.
///
/// Names of addresses have quotes only where they need them.
fn show_header(name: &str, value: &str) -> String {
    let decoded = decode_words(value);
    if !matches!(name, "from" | "to" | "reply-to" | "cc" | "sender") {
        return decoded;
    }
    let Some((display, address)) = decoded.rsplit_once('<') else { return decoded };
    let display = display.trim().trim_matches('"').replace("\\\"", "\"");
    if display.is_empty() {
        return address.trim_end_matches('>').to_owned();
    }
    if display.contains(['(', ')', '<', '>', '@', ',', ':', ';', '.', '\\', '"', '[', ']']) {
        return format!("\"{}\" <{address}", display.replace('"', "\\\""));
    }
    format!("{display} <{address}")
}

/// Decodes words such as `=?utf-8?q?Sch=C3=B6n?=`; white space between two of them is dropped.
fn decode_words(value: &str) -> String {
    let mut decoded = String::new();
    let mut is_word_before = false;
    let mut rest = value;
    while let Some(at) = rest.find("=?") {
        let mut fields = rest[at + 2..].splitn(4, '?');
        let (charset, encoding, text) = (fields.next(), fields.next(), fields.next());
        let Some(behind) = fields.next().and_then(|behind| behind.strip_prefix('=')) else { break };
        let bytes = match (charset, encoding.map(str::to_ascii_lowercase).as_deref(), text) {
            (Some(_), Some("q"), Some(text)) => decode_quoted_printable(text.replace('_', " ").as_bytes()),
            (Some(_), Some("b"), Some(text)) => STANDARD.decode(text).unwrap_or_default(),
            _ => break,
        };
        if !(is_word_before && rest[..at].trim().is_empty()) {
            decoded.push_str(&rest[..at]);
        }
        decoded.push_str(&String::from_utf8_lossy(&bytes));
        is_word_before = true;
        rest = behind;
    }
    decoded.push_str(rest);
    decoded
}

/// The links of a text, without HTML entities.
fn find_links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("http") {
        rest = &rest[at..];
        let scheme = ["https://", "http://"].into_iter().find(|scheme| rest.starts_with(scheme)).map_or(0, str::len);
        let is_end = |each: char| each.is_whitespace() || matches!(each, '"' | '\'' | '<' | '>' | ')');
        let end = rest[scheme..].find(is_end).map_or(rest.len(), |end| scheme + end);
        if scheme > 0 && end > scheme {
            links.push(unescape(&rest[..end]));
            rest = &rest[end..];
        } else {
            rest = &rest[4..];
        }
    }
    links
}

fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = rest[1..].split_once(';').map(|(name, _)| name);
        let number =
            entity.and_then(|name| name.strip_prefix('#')).and_then(|number| match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok(),
                None => number.parse().ok(),
            });
        let decoded = match entity {
            Some("amp") => Some('&'),
            Some("lt") => Some('<'),
            Some("gt") => Some('>'),
            Some("quot") => Some('"'),
            Some("apos") => Some('\''),
            _ => number.and_then(char::from_u32),
        };
        let length = if let (Some(each), Some(name)) = (decoded, entity) {
            plain.push(each);
            name.len() + 2
        } else {
            plain.push('&');
            1
        };
        rest = &rest[length..];
    }
    plain + rest
}

/// The first lone run of 6 to 10 digits outside of links and tags.
fn find_code(body: &str) -> Option<String> {
    let mut words = String::new();
    for (number, word) in body.split("http").enumerate() {
        let is_link = number > 0 && (word.starts_with("://") || word.starts_with("s://"));
        let kept = if is_link { word.find(char::is_whitespace).map_or("", |end| &word[end..]) } else { word };
        words.push(' ');
        words.push_str(kept);
    }
    let mut plain = String::new();
    let mut rest = words.as_str();
    while let Some(at) = rest.find('<') {
        let Some(length) = rest[at..].find('>').filter(|length| *length > 1) else { break };
        plain.push_str(&rest[..at]);
        plain.push(' ');
        rest = &rest[at + length + 1..];
    }
    plain.push_str(rest);
    let runs = digit_runs(&plain, 6, usize::MAX);
    runs.into_iter().find(|(from, to)| to - from <= 10).map(|(from, to)| plain[from..to].to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn mail_with_two_texts_shows_links_and_code() {
        let mail = parse_mail(
            "ann@example.com",
            b"From: \"Replay\" <auth@example.com>\r\nSubject: =?utf-8?q?Sch=C3=B6n?= 123456\r\n\
              Content-Type: multipart/alternative;\r\n boundary=\"x\"\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\n\
              Code 654321 or http://h/verify?token=3Dabc\r\n--x\r\nContent-Type: text/html\r\n\
              Content-Transfer-Encoding: quoted-printable\r\n\r\n<a href=3D\"http://h/v?a=3D1&amp;b=3D2\">=\r\nGo</a>\r\n--x--\r\n",
        );
        assert_eq!(mail["sender"], "Replay <auth@example.com>");
        assert_eq!(mail["subject"], "Schön 123456");
        assert_eq!(mail["links"], json!(["http://h/verify?token=3Dabc", "http://h/v?a=1&b=2"]));
        assert_eq!(mail["kinds"], json!(["text/plain", "text/html"]));
        assert_eq!(mail["code"], "654321");
        assert_eq!(mail["token_hash"], "3Dabc");
        assert_eq!(mail_facts(&mail)["subject"], "Schön <6 digits>");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_as_a_mail(raw in prop::collection::vec(any::<u8>(), 0..300)) {
            let mail = parse_mail("ann@example.com", &raw);
            prop_assert!(mail["links"].is_array());
        }

        #[test]
        fn any_text_behind_a_head_is_read(text in "(Content-Type: multipart/x; boundary=b\r\n)?\r\n(--b|=\\?|&#|https?://|<|\\PC){0,40}") {
            prop_assert!(parse_mail("ann@example.com", text.as_bytes())["body"].is_string());
        }
    }
}
