//! Computations on texts: parts, cases, digits, encodings, hashes.

use aws_lc_rs::digest;
use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Value, json};

use super::arguments::Arguments;
use crate::FlowError;
use crate::expressions::as_text;
use crate::symbols::decode_base64url;
use crate::text::{format_pairs, parse_pairs, split_origin, split_url};

/// Padding is optional in texts that are decoded.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// Answers a computation; `None` if the name is not one.
pub(super) fn call(name: &str, arguments: &Value) -> Result<Option<Value>, FlowError> {
    let of = Arguments::new(name, arguments);
    Ok(Some(match name {
        "split" => split(&of)?,
        "split_last" => split_last(&of)?,
        "lines" => of.text(0)?.lines().map(Value::from).collect(),
        "join" => of.list(1)?.iter().map(as_text).collect::<Vec<_>>().join(of.text(0)?).into(),
        "replaced" => of.text(0)?.replace(of.text(1)?, of.text(2)?).into(),
        "upper" => of.text(0)?.to_uppercase().into(),
        "lower" => of.text(0)?.to_lowercase().into(),
        "trimmed" => of.text(0)?.trim().into(),
        "trimmed_end" => of.text(0)?.trim_end_matches(|each| of.text(1).is_ok_and(|set| set.contains(each))).into(),
        "without_start" => of.text(0)?.strip_prefix(of.text(1)?).unwrap_or(of.text(0)?).into(),
        "begins" => of.text(0)?.starts_with(of.text(1)?).into(),
        "ends" => of.text(0)?.ends_with(of.text(1)?).into(),
        "position" => position(of.text(0)?, of.text(1)?).into(),
        "part" => part(&of)?,
        "text_of" => as_text(of.any(0)?).into(),
        "digits" => find_digits(&of)?,
        "digits_replaced" => replace_digits(&of)?,
        "unquoted" => percent_encoding::percent_decode_str(of.text(0)?).decode_utf8_lossy().into(),
        "quoted" => crate::text::encode(of.text(0)?).into(),
        "url_parts" => url_parts(of.text(0)?),
        "pairs" => parse_pairs(of.text(0)?)
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| json!([name, value]))
            .collect(),
        "as_base64" => base64_of(&of, false)?,
        "as_base64url" => base64_of(&of, true)?,
        "from_base64" => {
            latin(&GeneralPurpose::new(&STANDARD, LENIENT).decode(of.text(0)?).map_err(|_| of.wanted("[base64]"))?)
        }
        "from_base64url" => latin(&decode_base64url(of.text(0)?).ok_or_else(|| of.wanted("[base64url]"))?),
        "as_utf8" => latin(of.text(0)?.as_bytes()),
        "from_utf8" => String::from_utf8_lossy(&bytes(of.text(0)?)).into(),
        "hex" => hex::encode(bytes(of.text(0)?)).into(),
        "sha224" => hex::encode(digest::digest(&digest::SHA224, &bytes(of.text(0)?)).as_ref()).into(),
        "sha256_hex" => hex::encode(digest::digest(&digest::SHA256, &bytes(of.text(0)?)).as_ref()).into(),
        "from_json" => serde_json::from_str(of.text(0)?).map_err(|_| of.wanted("[text of JSON]"))?,
        "hashes_and_codes_hidden" => {
            hide_codes(&hide_hashes(of.text(0)?.replace("\r\n", "\n").trim_end_matches('\n'))).into()
        }
        "padded" => format!("{:0>1$}", of.text(0)?, of.size(1)?).into(),
        "split_around_last" => match of.text(0)?.rsplit_once(of.text(1)?) {
            Some((before, behind)) => json!([before, of.text(1)?, behind]),
            None => json!(["", "", of.text(0)?]),
        },
        "byte" => bytes(of.text(0)?).get(of.size(1)?).copied().ok_or_else(|| of.wanted("[bytes, place]"))?.into(),
        "query" => query(&of)?,
        _ => return Ok(None),
    }))
}

/// Bytes as a text of Latin-1.
pub(super) fn latin(bytes: &[u8]) -> Value {
    bytes.iter().copied().map(char::from).collect::<String>().into()
}

/// The bytes of a text of Latin-1; of other texts those of UTF-8.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    let narrow: Option<Vec<u8>> = text.chars().map(|each| u8::try_from(u32::from(each)).ok()).collect();
    narrow.unwrap_or_else(|| text.as_bytes().to_vec())
}

fn base64_of(of: &Arguments<'_>, is_url: bool) -> Result<Value, FlowError> {
    let alphabet = if is_url { &URL_SAFE } else { &STANDARD };
    let config = GeneralPurposeConfig::new().with_encode_padding(!is_url);
    Ok(GeneralPurpose::new(alphabet, config).encode(bytes(of.text(0)?)).into())
}

/// An object as a query or form.
fn query(of: &Arguments<'_>) -> Result<Value, FlowError> {
    let members = of.any(0)?.as_object().ok_or_else(|| of.wanted("[{name: text}]"))?;
    let pairs: Vec<(&str, String)> =
        members.iter().map(|(name, value)| (name.as_str(), as_text(value).into_owned())).collect();
    Ok(format_pairs(pairs.iter().map(|(name, value)| (*name, value.as_str()))).into())
}

fn split(of: &Arguments<'_>) -> Result<Value, FlowError> {
    let (text, by) = (of.text(0)?, of.text(1)?);
    Ok(match of.any(2).ok().and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok()) {
        Some(most) => text.splitn(most + 1, by).map(Value::from).collect(),
        None => text.split(by).map(Value::from).collect(),
    })
}

fn split_last(of: &Arguments<'_>) -> Result<Value, FlowError> {
    let most =
        of.any(2).ok().and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX - 1);
    let mut parts: Vec<Value> = of.text(0)?.rsplitn(most + 1, of.text(1)?).map(Value::from).collect();
    parts.reverse();
    Ok(Value::Array(parts))
}

/// The position of a part in characters, -1 if it does not occur.
fn position(text: &str, part: &str) -> i64 {
    text.find(part).map_or(-1, |at| i64::try_from(text[..at].chars().count()).unwrap_or(i64::MAX))
}

/// A part of a text or list: from, to and step, each a number or null.
///
/// Negative ones count from the end.
fn part(of: &Arguments<'_>) -> Result<Value, FlowError> {
    let items: Vec<Value> = match of.any(0)? {
        Value::Array(items) => items.clone(),
        Value::String(text) => text.chars().map(|each| each.to_string().into()).collect(),
        _ => return Err(of.wanted("[text or list, [from, to, step]]")),
    };
    let bounds = of.list(1)?;
    if bounds.get(2).and_then(Value::as_i64) == Some(-1) {
        return Ok(joined(of.any(0)?, items.into_iter().rev().collect()));
    }
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let place = |at: usize, default: i64| {
        let wanted = bounds.get(at).and_then(Value::as_i64).unwrap_or(default);
        usize::try_from((if wanted < 0 { wanted + length } else { wanted }).clamp(0, length)).unwrap_or_default()
    };
    let (from, to) = (place(0, 0), place(1, length));
    Ok(joined(of.any(0)?, items.get(from..to.max(from)).unwrap_or_default().to_vec()))
}

fn joined(of: &Value, items: Vec<Value>) -> Value {
    if of.is_string() { items.iter().map(as_text).collect::<String>().into() } else { Value::Array(items) }
}

/// Finds the first run of digits of a least and most length; the text is cut where the run is longer.
fn find_digits(of: &Arguments<'_>) -> Result<Value, FlowError> {
    let (least, most) = (of.size(1)?, of.size(2)?);
    Ok(digit_runs(of.text(0)?, least, most)
        .into_iter()
        .next()
        .map_or(Value::Null, |(from, to)| of.text(0).unwrap_or_default()[from..to].into()))
}

/// Replaces runs of digits by a text, in which `#` is their number.
fn replace_digits(of: &Arguments<'_>) -> Result<Value, FlowError> {
    let (text, least, most, by) = (of.text(0)?, of.size(1)?, of.size(2)?, of.text(3)?);
    let mut replaced = String::new();
    let mut end = 0;
    for (from, to) in digit_runs(text, least, most) {
        replaced.push_str(&text[end..from]);
        replaced.push_str(&by.replace('#', &(to - from).to_string()));
        end = to;
    }
    replaced.push_str(&text[end..]);
    Ok(replaced.into())
}

/// Runs of digits as a greedy search finds them: a longer run is cut into pieces.
pub(super) fn digit_runs(text: &str, least: usize, most: usize) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut runs = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if length >= least.max(1) {
            runs.push((at, at + length));
        }
        at += length.max(1);
    }
    runs
}

/// Replaces hashes of mailed tokens by `<hash>` or `<pkce_hash>`.
fn hide_hashes(text: &str) -> String {
    const LENGTH: usize = 56;
    let mut shown = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (prefix, body) = rest.strip_prefix("pkce_").map_or(("", rest), |body| ("pkce_", body));
        let is_hash =
            body.len() >= LENGTH && body.bytes().take(LENGTH).all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hash {
            shown.push('<');
            shown.push_str(prefix);
            shown.push_str("hash>");
            rest = &body[LENGTH..];
        } else {
            shown.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    shown
}

/// Replaces codes of six digits by `<code>`.
///
/// A digit, `@` or `:` before them makes them part of something else.
fn hide_codes(text: &str) -> String {
    let mut shown = String::new();
    let mut end = 0;
    let bytes = text.as_bytes();
    for (from, to) in digit_runs(text, 6, usize::MAX) {
        let is_separate = from == 0 || !matches!(bytes[from - 1], b'@' | b':');
        if to - from == 6 && is_separate {
            shown.push_str(&text[end..from]);
            shown.push_str("<code>");
            end = to;
        }
    }
    shown.push_str(&text[end..]);
    shown
}

/// The parts of a URL: scheme, netloc, path, query and fragment.
fn url_parts(text: &str) -> Value {
    let parts = split_url(text);
    let (origin, path) = split_origin(parts.base).unwrap_or(("", parts.base));
    let (scheme, host) = origin.split_once("://").unwrap_or_default();
    json!({ "scheme": scheme, "netloc": host, "path": path, "query": parts.query, "fragment": parts.fragment })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn compute(name: &str, arguments: &Value) -> Value {
        call(name, arguments).expect("the arguments fit").expect("the name is known")
    }

    #[test]
    fn parts_are_cut_as_slices_are() {
        assert_eq!(compute("part", &json!(["abcdef", [null, 2, null]])), "ab");
        assert_eq!(compute("part", &json!(["abcdef", [-2, null, null]])), "ef");
        assert_eq!(compute("part", &json!(["abc", [null, null, -1]])), "cba");
        assert_eq!(compute("part", &json!([[1, 2, 3], [1, null, null]])), json!([2, 3]));
    }

    #[test]
    fn secrets_of_mails_are_hidden() {
        let hash = "a1".repeat(28);
        let text = format!("token pkce_{hash} and {hash}, code 123456, not 1234567 or :123456");
        assert_eq!(
            compute("hashes_and_codes_hidden", &json!([text])),
            "token <pkce_hash> and <hash>, code <code>, not 1234567 or :123456"
        );
    }

    #[test]
    fn digits_are_found_and_replaced() {
        assert_eq!(compute("digits", &json!(["your code is 123456.", 6, 10])), "123456");
        assert_eq!(compute("digits", &json!(["none", 6, 10])), Value::Null);
        assert_eq!(compute("digits_replaced", &json!(["a 123456 b", 6, 6, "<code>"])), "a <code> b");
    }

    proptest! {
        #[test]
        fn bytes_survive_base64(raw in prop::collection::vec(any::<u8>(), 0..80)) {
            let text = latin(&raw);
            for (encode, decode) in [("as_base64", "from_base64"), ("as_base64url", "from_base64url")] {
                prop_assert_eq!(compute(decode, &json!([compute(encode, &json!([text]))])), text.clone());
            }
        }

        #[test]
        fn any_part_of_any_text_exists(text in "\\PC{0,20}", from in -30_i64..30, to in -30_i64..30) {
            prop_assert!(compute("part", &json!([text, [from, to, null]])).is_string());
        }
    }
}
