//! Typed SQL literals of values in binary format, for connections without prepared statements.
//!
//! Each literal is `(E'…'::type)` with backslashes and quotation marks doubled, which is one constant with every value
//! of `standard_conforming_strings`; the text is UTF-8, the encoding of every connection. The parentheses keep a
//! following subscript or slice apart from the name of the type.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use chrono::{DateTime, Datelike, Utc};
use sqlx::error::BoxDynError;
use uuid::Uuid;

/// Microseconds from 1970 to 2000, where PostgreSQL's times begin.
const EPOCH: i64 = 946_684_800_000_000;
/// The address family of IPv4 in the binary format of `inet`.
const IPV4: u8 = 2;

/// Appends the literal of a value in binary format; `None` is NULL.
///
/// # Errors
/// The type is not supported, or the bytes are not those of a value of this type.
pub(super) fn push_literal(sql: &mut String, type_name: &str, value: Option<&[u8]>) -> Result<(), BoxDynError> {
    sql.push('(');
    match value {
        None => sql.push_str("NULL"),
        Some(value) => {
            let mut text = String::with_capacity(value.len());
            push_text(&mut text, type_name, value)?;
            push_constant(sql, &text);
        }
    }
    sql.push_str("::");
    sql.push_str(type_name);
    sql.push(')');
    Ok(())
}

/// Appends `E'…'`.
///
/// A NUL, which ends a message of the protocol, is written as an escape sequence: the database refuses it with the same
/// error as in a parameter.
fn push_constant(sql: &mut String, text: &str) {
    sql.reserve(text.len() + 3);
    sql.push_str("E'");
    for character in text.chars() {
        match character {
            '\'' => sql.push_str("''"),
            '\\' => sql.push_str("\\\\"),
            '\0' => sql.push_str("\\000"),
            other => sql.push(other),
        }
    }
    sql.push('\'');
}

/// Appends the text format of a value.
fn push_text(text: &mut String, type_name: &str, value: &[u8]) -> Result<(), BoxDynError> {
    if let Some(element) = type_name.strip_suffix("[]") {
        return push_array(text, element, value);
    }
    match type_name {
        "TEXT" | "VARCHAR" | "NAME" | "JSON" => text.push_str(std::str::from_utf8(value)?),
        // A byte with the version of the format precedes the text.
        "JSONB" => text.push_str(std::str::from_utf8(value.get(1..).ok_or("a value of jsonb is empty")?)?),
        "BYTEA" => write!(text, "\\x{}", hex::encode(value))?,
        "BOOL" => text.push(if fixed::<1>(value)? == [0] { 'f' } else { 't' }),
        "INT2" => write!(text, "{}", i16::from_be_bytes(fixed(value)?))?,
        "INT4" => write!(text, "{}", i32::from_be_bytes(fixed(value)?))?,
        "INT8" => write!(text, "{}", i64::from_be_bytes(fixed(value)?))?,
        "FLOAT4" => push_float(text, f32::from_be_bytes(fixed(value)?).into())?,
        "FLOAT8" => push_float(text, f64::from_be_bytes(fixed(value)?))?,
        "UUID" => write!(text, "{}", Uuid::from_bytes(fixed(value)?))?,
        "TIMESTAMP" => push_time(text, i64::from_be_bytes(fixed(value)?), "")?,
        "TIMESTAMPTZ" => push_time(text, i64::from_be_bytes(fixed(value)?), "+00")?,
        "INET" | "CIDR" => push_network(text, value)?,
        _ => return Err(format!("a value of type {type_name} has no literal").into()),
    }
    Ok(())
}

fn fixed<const LENGTH: usize>(value: &[u8]) -> Result<[u8; LENGTH], BoxDynError> {
    Ok(value.try_into()?)
}

fn push_float(text: &mut String, value: f64) -> Result<(), BoxDynError> {
    if value.is_nan() {
        text.push_str("NaN");
    } else if value.is_infinite() {
        text.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
    } else {
        write!(text, "{value:e}")?;
    }
    Ok(())
}

/// Appends a time, given as microseconds since 2000, in the ISO format.
///
/// That format does not depend on `DateStyle`.
fn push_time(text: &mut String, microseconds: i64, zone: &str) -> Result<(), BoxDynError> {
    let since_1970 = microseconds.checked_add(EPOCH);
    let time = since_1970.and_then(DateTime::<Utc>::from_timestamp_micros).ok_or("a time is out of range")?;
    // The year before 1 is 1 BC.
    let (year, era) = if time.year() > 0 { (time.year(), "") } else { (1 - time.year(), " BC") };
    write!(text, "{year:04}-{}{zone}{era}", time.format("%m-%d %H:%M:%S%.6f"))?;
    Ok(())
}

/// Appends an address with its prefix.
///
/// The format is: family, prefix, whether it is `cidr`, length, address.
fn push_network(text: &mut String, value: &[u8]) -> Result<(), BoxDynError> {
    let [family, prefix, _, _, address @ ..] = value else { return Err("a value of inet is too short".into()) };
    if *family == IPV4 {
        write!(text, "{}/{prefix}", Ipv4Addr::from(fixed::<4>(address)?))?;
    } else {
        write!(text, "{}/{prefix}", Ipv6Addr::from(fixed::<16>(address)?))?;
    }
    Ok(())
}

/// Appends an array with quoted elements.
///
/// The format is: dimensions, flags, type of the elements, then length and lower bound of each dimension, then the
/// length of each element, -1 for NULL, and its bytes.
fn push_array(text: &mut String, element: &str, mut value: &[u8]) -> Result<(), BoxDynError> {
    let dimensions = take_number(&mut value)?;
    let (_flags, _type) = (take_number(&mut value)?, take_number(&mut value)?);
    let count = match dimensions {
        0 => 0,
        1 => {
            let (count, _lower_bound) = (take_number(&mut value)?, take_number(&mut value)?);
            count
        }
        _ => return Err("an array of several dimensions has no literal".into()),
    };
    text.push('{');
    for index in 0..count {
        if index > 0 {
            text.push(',');
        }
        match usize::try_from(take_number(&mut value)?) {
            Err(_) => text.push_str("NULL"),
            Ok(length) => {
                let (bytes, rest) = value.split_at_checked(length).ok_or("an array is too short")?;
                value = rest;
                push_element(text, element, bytes)?;
            }
        }
    }
    text.push('}');
    Ok(())
}

fn push_element(text: &mut String, type_name: &str, value: &[u8]) -> Result<(), BoxDynError> {
    let mut element = String::with_capacity(value.len());
    push_text(&mut element, type_name, value)?;
    text.push('"');
    for character in element.chars() {
        if matches!(character, '"' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
    text.push('"');
    Ok(())
}

fn take_number(value: &mut &[u8]) -> Result<i32, BoxDynError> {
    let (number, rest) = value.split_first_chunk().ok_or("an array is too short")?;
    *value = rest;
    Ok(i32::from_be_bytes(*number))
}
