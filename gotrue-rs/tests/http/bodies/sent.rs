//! Generates bodies from almost valid to malformed.
//!
//! Values are JSON texts, since many of them cannot be represented by a parsed value: numbers out of range, lone
//! surrogates, duplicate members.

use std::fmt;

use http::HeaderValue;
use http::header::HeaderName;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::usual::valid_body;

/// A body, what it claims to be, and what stands beside it.
#[derive(Clone, Default)]
pub(super) struct RequestBody {
    pub content_type: &'static str,
    pub body: Vec<u8>,
    pub query: String,
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// Both ends of what was sent, in letters that any log can hold.
impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} bytes: ", self.content_type, self.body.len())?;
        let (beginning, rest) = self.body.split_at(self.body.len().min(1000));
        let end = &rest[rest.len().saturating_sub(1000)..];
        let gap = if end.len() < rest.len() { " … " } else { "" };
        write!(f, "{}{gap}{}", beginning.escape_ascii(), end.escape_ascii())?;
        write!(f, "\nquery {:?}, headers {:?}", self.query, self.headers)
    }
}

impl fmt::Display for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl RequestBody {
    pub(super) fn json(text: impl Into<Vec<u8>>) -> Self {
        Self { content_type: "application/json", body: text.into(), ..Self::default() }
    }

    /// The same with a place filled in, where it is text.
    pub(super) fn with(self, place: &str, text: &str) -> Self {
        match String::from_utf8(self.body) {
            Ok(body) => Self { body: body.replace(place, text).into_bytes(), ..self },
            Err(bytes) => Self { body: bytes.into_bytes(), ..self },
        }
    }
}

/// Bodies for a route that reads these members.
pub(super) fn arbitrary_bodies(members: &[String]) -> impl Strategy<Value = RequestBody> + use<> {
    let known: Vec<String> = if members.is_empty() { vec!["email".to_owned()] } else { members.to_vec() };
    let some = |share: f64| {
        let members: Vec<_> =
            known.iter().map(|name| prop::option::weighted(share, mutated_object(name.clone()))).collect();
        members.prop_map(|members| RequestBody::json(object(members.into_iter().flatten())))
    };
    let (most, half, few) = (some(0.85), some(0.5), some(0.2));
    let of_any = select(known).prop_flat_map(|name| prop_oneof![hostile_value(&name), mutated_object(name)]);
    let parts = prop::collection::vec(of_any, 0..6).prop_map(object);
    prop_oneof![
        4 => most,
        4 => half,
        4 => few,
        6 => parts.prop_map(RequestBody::json),
        2 => value().prop_map(RequestBody::json),
        2 => broken_json(),
        1 => form(),
    ]
}

fn object(members: impl IntoIterator<Item = String>) -> String {
    format!("{{{}}}", members.into_iter().collect::<Vec<_>>().join(","))
}

/// A member with a value that it may well have; now and then with another.
fn mutated_object(name: String) -> BoxedStrategy<String> {
    let usual = select(valid_body(&name).to_vec()).prop_map(str::to_owned);
    let value = prop_oneof![12 => usual, 1 => Just("null".to_owned()), 2 => value()];
    value.prop_map(move |value| format!("{}:{value}", json!(name))).boxed()
}

/// A member under a name in any letters, with any value.
fn hostile_value(name: &str) -> BoxedStrategy<String> {
    let names = prop_oneof![
        4 => Just(name.to_owned()),
        1 => Just(name.to_uppercase()),
        1 => Just(name.replace('s', "\u{17f}").replace('k', "\u{212a}")),
        1 => ".{0,8}",
    ];
    (names, value()).prop_map(|(name, value)| format!("{}:{value}", json!(name))).boxed()
}

/// Any value.
fn value() -> BoxedStrategy<String> {
    let odd = vec![
        "null",
        "true",
        "false",
        "0",
        "-0",
        "-1",
        "1.5",
        "1e400",
        "-1e999",
        "1e-400",
        "9007199254740993",
        "123456789012345678901234567890",
        "[]",
        "{}",
        "[[]]",
        "\"\"",
        "\" \"",
        "\"\\u0000\"",
        "\"a\\u0000b\"",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"\\uffff\"",
        "\"\u{202e}moc.elpmaxe@nna\"",
        "\"'; DROP TABLE users; --\"",
        "\"{{ .Token }}\"",
        "\"%s%n%x\"",
        "\"../../../etc/passwd\"",
        "\"\\r\\nBcc: eve@example.com\"",
        "\"javascript:0\"",
        "\"null\"",
        "\"00000000-0000-0000-0000-000000000000\"",
        "\"\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\"",
        "{\"\":\"\"}",
        "{\"a\\u0000\":1}",
        "{\"__proto__\":{\"a\":1}}",
        "{\"a\":1,\"a\":2}",
        "[null,1,\"x\",{}]",
    ];
    let long = (1..60_000_usize).prop_map(|length| json!("x".repeat(length)).to_string());
    let deep = (1..130_usize).prop_map(|depth| format!("{}1{}", "[".repeat(depth), "]".repeat(depth)));
    let leaf = prop_oneof![
        6 => select(odd).prop_map(str::to_owned),
        4 => "\\PC{0,40}".prop_map(|text| json!(text).to_string()),
        2 => any::<String>().prop_map(|text| json!(text).to_string()),
        1 => any::<f64>().prop_map(|number| format!("{number:e}")),
        1 => any::<i64>().prop_map(|number| number.to_string()),
        1 => long,
        1 => deep,
    ];
    let nested = leaf.prop_recursive(3, 16, 4, |inner| {
        let members = prop::collection::vec((".{0,6}", inner.clone()), 0..4);
        let members =
            members.prop_map(|all| object(all.iter().map(|(name, value)| format!("{}:{value}", json!(name)))));
        prop_oneof![prop::collection::vec(inner, 0..4).prop_map(|all| format!("[{}]", all.join(","))), members]
    });
    nested.boxed()
}

/// What is no JSON.
fn broken_json() -> impl Strategy<Value = RequestBody> {
    let cut = (value(), any::<prop::sample::Index>()).prop_map(|(text, at)| {
        let text = format!("{{\"email\":{text}}}").into_bytes();
        text[..at.index(text.len())].to_vec()
    });
    let odd = vec![
        &b"\xef\xbb\xbf{}"[..],
        b"{\"email\":\"\xff\xfe@example.com\"}",
        b"{\"\xc3\":1}",
        b"\xed\xa0\x80",
        b"{}{}",
        b"{\"email\":\"a@example.com\"} x",
        b"{,}",
        b"{\"email\":}",
        b"nul",
        b"'x'",
        b"{email:1}",
        b"/**/{}",
        b"\x00",
    ];
    let deep = (100..20_000_usize).prop_map(|depth| "[{\"a\":".repeat(depth).into_bytes());
    let body = prop_oneof![
        3 => cut,
        3 => select(odd).prop_map(<[u8]>::to_vec),
        2 => prop::collection::vec(any::<u8>(), 0..200),
        1 => deep,
        1 => Just(Vec::new()),
    ];
    let kinds = vec!["application/json", "text/plain", "", "application/json; charset=utf-16"];
    (body, select(kinds)).prop_map(|(body, content_type)| RequestBody { content_type, body, ..RequestBody::default() })
}

/// A form: readers of JSON see nothing of it.
fn form() -> impl Strategy<Value = RequestBody> {
    let body =
        prop_oneof!["[a-z_]{1,9}=[a-z%@+&=;]{0,30}", "\\PC{0,60}", Just("%ff%fe=%00&%zz&grant_type=pkce".to_owned())];
    body.prop_map(|body| RequestBody { content_type: "application/x-www-form-urlencoded", ..RequestBody::json(body) })
}
