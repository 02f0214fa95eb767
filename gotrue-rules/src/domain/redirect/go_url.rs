//! URLs as the reference reads and writes them (Go 1.26's `net/url`), since the allow-list must not see another host
//! than the one that is redirected to. Percent signs, control characters and user information are refused where Go
//! refuses them.

use std::net::{IpAddr, Ipv6Addr};

use serde_json::{Value, json};

/// A URL in its parts; texts are as they will be written again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Url {
    scheme: String,
    /// What follows a scheme without a slash (`mailto:…`).
    opaque: String,
    /// User and perhaps password, escaped.
    user: Option<String>,
    /// Host and port, unescaped.
    host: Vec<u8>,
    /// The path, escaped.
    path: String,
    /// There is a scheme and a path, but no `//`.
    omit_host: bool,
    /// There is a `?` with nothing after it.
    force_query: bool,
    query: String,
    /// The fragment, unescaped, and as it came.
    fragment: Vec<u8>,
    raw_fragment: String,
}

/// What Go would not take for a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(&'static str);

type Parsed<T> = Result<T, Malformed>;

impl Url {
    /// Reads a URL, absolute or relative.
    pub fn parse(text: &str) -> Parsed<Self> {
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self::without_fragment(text, false)?;
        url.fragment = unescape(fragment, Part::Fragment)?;
        fragment.clone_into(&mut url.raw_fragment);
        Ok(url)
    }

    /// Reads a URL as it may stand in a request: absolute or a path, never with a fragment (`#` is a letter of the path).
    pub fn parse_request(text: &str) -> Parsed<Self> {
        if split_scheme(text)?.0.is_empty() && !text.starts_with('/') {
            return Err(Malformed("it is neither absolute nor a path"));
        }
        Self::without_fragment(text, true)
    }

    fn without_fragment(text: &str, is_request: bool) -> Parsed<Self> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err(Malformed("there is a control character in it"));
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
                return Err(Malformed("its first path segment contains a colon"));
            }
        }
        let may_have_host = !url.scheme.is_empty() || !(is_request || rest.starts_with("///"));
        let has_authority = rest.starts_with("//") && may_have_host;
        if has_authority {
            let (authority, path) = rest[2..].split_at(rest[2..].find('/').unwrap_or(rest.len() - 2));
            (url.user, url.host) = authority_of(&url.scheme, authority)?;
            rest = path;
        } else {
            url.omit_host = !url.scheme.is_empty() && rest.starts_with('/');
        }
        url.path = as_written(rest)?;
        Ok(url)
    }

    /// The scheme in lower case; `""` for a relative URL.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Whether a text is what Go takes for the URI of a request: one with a scheme, or a path from the root. A `#` means
    /// nothing in it.
    pub fn is_request_uri(text: &str) -> bool {
        text == "*" || Self::parse_request(text).is_ok()
    }

    /// Host and port, unescaped; empty for none.
    pub fn host(&self) -> &[u8] {
        &self.host
    }

    /// Whether a user name stands before the host, be it an empty one.
    pub fn has_user(&self) -> bool {
        self.user.is_some()
    }

    /// Whether something follows a `#`.
    pub fn has_fragment(&self) -> bool {
        !self.fragment.is_empty()
    }

    /// Whether something follows a `?`.
    pub fn has_query(&self) -> bool {
        !self.query.is_empty()
    }

    /// The host without port and brackets.
    pub fn hostname(&self) -> &[u8] {
        let host = self.split_port().0;
        host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]")).unwrap_or(host)
    }

    /// The port; empty for none.
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

    /// The host as an IP address, if it is one; a zone makes it none.
    pub fn ip(&self) -> Option<IpAddr> {
        std::str::from_utf8(self.hostname()).ok()?.parse().ok()
    }

    /// The members of the query, as far as they can be read, in the order they came.
    pub fn query(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let member = |text: &str| {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            let read = |text| unescape(text, Part::Query).ok();
            if text.is_empty() || text.contains(';') { None } else { Some((read(name)?, read(value)?)) }
        };
        self.query.split('&').filter_map(member).collect()
    }

    /// Puts another query in place, as it stands.
    pub fn set_query(&mut self, query: String) {
        self.query = query;
    }

    /// Puts another fragment in place; it is escaped when written.
    pub fn set_fragment(&mut self, fragment: &str) {
        self.fragment = fragment.as_bytes().to_vec();
        self.raw_fragment.clear();
    }

    /// The URL as Go's encoding/json writes its `url.URL`.
    pub fn members(&self) -> Value {
        let plain = unescape(&self.path, Part::Path).unwrap_or_default();
        let unusual =
            |raw: &str, plain: &[u8], part| if escape(plain, part) == raw { String::new() } else { raw.into() };
        json!({
            "Scheme": self.scheme,
            "Opaque": self.opaque,
            // Go keeps name and password to itself.
            "User": self.user.as_ref().map(|_| json!({})),
            "Host": String::from_utf8_lossy(&self.host),
            "Path": String::from_utf8_lossy(&plain),
            "Fragment": String::from_utf8_lossy(&self.fragment),
            "RawQuery": self.query,
            "RawPath": unusual(&self.path, &plain, Part::Path),
            "RawFragment": unusual(&self.raw_fragment, &self.fragment, Part::Fragment),
            "ForceQuery": self.force_query,
            "OmitHost": self.omit_host,
        })
    }

    /// The URL as text.
    pub fn text(&self) -> String {
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
            if is_escaped(&self.raw_fragment, Part::Fragment) && !self.raw_fragment.is_empty() {
                text.push_str(&self.raw_fragment);
            } else {
                text.push_str(&escape(&self.fragment, Part::Fragment));
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
            text.push_str(&escape(&self.host, Part::Host));
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
    let write =
        |(name, value): &&(Vec<u8>, Vec<u8>)| format!("{}={}", escape(name, Part::Query), escape(value, Part::Query));
    sorted.iter().map(write).collect::<Vec<_>>().join("&")
}

fn split_scheme(text: &str) -> Parsed<(&str, &str)> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err(Malformed("it has no scheme before its colon")),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

/// User information and host.
fn authority_of(scheme: &str, authority: &str) -> Parsed<(Option<String>, Vec<u8>)> {
    let Some((user, host)) = authority.rsplit_once('@') else { return Ok((None, host_of(scheme, authority)?)) };
    let host = host_of(scheme, host)?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !user.bytes().all(allowed) {
        return Err(Malformed("its user information holds a character that is not allowed there"));
    }
    let again = |part: &str| Ok(escape(&unescape(part, Part::User)?, Part::User));
    let user = match user.split_once(':') {
        Some((name, password)) => format!("{}:{}", again(name)?, again(password)?),
        None => again(user)?,
    };
    Ok((Some(user), host))
}

fn host_of(scheme: &str, host: &str) -> Parsed<Vec<u8>> {
    const PORT: Malformed = Malformed("its port is no number");
    let is_port = |text: &str| text.is_empty() || text[1..].bytes().all(|byte| byte.is_ascii_digit());
    match host.rfind('[') {
        Some(0) => {
            let (address, port) = host[1..].rsplit_once(']').ok_or(Malformed("a [ in its host has no ]"))?;
            let with_port = port.starts_with(':') && is_port(port);
            if !port.is_empty() && !with_port {
                return Err(PORT);
            }
            return Ok([b"[", ipv6_of(address)?.as_slice(), b"]", port.as_bytes()].concat());
        }
        Some(_) => return Err(Malformed("there is a [ inside its host")),
        None => {}
    }
    let strict = scheme == "http" || scheme == "https";
    let colon = if strict { host.find(':') } else { host.rfind(':') };
    if !is_port(&host[colon.unwrap_or(host.len())..]) {
        return Err(PORT);
    }
    unescape(host, Part::Host)
}

/// The unescaped text between brackets: an IPv6 address, perhaps with a zone.
fn ipv6_of(text: &str) -> Parsed<Vec<u8>> {
    const ADDRESS: Malformed = Malformed("there is no IPv6 address between its brackets");
    let zone = text.find("%25").unwrap_or(text.len());
    let mut unescaped = unescape(&text[..zone], Part::Host)?;
    unescaped.extend(unescape(&text[zone..], Part::Zone)?);
    let plain = std::str::from_utf8(&unescaped).map_err(|_| ADDRESS)?;
    let address = match plain.split_once('%') {
        Some((_, "")) => return Err(ADDRESS),
        Some((address, _)) => address,
        None => plain,
    };
    address.parse::<Ipv6Addr>().map_err(|_| ADDRESS)?;
    Ok(unescaped)
}

/// A path as it will be written: as it came if every character may stand there, else escaped anew.
fn as_written(path: &str) -> Parsed<String> {
    let unescaped = unescape(path, Part::Path)?;
    Ok(if is_escaped(path, Part::Path) { path.to_owned() } else { escape(&unescaped, Part::Path) })
}

/// The parts of a URL that differ in which characters are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    Host,
    Zone,
    User,
    Query,
    Fragment,
}

impl Part {
    /// Whether a byte stands here unescaped.
    fn keeps(self, byte: u8) -> bool {
        let more: &[u8] = match self {
            Self::Path => b"$&+,/:;=@",
            Self::Host | Self::Zone => b"!\"$&'()*+,:;<=>[]",
            Self::User => b"$&+,;=",
            Self::Query => b"",
            Self::Fragment => b"!$&()*+,/:;=?@",
        };
        byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || more.contains(&byte)
    }
}

fn escape(bytes: &[u8], part: Part) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if part.keeps(byte) {
            text.push(char::from(byte));
        } else if byte == b' ' && part == Part::Query {
            text.push('+');
        } else {
            text.extend(['%', char::from(HEX[usize::from(byte >> 4)]), char::from(HEX[usize::from(byte & 15)])]);
        }
    }
    text
}

fn unescape(text: &str, part: Part) -> Parsed<Vec<u8>> {
    const ESCAPE: Malformed = Malformed("a percent sign in it is not followed by what may stand there");
    let is_host = matches!(part, Part::Host | Part::Zone);
    let bytes = text.as_bytes();
    let mut unescaped = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'%' => {
                let digits = text.get(at..at + 2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
                let digits = digits.ok_or(ESCAPE)?;
                let value = u8::from_str_radix(digits, 16).map_err(|_| ESCAPE)?;
                let allowed = match part {
                    Part::Host => value >= 0x80 || digits == "25",
                    Part::Zone => digits == "25" || value == b' ' || Part::Host.keeps(value),
                    _ => true,
                };
                if !allowed {
                    return Err(ESCAPE);
                }
                unescaped.push(value);
                at += 2;
            }
            b'+' if part == Part::Query => unescaped.push(b' '),
            _ if is_host && byte < 0x80 && !part.keeps(byte) => {
                return Err(Malformed("there is a character in its host that is not allowed there"));
            }
            _ => unescaped.push(byte),
        }
    }
    Ok(unescaped)
}

/// Whether a text may be written as it is: every character is escaped or may stand there by RFC 3986.
fn is_escaped(text: &str, part: Part) -> bool {
    text.bytes().all(|byte| b"!$&'()*+,;=:@[]%".contains(&byte) || part.keeps(byte))
}
