//! What a request says, apart from its body: method, path, query, headers, and who sent it.

use std::net::IpAddr;

use gotrue_rules::domain::error::{Error, Result};
use http::header::USER_AGENT;
use http::{HeaderMap, Method};
use percent_encoding::percent_decode_str;

/// Characters that `users.aud` holds.
const LONGEST_AUDIENCE: usize = 255;

/// A request as facts.
#[derive(Debug, Clone)]
pub struct RequestInfo {
    /// The method.
    pub method: Method,
    /// The raw path: not decoded, not cleaned.
    pub path: String,
    /// What stood in the path where the route table has `{name}`.
    pub params: Vec<(&'static str, String)>,
    /// The decoded pairs of the form, if one was sent, then of the query, in order.
    pub query: Vec<(String, String)>,
    /// The headers.
    pub headers: HeaderMap,
    /// The address of the peer's socket, if known.
    pub peer: Option<IpAddr>,
    /// The id of this request, for logs and `error_id`.
    pub id: String,
    /// Host of an absolute request target (`GET http://host/path`), which links may use.
    pub target_host: Option<String>,
}

impl RequestInfo {
    /// The text of a header, if it is there and UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.headers.get(name)?.as_bytes()).ok()
    }

    /// The first value of that name in form or query, as Go's `FormValue` reads it.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether form and query hold more than one value of that name.
    pub fn is_repeated(&self, name: &str) -> bool {
        self.query.iter().filter(|(key, _)| key == name).count() > 1
    }

    /// Refuses what the database could neither keep nor be asked for: an audience longer than its column, a query with
    /// the character U+0000. 400 `validation_failed`.
    pub fn check(&self) -> Result<()> {
        if self.header("x-jwt-aud").is_some_and(|audience| audience.chars().count() > LONGEST_AUDIENCE) {
            return Err(Error::invalid(format!("X-JWT-AUD cannot be longer than {LONGEST_AUDIENCE} characters")));
        }
        if self.query.iter().any(|(name, value)| name.contains('\0') || value.contains('\0')) {
            return Err(Error::invalid("The query cannot hold the character U+0000"));
        }
        Ok(())
    }

    /// What stood in the path for `{name}`.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str())
    }

    /// The caller's address for audit, sessions and hooks: the first valid one of `X-Forwarded-For`, else the peer's
    /// (`endpoints.md` §1.8). An IPv4 address in IPv6 clothes (`::ffff:192.0.2.1`) is the IPv4 address.
    pub fn client_ip(&self) -> Option<IpAddr> {
        let forwarded = self.header("x-forwarded-for").unwrap_or_default();
        let address = |part: &str| part.trim().parse().ok().map(|address: IpAddr| address.to_canonical());
        forwarded.split(',').find_map(address).or(self.peer)
    }

    /// The first part of `Sb-Forwarded-For`, if it is an address.
    pub fn sb_forwarded_for(&self) -> Option<IpAddr> {
        let first = self.header("sb-forwarded-for")?.split(',').next()?;
        first.trim().parse().ok().map(|address: IpAddr| address.to_canonical())
    }

    /// The user agent, if one is sent. Bytes that are no UTF-8 are replaced: the database could not store them.
    pub fn user_agent(&self) -> Option<String> {
        let agent = self.headers.get(USER_AGENT).filter(|agent| !agent.is_empty())?;
        Some(String::from_utf8_lossy(agent.as_bytes()).into_owned())
    }
}

/// The pairs of a query or form as Go's `url.ParseQuery` reads them: a pair with a bad escape or a `;` is left out.
pub fn parse_pairs(text: &str) -> Vec<(String, String)> {
    text.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')).filter_map(parse_pair).collect()
}

fn parse_pair(pair: &str) -> Option<(String, String)> {
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    Some((unescape(key)?, unescape(value)?))
}

fn unescape(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_escape = |at: usize| {
        bytes.get(at + 1).is_some_and(u8::is_ascii_hexdigit) && bytes.get(at + 2).is_some_and(u8::is_ascii_hexdigit)
    };
    if bytes.iter().enumerate().any(|(at, byte)| *byte == b'%' && !is_escape(at)) {
        return None;
    }
    let spaced = text.replace('+', " ");
    Some(percent_decode_str(&spaced).decode_utf8_lossy().into_owned())
}
