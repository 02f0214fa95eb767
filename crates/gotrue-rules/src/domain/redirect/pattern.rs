//! A pattern of the allow-list, and the parts of targets.

use super::glob::{Glob, GlobError};

/// Schemes of documents and scripts, which no pattern can allow.
const FORBIDDEN_SCHEMES: [&str; 8] =
    ["about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"];

/// A pattern of the allow-list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pub text: String,
    pub glob: Glob,
    /// The pattern up to the end of the authority, and the rest; `None` if it does not spell out `://`.
    pub split: Option<(Glob, Glob)>,
    /// The literal scheme; `None` if the scheme is a wildcard.
    pub scheme: Option<String>,
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Self, GlobError> {
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

pub(super) fn without_fragment(target: &str) -> &str {
    target.split('#').next().unwrap_or_default()
}

/// Whether the host has only letters, digits, dots and hyphens, with a letter or digit at both ends.
pub(super) fn is_plain_host(host: &[u8]) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    edge(host.first()) && edge(host.last()) && host.iter().all(inside)
}
