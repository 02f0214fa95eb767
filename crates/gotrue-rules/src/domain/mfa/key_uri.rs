//! Formats `otpauth://` key URIs with the reference's parameter order and escaping.

use foundation::error::{Error, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters that Go escapes in a segment of a path.
pub const PATH_SEGMENT_ESCAPES: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@');
/// The characters that are escaped in the path.
const PATH_ESCAPES: &AsciiSet = &PATH_SEGMENT_ESCAPES.remove(b'/');
/// The characters that are escaped in a query value.
const QUERY_ESCAPES: &AsciiSet = &PATH_SEGMENT_ESCAPES.add(b',').add(b';');

/// The issuer: the one in the request, else host and port of the site URL.
pub fn select_issuer<'a>(requested: &'a str, site_url: &'a str) -> &'a str {
    if !requested.is_empty() {
        return requested;
    }
    let rest = site_url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// Formats the key URI of a secret; 500 as in the reference if issuer or account is empty.
pub fn format_key_uri(issuer: &str, user: &str, secret: &str) -> Result<String> {
    if issuer.is_empty() || user.is_empty() {
        return Err(Error::internal("Error generating QR Code"));
    }
    let label = format!("{issuer}:{user}");
    let (label, issuer) = (utf8_percent_encode(&label, PATH_ESCAPES), utf8_percent_encode(issuer, QUERY_ESCAPES));
    Ok(format!("otpauth://totp/{label}?algorithm=SHA1&digits=6&issuer={issuer}&period=30&secret={secret}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuer_is_requested_one_or_site_host() {
        for (site, expected) in [
            ("https://shop.example.com", "shop.example.com"),
            ("http://localhost:3000/path?q#f", "localhost:3000"),
            ("https://user@shop.example.com?next", "shop.example.com"),
            ("/only/a/path", ""),
        ] {
            assert_eq!(select_issuer("", site), expected);
        }
        assert_eq!(select_issuer("My Shop", "https://shop.example.com"), "My Shop");
    }

    #[test]
    fn key_uri_contains_issuer_and_account() {
        let uri = format_key_uri("My Shop & Co", "ann+test@example.com", "ABC").unwrap();
        assert_eq!(
            uri,
            "otpauth://totp/My%20Shop%20&%20Co:ann+test@example.com\
             ?algorithm=SHA1&digits=6&issuer=My%20Shop%20&%20Co&period=30&secret=ABC"
        );
    }

    #[test]
    fn key_uri_requires_issuer_and_account() {
        assert_eq!(format_key_uri("shop", "", "ABC").unwrap_err().status(), 500);
        assert_eq!(format_key_uri("", "ann@example.com", "ABC").unwrap_err().message(), "Error generating QR Code");
    }
}
