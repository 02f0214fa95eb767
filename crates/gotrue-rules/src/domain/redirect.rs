//! Validates redirect targets against the site URL and the redirect allow-list.

mod glob;
pub mod go_url;
mod loopback;
mod pattern;
mod strict;

use self::go_url::Url;

pub use self::glob::{Glob, GlobError};
pub use self::loopback::{LOOPBACK_NAMES, is_loopback_host, is_loopback_or_unspecified, is_loopback_url};
pub use self::pattern::is_document_scheme;
use self::pattern::{Pattern, is_plain_host, without_fragment};

/// The site URL and the operator's redirect patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowList {
    site: String,
    site_url: Option<Url>,
    patterns: Vec<Pattern>,
    is_strict: bool,
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

/// Whether the host is a single number, which browsers read as IPv4.
fn is_numeric_host(host: &[u8]) -> bool {
    !host.is_empty() && host.iter().all(u8::is_ascii_digit)
}

fn is_same_site(site: &Url, url: &Url) -> bool {
    site.hostname() == url.hostname()
        && site.scheme() == url.scheme()
        && (site.port() == url.port() || is_loopback_or_unspecified(url.hostname()))
}

#[cfg(test)]
mod tests;
