//! Replies of the Redis protocol (RESP2).

/// The largest number of elements of a reply, and of nested arrays.
const MAX_ELEMENTS: usize = 256;
/// The largest number of bytes of a reply that are read.
pub(super) const MAX_REPLY_BYTES: usize = 16 * 1024;

/// A reply of a Redis server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedisReply {
    /// A status, such as `OK`.
    Status(String),
    /// An error, such as `NOSCRIPT No matching script`.
    Error(String),
    Integer(i64),
    /// A text; `None` for no value.
    Text(Option<Vec<u8>>),
    /// A list of integers.
    Integers(Vec<i64>),
}

/// Bytes that are no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the store sent a malformed reply")]
pub struct MalformedReply;

/// Parses the reply at the start of the bytes and returns its length; `None` if it is incomplete.
///
/// Source: <https://redis.io/docs/latest/develop/reference/protocol-spec/>
///
/// # Errors
///
/// The bytes are no reply, or one of a kind or size that no command of this server has.
pub fn parse_reply(bytes: &[u8]) -> Result<Option<(RedisReply, usize)>, MalformedReply> {
    let Some((line, used)) = split_line(bytes)? else { return Ok(None) };
    let (kind, rest) = line.split_first().ok_or(MalformedReply)?;
    let reply = match kind {
        b'+' => RedisReply::Status(String::from_utf8_lossy(rest).into_owned()),
        b'-' => RedisReply::Error(String::from_utf8_lossy(rest).into_owned()),
        b':' => RedisReply::Integer(parse_integer(rest)?),
        b'$' => return parse_text(bytes, used, parse_integer(rest)?),
        b'*' => return parse_integers(bytes, used, parse_integer(rest)?),
        _ => return Err(MalformedReply),
    };
    Ok(Some((reply, used)))
}

fn parse_text(bytes: &[u8], used: usize, length: i64) -> Result<Option<(RedisReply, usize)>, MalformedReply> {
    if length == -1 {
        return Ok(Some((RedisReply::Text(None), used)));
    }
    let length = usize::try_from(length).ok().filter(|length| *length <= MAX_REPLY_BYTES).ok_or(MalformedReply)?;
    let Some(rest) = bytes.get(used..used + length + 2) else { return Ok(None) };
    let text = rest.strip_suffix(b"\r\n").ok_or(MalformedReply)?;
    Ok(Some((RedisReply::Text(Some(text.to_vec())), used + length + 2)))
}

fn parse_integers(bytes: &[u8], mut used: usize, length: i64) -> Result<Option<(RedisReply, usize)>, MalformedReply> {
    let length = usize::try_from(length).ok().filter(|length| *length <= MAX_ELEMENTS).ok_or(MalformedReply)?;
    let mut integers = Vec::with_capacity(length);
    for _ in 0..length {
        let Some((line, more)) = split_line(&bytes[used..])? else { return Ok(None) };
        integers.push(parse_integer(line.strip_prefix(b":").ok_or(MalformedReply)?)?);
        used += more;
    }
    Ok(Some((RedisReply::Integers(integers), used)))
}

/// Returns the first line without its end, and the number of bytes with it; `None` if it is incomplete.
fn split_line(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, MalformedReply> {
    match bytes.windows(2).position(|pair| pair == b"\r\n") {
        Some(end) => Ok(Some((&bytes[..end], end + 2))),
        None if bytes.len() > MAX_REPLY_BYTES => Err(MalformedReply),
        None => Ok(None),
    }
}

fn parse_integer(digits: &[u8]) -> Result<i64, MalformedReply> {
    std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).ok_or(MalformedReply)
}

pub(super) fn format_command(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", parts.len()).into_bytes();
    for part in parts {
        bytes.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        bytes.extend_from_slice(part);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
