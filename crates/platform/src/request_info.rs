//! The request without its body: method, path, query, headers and peer address.

use std::net::IpAddr;

use foundation::error::{Error, Result};
use foundation::percent_escapes::has_valid_escapes;
use http::header::USER_AGENT;
use http::{HeaderMap, Method};
use http_edge::request::ClientAddress;
use percent_encoding::percent_decode_str;

/// The length of the column `users.aud`, in characters.
const MAX_AUDIENCE_CHARS: usize = 255;

/// A device from which the user of a call has signed in before, by the name that limits count it by.
///
/// An extension of requests that code in the process sends; no client can set it. Guesses of others do not count for it, and its own
/// are counted apart from those of its network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDevice(pub String);

/// The data of a request without its body.
#[derive(Debug, Clone)]
pub struct RequestInfo {
    pub method: Method,
    /// The raw path, neither decoded nor normalized.
    pub path: String,
    /// The path parameters, by the `{name}` of the route table.
    pub params: Vec<(&'static str, String)>,
    /// The decoded pairs of a form body, then those of the query, in order.
    pub query: Vec<(String, String)>,
    /// How many of these pairs are of the form.
    pub form_length: usize,
    pub headers: HeaderMap,
    /// The address of the peer's socket, if known.
    pub peer: Option<IpAddr>,
    /// The client address, if a router before the auth API has resolved it.
    pub client: Option<ClientAddress>,
    /// The known device, for calls in the process.
    pub device: Option<KnownDevice>,
    /// The request id, for logs and `error_id`.
    pub id: String,
    /// The host of an absolute request target (`GET http://host/path`); links may use it.
    pub target_host: Option<String>,
}

impl RequestInfo {
    /// The data of an operation that no HTTP request started: no path, headers or sender.
    pub fn internal() -> Self {
        Self {
            method: Method::POST,
            path: String::new(),
            params: Vec::new(),
            query: Vec::new(),
            form_length: 0,
            headers: HeaderMap::new(),
            peer: None,
            client: None,
            device: None,
            id: String::new(),
            target_host: None,
        }
    }

    /// The value of a header, if it is present and UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.headers.get(name)?.as_bytes()).ok()
    }

    /// The first value of this name in form or query, as Go's `FormValue` returns it.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value of this name in the query of the URL, whatever a form holds.
    pub fn url_query(&self, name: &str) -> Option<&str> {
        let pairs = self.query.get(self.form_length..)?;
        pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether form and query hold several values of this name.
    pub fn is_repeated(&self, name: &str) -> bool {
        self.query.iter().filter(|(key, _)| key == name).count() > 1
    }

    /// Refuses values that the database cannot store or compare.
    ///
    /// # Errors
    ///
    /// 400 `validation_failed` for an audience longer than its column, and for U+0000 in the query.
    pub fn validate(&self) -> Result<()> {
        if self.header("x-jwt-aud").is_some_and(|audience| audience.chars().count() > MAX_AUDIENCE_CHARS) {
            return Err(Error::invalid(format!("X-JWT-AUD cannot be longer than {MAX_AUDIENCE_CHARS} characters")));
        }
        if self.query.iter().any(|(name, value)| name.contains('\0') || value.contains('\0')) {
            return Err(Error::invalid("The query cannot hold the character U+0000"));
        }
        Ok(())
    }

    /// The path parameter `{name}`.
    pub fn path_param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str())
    }

    /// The user agent, if one is sent.
    ///
    /// Bytes that are not UTF-8 are replaced, because the database cannot store them.
    pub fn user_agent(&self) -> Option<String> {
        let agent = self.headers.get(USER_AGENT).filter(|agent| !agent.is_empty())?;
        Some(String::from_utf8_lossy(agent.as_bytes()).into_owned())
    }
}

/// Parses a query or form as Go's `url.ParseQuery` does.
///
/// Pairs with an invalid escape or a `;` are dropped.
pub fn parse_pairs(text: &str) -> Vec<(String, String)> {
    text.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')).filter_map(parse_pair).collect()
}

fn parse_pair(pair: &str) -> Option<(String, String)> {
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    Some((unescape(key)?, unescape(value)?))
}

fn unescape(text: &str) -> Option<String> {
    if !has_valid_escapes(text) {
        return None;
    }
    let spaced = text.replace('+', " ");
    Some(percent_decode_str(&spaced).decode_utf8_lossy().into_owned())
}
