//! The `otpauth://` URI that an app reads a secret from, in the reference's order and escapes.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::domain::error::{Error, Result};

/// What stands unescaped in a value of the query.
const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b':')
    .remove(b'=')
    .remove(b'@');
/// What stands unescaped in the path.
const IN_PATH: &AsciiSet = &IN_QUERY.remove(b',').remove(b'/').remove(b';');

/// Who vouches for a factor: what the client names, else host and port of the site.
pub fn issuer<'a>(asked: &'a str, site_url: &'a str) -> &'a str {
    if !asked.is_empty() {
        return asked;
    }
    let rest = site_url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// The URI of a secret; 500 as recorded if there is nobody to name in it.
pub fn key_uri(issuer: &str, account: &str, secret: &str) -> Result<String> {
    if issuer.is_empty() || account.is_empty() {
        return Err(Error::internal("Error generating QR Code"));
    }
    let label = format!("{issuer}:{account}");
    let (label, issuer) = (utf8_percent_encode(&label, IN_PATH), utf8_percent_encode(issuer, IN_QUERY));
    Ok(format!("otpauth://totp/{label}?algorithm=SHA1&digits=6&issuer={issuer}&period=30&secret={secret}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_issuer_is_the_one_asked_for_else_the_site() {
        for (site, expected) in [
            ("https://shop.example.com", "shop.example.com"),
            ("http://localhost:3000/path?q#f", "localhost:3000"),
            ("https://user@shop.example.com?next", "shop.example.com"),
            ("/only/a/path", ""),
        ] {
            assert_eq!(issuer("", site), expected);
        }
        assert_eq!(issuer("My Shop", "https://shop.example.com"), "My Shop");
    }

    #[test]
    fn a_uri_names_issuer_and_account() {
        let uri = key_uri("My Shop & Co", "ann+test@example.com", "ABC").unwrap();
        assert_eq!(
            uri,
            "otpauth://totp/My%20Shop%20&%20Co:ann+test@example.com\
             ?algorithm=SHA1&digits=6&issuer=My%20Shop%20&%20Co&period=30&secret=ABC"
        );
    }

    #[test]
    fn a_uri_needs_both() {
        assert_eq!(key_uri("shop", "", "ABC").unwrap_err().status(), 500);
        assert_eq!(key_uri("", "ann@example.com", "ABC").unwrap_err().message(), "Error generating QR Code");
    }
}
