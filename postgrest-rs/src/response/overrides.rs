//! Status and header fields that a function of the database sets: `response.status` and `response.headers`.

use serde_json::{Map, Value};

use super::reply::{Reply, ResultSet};
use crate::error::Error;

/// Header fields that frame the message or belong to the connection (RFC 9112, RFC 9110 §7.6.1): the server alone knows them.
const OF_CONNECTION: [&str; 7] =
    ["connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];

/// Applies what the database set. Its header fields replace those of the same name.
pub(super) fn apply(mut reply: Reply, result: &ResultSet) -> Result<Reply, Error> {
    if let Some(text) = &result.status {
        reply.status = parse_status(text)?;
    }
    let Some(text) = &result.headers else { return Ok(reply) };
    let mut set = parse_headers(text)?;
    set.retain(|(name, _)| !OF_CONNECTION.iter().any(|other| other.eq_ignore_ascii_case(name)));
    reply.headers.retain(|(name, _)| !set.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
    reply.headers.extend(set);
    Ok(reply)
}

/// The number at the beginning of the text.
fn parse_status(text: &str) -> Result<u16, Error> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().map_err(|_| Error::invalid_response_status())
}

/// An array of objects with one text each.
fn parse_headers(text: &str) -> Result<Vec<(String, String)>, Error> {
    let invalid = |_| Error::invalid_response_headers();
    let objects: Vec<Map<String, Value>> = serde_json::from_str(text).map_err(invalid)?;
    objects
        .into_iter()
        .map(|object| {
            let mut entries = object.into_iter();
            match (entries.next(), entries.next()) {
                (Some((name, Value::String(value))), None) => Ok((name, value)),
                _ => Err(Error::invalid_response_headers()),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_database_replace_those_of_the_reply() {
        let result = ResultSet {
            headers: Some(r#"[{"content-type": "text/x"}, {"Set-Cookie": "a"}, {"Set-Cookie": "b"}]"#.to_owned()),
            status: Some("418".to_owned()),
            ..ResultSet::default()
        };
        let reply = apply(Reply::new(200).header("Content-Type", "application/json"), &result).unwrap();
        let headers: Vec<_> = reply.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(headers, [("content-type", "text/x"), ("Set-Cookie", "a"), ("Set-Cookie", "b")]);
        assert_eq!(reply.status, 418);
    }

    #[test]
    fn headers_of_the_connection_are_left_out() {
        let headers = r#"[{"Content-Length": "999"}, {"transfer-encoding": "chunked"}, {"X-A": "b"}]"#;
        let result = ResultSet { headers: Some(headers.to_owned()), ..ResultSet::default() };
        let reply = apply(Reply::new(200), &result).unwrap();
        assert_eq!(reply.headers, [("X-A".to_owned(), "b".to_owned())]);
    }

    #[test]
    fn malformed_settings_are_errors() {
        for headers in ["{}", "[{\"a\": 1}]", "[{\"a\": \"1\", \"b\": \"2\"}]", "[{}]", "x"] {
            assert_eq!(parse_headers(headers).unwrap_err().code, "PGRST111", "{headers}");
        }
        for status in ["", "x", "-1", "99999999"] {
            assert_eq!(parse_status(status).unwrap_err().code, "PGRST112", "{status}");
        }
    }
}
