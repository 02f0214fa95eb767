//! The body of a write or of a function call.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use bytes::Bytes;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::media_type::MediaType;
use super::parsec::show_literal;
use super::query::decode;
use super::tree::QueryParams;
use super::{Action, InvokeMethod, Mutation, Payload};
use crate::error::Error;

/// The deepest JSON value. The stack of PostgreSQL is exhausted by a few thousand levels.
const MAXIMUM_NESTING: usize = 1000;

/// Reads the body, where the action takes one, and the columns that it writes. Rows that are longer as JSON than in the body
/// have at most `maximum` bytes.
///
/// # Errors
/// `PGRST102`
pub fn parse(
    body: &Bytes,
    content_type: &MediaType,
    query: &QueryParams,
    action: &Action,
    maximum: usize,
) -> Result<(Option<Payload>, BTreeSet<String>), Error> {
    let (is_function, takes_columns) = match action {
        Action::Mutate { mutation: Mutation::Insert | Mutation::Update, .. } => (false, true),
        Action::Mutate { mutation: Mutation::SingleUpsert, .. } => (false, false),
        Action::Invoke { method: InvokeMethod::Post, .. } => (true, true),
        _ => return Ok((None, BTreeSet::new())),
    };
    let listed = query.columns.as_ref().filter(|_| takes_columns);
    if *content_type == MediaType::Json && exceeds_nesting(body) {
        let message = format!("The body is nested deeper than {MAXIMUM_NESTING} levels");
        return Err(Error::invalid_body(message));
    }
    let payload = match content_type {
        MediaType::Json if listed.is_some() => Payload::UnreadJson(body.clone()),
        MediaType::Json => parse_json(body, is_function)?,
        MediaType::Csv => parse_csv(body, maximum)?,
        MediaType::Form => parse_form(body, is_function)?,
        MediaType::Text | MediaType::Xml | MediaType::OctetStream if is_function => Payload::Raw(body.clone()),
        other => return Err(Error::invalid_body(format!("Content-Type not acceptable: {}", other.name()))),
    };
    let columns = match &payload {
        Payload::Json { keys, .. } | Payload::Form { keys, .. } => keys.clone(),
        Payload::UnreadJson(_) => listed.cloned().unwrap_or_default(),
        Payload::Raw(_) => BTreeSet::new(),
    };
    Ok((Some(payload), columns))
}

/// Whether arrays and objects are nested deeper than allowed.
fn exceeds_nesting(json: &[u8]) -> bool {
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_text,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => depth += 1,
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAXIMUM_NESTING {
            return true;
        }
    }
    false
}

/// An object, or an array of objects with equal keys. Everything else counts as an empty array.
fn parse_json(body: &Bytes, is_function: bool) -> Result<Payload, Error> {
    if body.is_empty() && is_function {
        return Ok(Payload::Json { raw: body.clone(), keys: BTreeSet::new() });
    }
    let invalid = || Error::invalid_body("Empty or invalid json");
    let text = std::str::from_utf8(body).map_err(|_| invalid())?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let shape = ShapeSeed.deserialize(&mut deserializer).map_err(|_| invalid())?;
    deserializer.end().map_err(|_| invalid())?;
    if has_lone_surrogate(text) {
        return Err(invalid());
    }
    match shape {
        Shape::Objects(keys) => Ok(Payload::Json { raw: body.clone(), keys }),
        Shape::Mixed => Err(Error::invalid_body("All object keys must match")),
        Shape::Nothing => Ok(no_rows()),
    }
}

/// Whether an escape of valid JSON is half of a pair (RFC 8259 §8.2). Values are not read otherwise.
fn has_lone_surrogate(json: &str) -> bool {
    fn unit(escape: &str) -> Option<u16> {
        u16::from_str_radix(escape.strip_prefix("\\u")?.get(..4)?, 16).ok()
    }
    let mut rest = json;
    while let Some(start) = rest.find('\\') {
        rest = &rest[start..];
        let length = match unit(rest) {
            Some(0xd800..=0xdbff) if matches!(unit(&rest[6..]), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => return true,
            Some(_) => 6,
            None => 2,
        };
        rest = &rest[length..];
    }
    false
}

fn no_rows() -> Payload {
    Payload::Json { raw: Bytes::from_static(b"[]"), keys: BTreeSet::new() }
}

/// What a JSON value inserts.
enum Shape {
    /// An object, or objects with equal keys.
    Objects(BTreeSet<String>),
    /// An array of other values, or objects with different keys.
    Mixed,
    /// An empty array or a scalar.
    Nothing,
}

/// Reads the shape of a value without keeping it.
struct ShapeSeed;

impl<'de> DeserializeSeed<'de> for ShapeSeed {
    type Value = Shape;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// The visits of all scalars, which hold no keys.
macro_rules! visit_scalars {
    ($value:expr, $($name:ident: $type:ty),*) => {
        $(fn $name<E: serde::de::Error>(self, _: $type) -> Result<Self::Value, E> {
            Ok($value)
        })*
        fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
}

impl<'de> Visitor<'de> for ShapeSeed {
    type Value = Shape;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    visit_scalars!(Shape::Nothing, visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            check_text(&key)?;
            keys.insert(key);
            map.next_value::<IgnoredAny>()?;
        }
        Ok(Shape::Objects(keys))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Shape, A::Error> {
        let mut keys = KnownKeys::default();
        let mut is_uniform = true;
        let mut is_empty = true;
        while let Some(matches) = sequence.next_element_seed(ObjectSeed { keys: &mut keys, is_first: is_empty })? {
            is_uniform &= matches;
            is_empty = false;
        }
        Ok(match (is_empty, is_uniform) {
            (true, _) => Shape::Nothing,
            (false, true) => Shape::Objects(keys.indices.into_keys().collect()),
            (false, false) => Shape::Mixed,
        })
    }
}

/// The database stores no NUL.
fn check_text<E: serde::de::Error>(key: &str) -> Result<(), E> {
    if key.contains('\0') { Err(E::custom("a key holds NUL")) } else { Ok(()) }
}

/// The keys of the first object of an array.
#[derive(Default)]
struct KnownKeys {
    indices: HashMap<String, usize>,
    /// The number of the object that last had the key, by its index.
    seen: Vec<usize>,
    objects: usize,
}

/// Reads an element of an array: whether it is an object with the keys of the first one.
struct ObjectSeed<'a> {
    keys: &'a mut KnownKeys,
    is_first: bool,
}

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    visit_scalars!(false, visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<bool, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(false)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let keys = self.keys;
        keys.objects += 1;
        let mut matched = 0;
        let mut is_known = true;
        while let Some(key) = map.next_key::<String>()? {
            map.next_value::<IgnoredAny>()?;
            if self.is_first && !keys.indices.contains_key(&key) {
                check_text::<A::Error>(&key).map_err(A::Error::custom)?;
                keys.indices.insert(key, keys.seen.len());
                keys.seen.push(keys.objects);
                matched += 1;
                continue;
            }
            match keys.indices.get(&key) {
                Some(index) if keys.seen[*index] == keys.objects => {}
                Some(index) => {
                    keys.seen[*index] = keys.objects;
                    matched += 1;
                }
                None => is_known = false,
            }
        }
        Ok(is_known && matched == keys.seen.len())
    }
}

/// The columns of a CSV header. Equal names are one key, of which the last field counts.
struct CsvHeader {
    /// The distinct names as JSON texts, sorted by name.
    keys: Vec<Vec<u8>>,
    /// The index in `keys`, by column.
    key_of_column: Vec<usize>,
    /// The number of distinct names among the first columns, by the number of columns.
    distinct: Vec<usize>,
}

impl CsvHeader {
    fn new(header: &csv::StringRecord) -> Result<Self, Error> {
        let names: BTreeSet<&str> = header.iter().collect();
        let indices: HashMap<&str, usize> = names.iter().enumerate().map(|(index, name)| (*name, index)).collect();
        let key_of_column: Vec<usize> = header.iter().map(|name| indices[name]).collect();
        let mut is_found = vec![false; names.len()];
        let mut distinct = vec![0];
        let mut count = 0;
        for key in &key_of_column {
            count += usize::from(!std::mem::replace(&mut is_found[*key], true));
            distinct.push(count);
        }
        let keys: Result<_, _> = names.into_iter().map(serde_json::to_vec).collect();
        Ok(Self { keys: keys.map_err(|error| Error::internal(error.to_string()))?, key_of_column, distinct })
    }

    /// The keys of lines with this number of fields, sorted, each with the field that counts.
    fn layout(&self, fields: usize) -> Vec<(usize, usize)> {
        let mut last: BTreeMap<usize, usize> = BTreeMap::new();
        last.extend(self.key_of_column.iter().take(fields).enumerate().map(|(field, key)| (*key, field)));
        last.into_iter().collect()
    }
}

/// The most bytes that the escape of a byte adds to a JSON text.
const fn escape_length(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' => 1,
        0..=0x1f => 5,
        _ => 0,
    }
}

/// Lines under a header line; `NULL` is null. A line may be shorter than the header when all are. The rows as JSON, which
/// repeat the header, have at most this number of bytes.
fn parse_csv(body: &Bytes, maximum: usize) -> Result<Payload, Error> {
    if body.is_empty() {
        return Err(Error::invalid_body("parse error (not enough input) at \"\""));
    }
    check_csv(body)?;
    let unreadable = |error: csv::Error| Error::invalid_body(format!("parse error ({error})"));
    let is_header_blank = body.starts_with(b"\n") || body.starts_with(b"\r");
    let mut reader = csv::ReaderBuilder::new().flexible(true).has_headers(!is_header_blank).from_reader(body.as_ref());
    // The reader skips blank lines; as a header, one is a column without a name.
    let names =
        if is_header_blank { csv::StringRecord::from(vec![""]) } else { reader.headers().map_err(unreadable)?.clone() };
    let header = CsvHeader::new(&names)?;
    let mut raw = vec![b'['];
    let mut record = csv::StringRecord::new();
    let mut fields = None;
    let mut layout = Vec::new();
    while reader.read_record(&mut record).map_err(unreadable)? {
        let found = record.len().min(names.len());
        if fields.is_some_and(|fields: usize| header.distinct[fields] != header.distinct[found]) {
            return Err(Error::invalid_body("All lines must have same number of fields"));
        }
        if fields.replace(found) != Some(found) {
            layout = header.layout(found);
        }
        raw.extend_from_slice(if raw.len() == 1 { b"{" } else { b",{" });
        for (number, (key, field)) in layout.iter().enumerate() {
            let (key, value) = (&header.keys[*key], &record[*field]);
            let escapes: usize = value.bytes().map(escape_length).sum();
            // Comma, colon, two quotes and two brackets.
            if raw.len() + key.len() + value.len() + escapes + 6 > maximum {
                return Err(Error::body_too_large(maximum));
            }
            if number > 0 {
                raw.push(b',');
            }
            raw.extend_from_slice(key);
            raw.push(b':');
            let value = Some(value).filter(|value| *value != "NULL");
            serde_json::to_writer(&mut raw, &value).map_err(|error| Error::internal(error.to_string()))?;
        }
        raw.push(b'}');
        if raw.len() >= maximum {
            return Err(Error::body_too_large(maximum));
        }
    }
    let Some(fields) = fields else { return Ok(no_rows()) };
    raw.push(b']');
    let keys = names.iter().take(fields).map(str::to_owned).collect();
    Ok(Payload::Json { raw: raw.into(), keys })
}

/// Requires that the header line ends, and that quotes enclose whole fields (RFC 4180), which the reader of the rows does not.
fn check_csv(body: &[u8]) -> Result<(), Error> {
    #[derive(PartialEq)]
    enum Place {
        Start,
        Unquoted,
        /// Behind the quote that opens a field.
        Opened,
        Quoted,
        AfterQuotes,
    }
    let mut place = Place::Start;
    let mut has_line_end = false;
    for (index, byte) in body.iter().enumerate() {
        place = match (place, byte) {
            (Place::Opened | Place::Quoted, b'"') => Place::AfterQuotes,
            (Place::Opened | Place::Quoted, _) | (Place::AfterQuotes, b'"') => Place::Quoted,
            (Place::Start, b'"') => Place::Opened,
            (_, b',') => Place::Start,
            (_, b'\r' | b'\n') => {
                has_line_end = true;
                Place::Start
            }
            (Place::AfterQuotes, _) | (Place::Unquoted, b'"') => {
                let rest = show_rest(&body[index..]);
                return Err(Error::invalid_body(format!("parse error (Failed reading: satisfy) at {rest}")));
            }
            (Place::Start | Place::Unquoted, _) => Place::Unquoted,
        };
    }
    if place == Place::Opened {
        return Err(Error::invalid_body("parse error (Failed reading: trailing double quote) at \"\""));
    }
    if place == Place::Quoted || !has_line_end {
        return Err(Error::invalid_body("parse error (not enough input) at \"\""));
    }
    Ok(())
}

/// What is left of a body, as errors show it: a literal, or its beginning.
fn show_rest(rest: &[u8]) -> String {
    let text = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect::<String>();
    match rest.get(..100).filter(|_| rest.len() > 100) {
        Some(beginning) => format!("{} (truncated)", text(beginning)),
        None => show_literal(&text(rest)),
    }
}

/// The pairs of a form: the arguments of a function, or one row.
fn parse_form(body: &Bytes, is_function: bool) -> Result<Payload, Error> {
    let text = std::str::from_utf8(body).map_err(|_| Error::invalid_body("Empty or invalid form"))?;
    let mut pairs = Vec::new();
    for pair in text.split(['&', ';']).filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        pairs.push((decode(key)?, decode(value)?));
    }
    let keys: BTreeSet<String> = pairs.iter().map(|(key, _)| key.clone()).collect();
    if is_function {
        return Ok(Payload::Form { pairs, keys });
    }
    let row: BTreeMap<String, String> = pairs.into_iter().collect();
    let raw = serde_json::to_vec(&row).map_err(|error| Error::internal(error.to_string()))?;
    Ok(Payload::Json { raw: raw.into(), keys })
}
