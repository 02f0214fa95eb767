//! Validation of registered redirect URIs (RFC 6749 §3.1.2).
//!
//! Requests compare them as text, see [`super::OAuthClient::has_redirect_uri`].

use crate::domain::redirect::LOOPBACK_NAMES;
use crate::domain::redirect::go_url::Url;

/// Schemes that execute or display content in the browser.
const DANGEROUS_SCHEMES: [&str; 6] = ["javascript", "data", "file", "vbscript", "about", "blob"];

/// Validates a redirect URI for registration; the error describes the problem.
/// Custom schemes are allowed; `http` only for loopback hosts.
///
/// With `is_careful` commas are rejected: URIs are stored joined by commas, so that a URI with a comma becomes two, and
/// the second one is not validated.
pub fn validate_redirect_uri(uri: &str, is_careful: bool) -> Result<(), String> {
    if uri.is_empty() {
        return Err("redirect URI cannot be empty".to_owned());
    }
    let url = Url::parse(uri).map_err(|_| "invalid URL format".to_owned())?;
    if url.scheme().is_empty() || url.host().is_empty() {
        return Err("must have scheme and host".to_owned());
    }
    if DANGEROUS_SCHEMES.contains(&url.scheme()) {
        return Err(format!("scheme '{}' is not allowed for security reasons", url.scheme()));
    }
    if url.scheme() == "http" && !LOOPBACK_NAMES.contains(&url.hostname()) {
        return Err("HTTP scheme only allowed for localhost".to_owned());
    }
    if url.has_fragment() {
        return Err("fragment not allowed in redirect URI".to_owned());
    }
    if is_careful && uri.contains(',') {
        return Err("must not hold a comma, write it as %2C".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn redirect_uris_are_validated() {
        for (uri, complaint) in [
            ("https://app.example.com/callback", ""),
            ("https://app.example.com:8443/callback?a=1", ""),
            ("http://localhost:3000/cb", ""),
            ("http://127.0.0.1/cb", ""),
            ("http://[::1]:1/cb", ""),
            ("myapp://back", ""),
            ("https://app.example.com/cb#", ""),
            ("", "redirect URI cannot be empty"),
            ("ht tp://x", "invalid URL format"),
            ("https://app.example.com/%zz", "invalid URL format"),
            ("https://app.example.com/\n", "invalid URL format"),
            ("/callback", "must have scheme and host"),
            ("//app.example.com/cb", "must have scheme and host"),
            ("https://", "must have scheme and host"),
            ("https:app.example.com", "must have scheme and host"),
            ("data:text/html,x", "must have scheme and host"),
            ("javascript://x/alert", "scheme 'javascript' is not allowed for security reasons"),
            ("JavaScript://x/alert", "scheme 'javascript' is not allowed for security reasons"),
            ("vbscript://x", "scheme 'vbscript' is not allowed for security reasons"),
            ("http://shop.example.com/", "HTTP scheme only allowed for localhost"),
            ("http://localhost.evil.example/", "HTTP scheme only allowed for localhost"),
            ("http://localhost@evil.example/", "HTTP scheme only allowed for localhost"),
            ("http://127.0.0.1.evil.example/", "HTTP scheme only allowed for localhost"),
            ("http://0.0.0.0/", "HTTP scheme only allowed for localhost"),
            ("https://app.example.com/#top", "fragment not allowed in redirect URI"),
        ] {
            let actual = validate_redirect_uri(uri, true).err().unwrap_or_default();
            assert_eq!(actual, complaint, "{uri}");
            assert_eq!(validate_redirect_uri(uri, false).err().unwrap_or_default(), complaint, "{uri}");
        }
    }

    #[test]
    fn comma_is_rejected_when_careful() {
        let two = "https://app.example.com/cb,javascript://x/%0aalert(1)";
        assert!(validate_redirect_uri(two, false).is_ok());
        assert!(validate_redirect_uri(two, true).unwrap_err().contains("comma"));
    }

    proptest! {
        #[test]
        fn any_text_validates_without_panic(text in any::<String>(), is_careful in any::<bool>()) {
            let _ = validate_redirect_uri(&text, is_careful);
        }

        #[test]
        fn accepted_uri_survives_storage(text in "[a-z]{1,10}://[a-zA-Z0-9@:,#%/?.\\[\\]]{0,30}") {
            if validate_redirect_uri(&text, true).is_ok() {
                // The URI is stored among others, read again, and must still be valid.
                let stored = [text.as_str(), "https://other.example.com/"].join(",");
                let read: Vec<&str> = stored.split(',').collect();
                prop_assert_eq!(read[0], text.as_str());
                prop_assert!(read.iter().all(|uri| validate_redirect_uri(uri, true).is_ok()));
            }
        }

        #[test]
        fn dangerous_schemes_are_rejected_in_any_case(
            scheme in prop::sample::select(DANGEROUS_SCHEMES.to_vec()),
            upper in any::<u32>(),
            rest in "[ -~]{0,30}",
        ) {
            let scheme: String = scheme.char_indices().map(|(at, character)| {
                if upper >> at & 1 == 1 { character.to_ascii_uppercase() } else { character }
            }).collect();
            let bare = format!("{scheme}:{rest}");
            let with_host = format!("{scheme}://x/{rest}");
            prop_assert!(validate_redirect_uri(&bare, false).is_err());
            prop_assert!(validate_redirect_uri(&with_host, false).is_err());
        }
    }
}
