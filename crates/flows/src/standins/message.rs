//! Reads mails (RFC 5322, RFC 2045, RFC 2047): headers, texts, links and codes.

use foundation::html::decode_references;
use mail_parser::parsers::MessageStream;
use mail_parser::{MessageParser, MessagePart, MimeHeaders};
use serde_json::{Value, json};

use super::texts::digit_runs;
use crate::text::{parse_pairs, split_url};

/// A mail as flows see it.
///
/// Its members are `to`, `sender`, `subject`, `headers`, `links`, `kinds`, `body`, `code` and `token_hash`.
pub(super) fn parse_mail(to: &str, raw: &[u8]) -> Value {
    let message = MessageParser::new().with_mime_headers().parse(raw).unwrap_or_default();
    let headers = message.parts.first().map_or(&[][..], MessagePart::headers).iter().map(|header| {
        let value = MessageStream::new(&raw[header.offset_start as usize..]).parse_unstructured();
        let name = header.name.as_str().to_ascii_lowercase();
        let shown = show_header(&name, value.as_text().unwrap_or_default());
        (name, shown)
    });
    let headers: Vec<(String, String)> = headers.collect();
    let find = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let texts = message.parts.iter().map(|part| (media_type(part), part.text_contents().unwrap_or_default()));
    let texts: Vec<(String, &str)> = texts.filter(|(kind, _)| kind.starts_with("text/")).collect();
    let body = texts.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n");
    let links = find_links(&body);
    let hash = links.first().and_then(|link| {
        let query = parse_pairs(split_url(link).query);
        let named = |wanted: &str| query.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
        named("token").or_else(|| named("token_hash"))
    });
    json!({
        "to": to,
        "sender": find("from"),
        "subject": find("subject"),
        "headers": headers,
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

/// The media type of a part, in lower case.
fn media_type(part: &MessagePart<'_>) -> String {
    let Some(kind) = part.content_type() else { return "text/plain".to_owned() };
    [kind.ctype(), "/", kind.subtype().unwrap_or_default()].concat()
}

/// The decoded value of a header.
///
/// Names of addresses have quotes only where they need them.
fn show_header(name: &str, decoded: &str) -> String {
    if !matches!(name, "from" | "to" | "reply-to" | "cc" | "sender") {
        return decoded.to_owned();
    }
    let Some((display, address)) = decoded.rsplit_once('<') else { return decoded.to_owned() };
    let display = display.trim().trim_matches('"').replace("\\\"", "\"");
    if display.is_empty() {
        return address.trim_end_matches('>').to_owned();
    }
    if display.contains(['(', ')', '<', '>', '@', ',', ':', ';', '.', '\\', '"', '[', ']']) {
        return format!("\"{}\" <{address}", display.replace('"', "\\\""));
    }
    format!("{display} <{address}")
}

/// The links of a text, their character references decoded.
fn find_links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("http") {
        rest = &rest[at..];
        let scheme = ["https://", "http://"].into_iter().find(|scheme| rest.starts_with(scheme)).map_or(0, str::len);
        let is_end = |each: char| each.is_whitespace() || matches!(each, '"' | '\'' | '<' | '>' | ')');
        let end = rest[scheme..].find(is_end).map_or(rest.len(), |end| scheme + end);
        if scheme > 0 && end > scheme {
            links.push(decode_references(&rest[..end]));
            rest = &rest[end..];
        } else {
            rest = &rest[4..];
        }
    }
    links
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

    #[test]
    fn encoded_names_are_shown_with_the_quotes_that_they_need() {
        let mail = parse_mail(
            "ann@example.com",
            b"From: =?utf-8?q?L=C3=A4den=2C_B=C3=BCro?= <Auth.Desk@example.com>\r\n\
              Reply-To: help@example.com\r\nX-Kind: auth/invite\r\nX-Many: one,\r\n two\r\n\
              Content-Type: text/html; charset=UTF-8\r\n\r\nHello\r\n",
        );
        assert_eq!(
            mail["headers"],
            json!([
                ["from", "\"Läden, Büro\" <Auth.Desk@example.com>"],
                ["reply-to", "help@example.com"],
                ["x-kind", "auth/invite"],
                ["x-many", "one, two"],
                ["content-type", "text/html; charset=UTF-8"],
            ])
        );
        assert_eq!(mail["body"], "Hello\r\n");
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
