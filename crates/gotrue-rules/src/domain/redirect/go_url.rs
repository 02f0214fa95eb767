//! URLs as the reference parses and writes them (Go 1.26's `net/url`).
//! The allow-list must check the same host that the browser is redirected to. Percent signs, control characters and
//! user information are rejected where Go rejects them.

mod escaping;

use std::net::{IpAddr, Ipv6Addr};

use serde_json::{Value, json};

pub use self::escaping::UrlError;
use self::escaping::{UrlPart, UrlResult, escape, is_escaped, unescape};

/// A parsed URL; strings are stored as they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Url {
    scheme: String,
    /// The part after a scheme without a slash (`mailto:…`).
    opaque: String,
    /// User and optional password, escaped.
    user: Option<String>,
    /// Host and port, unescaped.
    host: Vec<u8>,
    /// The path, escaped.
    path: String,
    /// The path as it was given.
    given_path: String,
    /// Whether there is a scheme and a path, but no `//`.
    omit_host: bool,
    /// Whether there is a `?` with nothing after it.
    force_query: bool,
    query: String,
    /// The fragment, unescaped.
    fragment: Vec<u8>,
    raw_fragment: String,
}

impl Url {
    /// Parses a URL, absolute or relative.
    pub fn parse(text: &str) -> UrlResult<Self> {
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self::without_fragment(text, false)?;
        url.fragment = unescape(fragment, UrlPart::Fragment)?;
        fragment.clone_into(&mut url.raw_fragment);
        Ok(url)
    }

    /// Parses a request URI: an absolute URL or a path.
    /// It has no fragment: `#` is a character of the path.
    pub fn parse_request(text: &str) -> UrlResult<Self> {
        if split_scheme(text)?.0.is_empty() && !text.starts_with('/') {
            return Err(UrlError("it is neither absolute nor a path"));
        }
        Self::without_fragment(text, true)
    }

    fn without_fragment(text: &str, is_request: bool) -> UrlResult<Self> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err(UrlError("there is a control character in it"));
        }
        let mut url = Self::default();
        let (scheme, mut rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        match rest.split_once('?') {
            Some((before, "")) => (rest, url.force_query) = (before, true),
            Some((before, query)) => {
                rest = before;
                query.clone_into(&mut url.query);
            }
            None => {}
        }
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                rest.clone_into(&mut url.opaque);
                return Ok(url);
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err(UrlError("its first path segment contains a colon"));
            }
        }
        let may_have_host = !url.scheme.is_empty() || !(is_request || rest.starts_with("///"));
        let has_authority = rest.starts_with("//") && may_have_host;
        if has_authority {
            let (authority, path) = rest[2..].split_at(rest[2..].find('/').unwrap_or(rest.len() - 2));
            (url.user, url.host) = parse_authority(&url.scheme, authority)?;
            rest = path;
        } else {
            url.omit_host = !url.scheme.is_empty() && rest.starts_with('/');
        }
        url.path = normalize_path(rest)?;
        rest.clone_into(&mut url.given_path);
        Ok(url)
    }

    /// The scheme in lower case; `""` for a relative URL.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Whether Go accepts the text as a request URI: an absolute URL, a path from the root, or `*`.
    pub fn is_request_uri(text: &str) -> bool {
        text == "*" || Self::parse_request(text).is_ok()
    }

    /// Host and port, unescaped; empty if absent.
    pub fn host(&self) -> &[u8] {
        &self.host
    }

    /// The path, unescaped; empty if there is none.
    pub fn path(&self) -> Vec<u8> {
        unescape(&self.path, UrlPart::Path).unwrap_or_default()
    }

    /// Whether there is user information, even an empty one.
    pub fn has_user(&self) -> bool {
        self.user.is_some()
    }

    /// Whether there is a non-empty fragment.
    pub fn has_fragment(&self) -> bool {
        !self.fragment.is_empty()
    }

    /// Whether there is a non-empty query.
    pub fn has_query(&self) -> bool {
        !self.query.is_empty()
    }

    /// The host without port and brackets.
    pub fn hostname(&self) -> &[u8] {
        let host = self.split_port().0;
        host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]")).unwrap_or(host)
    }

    /// The port; empty if absent.
    pub fn port(&self) -> &[u8] {
        self.split_port().1
    }

    fn split_port(&self) -> (&[u8], &[u8]) {
        let colon = self.host.iter().rposition(|byte| *byte == b':');
        match colon {
            Some(at) if self.host[at + 1..].iter().all(u8::is_ascii_digit) => (&self.host[..at], &self.host[at + 1..]),
            _ => (&self.host, b""),
        }
    }

    /// The host as an IP address; `None` for a name or an address with a zone.
    pub fn ip(&self) -> Option<IpAddr> {
        std::str::from_utf8(self.hostname()).ok()?.parse().ok()
    }

    /// The valid members of the query, in order.
    pub fn query(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let member = |text: &str| {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            let read = |text| unescape(text, UrlPart::Query).ok();
            if text.is_empty() || text.contains(';') { None } else { Some((read(name)?, read(value)?)) }
        };
        self.query.split('&').filter_map(member).collect()
    }

    /// Replaces the query; it is not escaped.
    pub fn set_query(&mut self, query: String) {
        self.query = query;
    }

    /// Replaces the fragment; it is escaped when written.
    pub fn set_fragment(&mut self, fragment: &str) {
        self.fragment = fragment.as_bytes().to_vec();
        self.raw_fragment.clear();
    }

    /// The URL as Go's `encoding/json` writes a `url.URL`.
    pub fn to_json(&self) -> Value {
        let plain = self.path();
        let unusual =
            |raw: &str, plain: &[u8], part| if escape(plain, part) == raw { String::new() } else { raw.into() };
        json!({
            "Scheme": self.scheme,
            "Opaque": self.opaque,
            // Go writes no user name and password.
            "User": self.user.as_ref().map(|_| json!({})),
            "Host": String::from_utf8_lossy(&self.host),
            "Path": String::from_utf8_lossy(&plain),
            "Fragment": String::from_utf8_lossy(&self.fragment),
            "RawQuery": self.query,
            "RawPath": unusual(&self.given_path, &plain, UrlPart::Path),
            "RawFragment": unusual(&self.raw_fragment, &self.fragment, UrlPart::Fragment),
            "ForceQuery": self.force_query,
            "OmitHost": self.omit_host,
        })
    }

    /// Formats the URL.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        if !self.scheme.is_empty() {
            text.push_str(&self.scheme);
            text.push(':');
        }
        if self.opaque.is_empty() {
            self.write_hierarchy(&mut text);
        } else {
            text.push_str(&self.opaque);
        }
        if self.force_query || !self.query.is_empty() {
            text.push('?');
            text.push_str(&self.query);
        }
        if !self.fragment.is_empty() {
            text.push('#');
            if is_escaped(&self.raw_fragment, UrlPart::Fragment) && !self.raw_fragment.is_empty() {
                text.push_str(&self.raw_fragment);
            } else {
                text.push_str(&escape(&self.fragment, UrlPart::Fragment));
            }
        }
        text
    }

    fn write_hierarchy(&self, text: &mut String) {
        let is_absolute = !self.scheme.is_empty() || !self.host.is_empty() || self.user.is_some();
        let is_bare = self.omit_host && self.host.is_empty() && self.user.is_none();
        if is_absolute && !is_bare {
            if !self.host.is_empty() || !self.path.is_empty() || self.user.is_some() {
                text.push_str("//");
            }
            if let Some(user) = &self.user {
                text.push_str(user);
                text.push('@');
            }
            text.push_str(&escape(&self.host, UrlPart::Host));
        }
        if !self.path.is_empty() && !self.path.starts_with('/') && !self.host.is_empty() {
            text.push('/');
        }
        if text.is_empty() && self.path.split('/').next().is_some_and(|segment| segment.contains(':')) {
            text.push_str("./");
        }
        text.push_str(&self.path);
    }
}

/// Form-encodes members, sorted by name, as Go's `Values.Encode` does.
pub fn form_encode(members: &[(Vec<u8>, Vec<u8>)]) -> String {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    let write = |(name, value): &&(Vec<u8>, Vec<u8>)| {
        format!("{}={}", escape(name, UrlPart::Query), escape(value, UrlPart::Query))
    };
    sorted.iter().map(write).collect::<Vec<_>>().join("&")
}

fn split_scheme(text: &str) -> UrlResult<(&str, &str)> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err(UrlError("it has no scheme before its colon")),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

/// Parses user information and host.
fn parse_authority(scheme: &str, authority: &str) -> UrlResult<(Option<String>, Vec<u8>)> {
    let Some((user, host)) = authority.rsplit_once('@') else { return Ok((None, parse_host(scheme, authority)?)) };
    let host = parse_host(scheme, host)?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !user.bytes().all(allowed) {
        return Err(UrlError("its user information holds a character that is not allowed there"));
    }
    let again = |part: &str| Ok(escape(&unescape(part, UrlPart::User)?, UrlPart::User));
    let user = match user.split_once(':') {
        Some((name, password)) => format!("{}:{}", again(name)?, again(password)?),
        None => again(user)?,
    };
    Ok((Some(user), host))
}

fn parse_host(scheme: &str, host: &str) -> UrlResult<Vec<u8>> {
    const PORT: UrlError = UrlError("its port is no number");
    let is_port = |text: &str| text.is_empty() || text[1..].bytes().all(|byte| byte.is_ascii_digit());
    match host.rfind('[') {
        Some(0) => {
            let (address, port) = host[1..].rsplit_once(']').ok_or(UrlError("a [ in its host has no ]"))?;
            let with_port = port.starts_with(':') && is_port(port);
            if !port.is_empty() && !with_port {
                return Err(PORT);
            }
            return Ok([b"[", parse_ipv6(address)?.as_slice(), b"]", port.as_bytes()].concat());
        }
        Some(_) => return Err(UrlError("there is a [ inside its host")),
        None => {}
    }
    let strict = scheme == "http" || scheme == "https";
    let colon = if strict { host.find(':') } else { host.rfind(':') };
    if !is_port(&host[colon.unwrap_or(host.len())..]) {
        return Err(PORT);
    }
    unescape(host, UrlPart::Host)
}

/// Parses the IPv6 address between brackets, with an optional zone.
fn parse_ipv6(text: &str) -> UrlResult<Vec<u8>> {
    const ADDRESS: UrlError = UrlError("there is no IPv6 address between its brackets");
    let zone = text.find("%25").unwrap_or(text.len());
    let mut unescaped = unescape(&text[..zone], UrlPart::Host)?;
    unescaped.extend(unescape(&text[zone..], UrlPart::Zone)?);
    let plain = std::str::from_utf8(&unescaped).map_err(|_| ADDRESS)?;
    let address = match plain.split_once('%') {
        Some((_, "")) => return Err(ADDRESS),
        Some((address, _)) => address,
        None => plain,
    };
    address.parse::<Ipv6Addr>().map_err(|_| ADDRESS)?;
    Ok(unescaped)
}

/// The path to write: unchanged if all its characters are allowed, else escaped again.
fn normalize_path(path: &str) -> UrlResult<String> {
    let unescaped = unescape(path, UrlPart::Path)?;
    Ok(if is_escaped(path, UrlPart::Path) { path.to_owned() } else { escape(&unescaped, UrlPart::Path) })
}
