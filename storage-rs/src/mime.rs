//! Media types: which ones a bucket allows.

use crate::error::Error;

/// The longest allowed type, in characters.
const MAXIMUM_TYPE: usize = 1000;

/// Checks the type of an object by those of its bucket. An empty list allows all. The comparison is literal: parameters and
/// case count.
///
/// # Errors
/// 415: it is not among them.
pub fn check(mime_type: &str, allowed: &[String]) -> Result<(), Error> {
    if allowed.is_empty() {
        return Ok(());
    }
    let (kind, subtype) = mime_type.split_once('/').ok_or_else(|| Error::mime_type(mime_type))?;
    let subtype = subtype.split('/').next().unwrap_or_default();
    let is_allowed = allowed.iter().any(|pattern| {
        let mut parts = pattern.split('/');
        let (allowed_kind, allowed_subtype) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        allowed_kind == kind && (allowed_subtype == "*" || allowed_subtype == subtype)
    });
    if is_allowed { Ok(()) } else { Err(Error::mime_type(mime_type)) }
}

/// Checks the types that a bucket is to allow: `type/subtype`, with a charset or not, or anything that ends in `*`.
///
/// # Errors
/// 415: one is neither.
pub fn check_allowed(types: &[String]) -> Result<(), Error> {
    match types.iter().find(|text| text.chars().count() > MAXIMUM_TYPE || !is_pattern(text)) {
        Some(text) => Err(Error::mime_type(text)),
        None => Ok(()),
    }
}

fn is_pattern(text: &str) -> bool {
    if text.ends_with('*') {
        return true;
    }
    let is_name = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-+.".contains(&byte))
    };
    let (essence, charset) = match text.split_once(';') {
        Some((essence, parameter)) => (essence, parameter.trim_start().strip_prefix("charset=")),
        None => (text, Some("utf-8")),
    };
    let is_charset =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    essence.split_once('/').is_some_and(|(kind, subtype)| is_name(kind) && is_name(subtype))
        && charset.is_some_and(is_charset)
}

/// The type of a response: HTML is shown as text, so that a page in a bucket is not one of this host.
pub fn served_type(mime_type: &str) -> &str {
    if mime_type.to_ascii_lowercase().contains("text/html") { "text/plain" } else { mime_type }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(types: &[&str]) -> Vec<String> {
        types.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn types_are_compared_literally() {
        let allowed = list(&["image/*", "application/pdf", "text/plain"]);
        for mime_type in ["image/png", "application/pdf", "text/plain"] {
            assert!(check(mime_type, &allowed).is_ok(), "{mime_type}");
        }
        for mime_type in ["text/plain;charset=UTF-8", "Image/png", "video/mp4", "plain", ""] {
            assert!(check(mime_type, &allowed).is_err(), "{mime_type}");
        }
        assert!(check("anything", &[]).is_ok());
        assert!(check("image/png", &list(&["*/*"])).is_err());
    }

    #[test]
    fn allowed_types_have_the_form_of_one() {
        let good = ["image/png", "image/*", "*", "text/plain; charset=utf-8", "text/plain;charset=utf-8", "a.b+c/d-e"];
        for text in good {
            assert!(check_allowed(&list(&[text])).is_ok(), "{text}");
        }
        for text in ["image", "image/", "text/plain; version=1", "text/plain;charset=", "a b/c", ""] {
            assert!(check_allowed(&list(&[text])).is_err(), "{text}");
        }
    }
}
