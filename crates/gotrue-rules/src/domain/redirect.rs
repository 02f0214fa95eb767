//! Validates redirect targets against the site URL and the redirect allow-list.

mod glob;
pub mod go_url;
mod loopback;
mod strict;

use self::go_url::Url;

pub use self::glob::{Glob, GlobError};
pub use self::loopback::{LOOPBACK_NAMES, is_loopback_host, is_loopback_or_unspecified, is_loopback_url};

/// Schemes of documents and scripts, which no pattern can allow.
const FORBIDDEN_SCHEMES: [&str; 8] =
    ["about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"];

/// The site URL and the operator's redirect patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowList {
    site: String,
    site_url: Option<Url>,
    patterns: Vec<Pattern>,
    is_strict: bool,
}

/// A pattern of the allow-list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    text: String,
    glob: Glob,
    /// The pattern up to the end of the authority, and the rest; `None` if it does not spell out `://`.
    split: Option<(Glob, Glob)>,
    /// The literal scheme; `None` if the scheme is a wildcard.
    scheme: Option<String>,
}

/// A malformed pattern of the allow-list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the redirect pattern {pattern:?} cannot be used: {why}")]
pub struct RedirectPatternError {
    /// The configured pattern.
    pub pattern: String,
    pub why: GlobError,
}

/// The redirect targets of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RedirectRequest<'a> {
    /// The header `redirect_to`; a non-empty one overrides the parameter.
    pub header: &'a str,
    /// The parameter `redirect_to` of the query or a form.
    pub parameter: &'a str,
    /// The header `Referer`.
    pub referer: &'a str,
}

impl AllowList {
    /// Parses the site URL and all patterns.
    ///
    /// # Errors
    /// The first malformed pattern.
    pub fn compile(site_url: &str, patterns: &[String]) -> Result<Self, RedirectPatternError> {
        let compile = |pattern: &String| {
            Pattern::parse(pattern).map_err(|why| RedirectPatternError { pattern: pattern.clone(), why })
        };
        Ok(Self {
            site: site_url.to_owned(),
            site_url: Url::parse(site_url).ok(),
            patterns: patterns.iter().map(compile).collect::<Result<_, _>>()?,
            is_strict: false,
        })
    }

    /// Applies the rules of `basalt serve` instead of the reference's, if `is_strict`.
    #[must_use]
    pub fn with_strict(self, is_strict: bool) -> Self {
        Self { is_strict, ..self }
    }

    /// Adds a pattern; `None` if it is malformed.
    #[must_use]
    pub fn with_pattern(mut self, pattern: &str) -> Option<Self> {
        self.patterns.push(Pattern::parse(pattern).ok()?);
        Some(self)
    }

    /// Returns the site URL.
    pub fn site_url(&self) -> &str {
        &self.site
    }

    /// Returns the patterns as configured.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(|pattern| pattern.text.as_str())
    }

    /// Selects the redirect target: an allowed `redirect_to`, else an allowed `Referer`, else the site URL.
    pub fn select_target(&self, request: RedirectRequest<'_>) -> String {
        let first = if request.header.is_empty() { request.parameter } else { request.header };
        let allowed = [first, request.referer].into_iter().find(|target| self.allows(target));
        allowed.unwrap_or(&self.site).to_owned()
    }

    /// Whether a browser may be redirected to the target.
    /// As in the reference: the site itself (on loopback at any port), a loopback address, or a match of a pattern,
    /// ignoring the fragment.
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
        if is_numeric_host(url.hostname()) {
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

impl Pattern {
    fn parse(text: &str) -> Result<Self, GlobError> {
        let glob = Glob::parse(text)?;
        let split = glob.split_after_authority();
        Ok(Self { text: text.to_owned(), glob, split, scheme: literal_scheme(text) })
    }
}

/// Whether a scheme is one of documents and scripts, to which no browser is redirected.
pub fn is_document_scheme(scheme: &str) -> bool {
    FORBIDDEN_SCHEMES.contains(&scheme)
}

/// The literal scheme at the beginning of a pattern, in lower case.
fn literal_scheme(pattern: &str) -> Option<String> {
    let (scheme, _) = pattern.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then(|| scheme.to_ascii_lowercase())
}

fn without_fragment(target: &str) -> &str {
    target.split('#').next().unwrap_or_default()
}

/// Whether the host is a single number, which browsers read as IPv4.
fn is_numeric_host(host: &[u8]) -> bool {
    !host.is_empty() && host.iter().all(u8::is_ascii_digit)
}

fn is_same_site(site: &Url, url: &Url) -> bool {
    site.hostname() == url.hostname()
        && site.scheme() == url.scheme()
        && (site.port() == url.port() || is_loopback_or_unspecified(url.hostname()))
}

/// Whether the host has only letters, digits, dots and hyphens, with a letter or digit at both ends.
fn is_plain_host(host: &[u8]) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    edge(host.first()) && edge(host.last()) && host.iter().all(inside)
}

#[cfg(test)]
mod tests;
