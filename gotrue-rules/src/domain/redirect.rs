//! Where a browser may be sent back to (`endpoints.md` §1.10).

mod glob;
pub mod go_url;
mod loopback;
mod strict;

use self::go_url::Url;

pub use self::glob::{Glob, Malformed};
pub use self::loopback::{is_loopback_host, is_loopback_url};

/// The site and what else the operator allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowList {
    site: String,
    site_url: Option<Url>,
    patterns: Vec<Pattern>,
    is_strict: bool,
}

/// One pattern of the allow-list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    glob: Glob,
    /// The scheme that it spells out; none where that is a wildcard too.
    scheme: Option<String>,
}

/// A pattern of the allow-list that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the redirect pattern {pattern:?} cannot be used: {why}")]
pub struct BadPattern {
    /// The pattern as the operator wrote it.
    pub pattern: String,
    /// What is wrong with it.
    pub why: Malformed,
}

/// What a request says about where to go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The header `redirect_to`; one that is not empty hides the parameter.
    pub header: &'a str,
    /// The parameter `redirect_to` of the query or a form.
    pub parameter: &'a str,
    /// The header `Referer`.
    pub referer: &'a str,
}

impl AllowList {
    /// Reads the site's URL and all patterns; tells the first pattern that is malformed.
    pub fn compile(site_url: &str, patterns: &[String]) -> Result<Self, BadPattern> {
        let compile = |pattern: &String| match Glob::parse(pattern) {
            Ok(glob) => Ok(Pattern { glob, scheme: literal_scheme(pattern) }),
            Err(why) => Err(BadPattern { pattern: pattern.clone(), why }),
        };
        Ok(Self {
            site: site_url.to_owned(),
            site_url: Url::parse(site_url).ok(),
            patterns: patterns.iter().map(compile).collect::<Result<_, _>>()?,
            is_strict: false,
        })
    }

    /// The same list by the rules of `basalt serve` instead of the recorded ones, if `is_strict`.
    #[must_use]
    pub fn strict(self, is_strict: bool) -> Self {
        Self { is_strict, ..self }
    }

    /// The target of a request: what it asks for where that is allowed, else its `Referer` where that is, else the site.
    pub fn choose(&self, asked: Asked<'_>) -> String {
        let first = if asked.header.is_empty() { asked.parameter } else { asked.header };
        let allowed = [first, asked.referer].into_iter().find(|target| self.allows(target));
        allowed.unwrap_or(&self.site).to_owned()
    }

    /// Whether a browser may be sent there. As recorded: to the site itself (on loopback at any port), to a loopback
    /// address, or to what a pattern matches, its fragment aside.
    pub fn allows(&self, target: &str) -> bool {
        let (Some(site), Ok(url)) = (&self.site_url, Url::parse(target)) else { return false };
        if target.is_empty() {
            return false;
        }
        if self.is_strict {
            return strict::allows(site, &self.patterns, target, &url);
        }
        if is_same_site(site, &url) {
            return true;
        }
        if is_number(url.hostname()) {
            return false;
        }
        if let Some(ip) = url.ip() {
            return ip.to_canonical().is_loopback();
        }
        if matches!(url.scheme(), "http" | "https") && !is_plain_host(url.hostname()) {
            return false;
        }
        let text = without_fragment(target);
        self.patterns.iter().any(|pattern| pattern.glob.matches(text))
    }
}

/// The scheme that a pattern begins with, in lower case, if it is spelled out.
fn literal_scheme(pattern: &str) -> Option<String> {
    let (scheme, _) = pattern.split_once(':')?;
    let is_scheme = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then(|| scheme.to_ascii_lowercase())
}

fn without_fragment(target: &str) -> &str {
    target.split('#').next().unwrap_or_default()
}

/// An address written as one number, which browsers take for IPv4.
fn is_number(host: &[u8]) -> bool {
    !host.is_empty() && host.iter().all(u8::is_ascii_digit)
}

fn is_same_site(site: &Url, url: &Url) -> bool {
    site.hostname() == url.hostname()
        && site.scheme() == url.scheme()
        && (site.port() == url.port() || is_local(url.hostname()))
}

/// A name or address of this very machine, where native apps listen at ports of their choice (RFC 8252 §7.3).
fn is_local(host: &[u8]) -> bool {
    let host = host.to_ascii_lowercase();
    let names: [&[u8]; 5] = [b"localhost", b"127.0.0.1", b"::1", b"0.0.0.0", b"::"];
    names.contains(&host.as_slice()) || host.ends_with(b".localhost")
}

/// Letters, digits, dots and hyphens, with a letter or digit at both ends.
fn is_plain_host(host: &[u8]) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    edge(host.first()) && edge(host.last()) && host.iter().all(inside)
}

#[cfg(test)]
mod tests;
