//! What may be registered as a place to send a browser back to (RFC 6749 §3.1.2). At a request it is compared as text,
//! see [`super::Client::has_redirect_uri`].

use crate::domain::redirect::go_url::Url;

/// Schemes that run or show something on the page that follows them.
const DANGEROUS: [&str; 6] = ["javascript", "data", "file", "vbscript", "about", "blob"];

/// Where a browser may be sent without TLS.
const LOCAL: [&[u8]; 3] = [b"localhost", b"127.0.0.1", b"::1"];

/// Whether it may be registered, else what is wrong with it. Any scheme of an app's own will do, `http` on this very
/// machine alone.
///
/// With `is_careful` no comma may stand in it: URIs are stored with commas between them, so one with a comma is two when
/// it is read, and nobody has looked at the second.
pub fn check(uri: &str, is_careful: bool) -> Result<(), String> {
    if uri.is_empty() {
        return Err("redirect URI cannot be empty".to_owned());
    }
    let url = Url::parse(uri).map_err(|_| "invalid URL format".to_owned())?;
    if url.scheme().is_empty() || url.host().is_empty() {
        return Err("must have scheme and host".to_owned());
    }
    if DANGEROUS.contains(&url.scheme()) {
        return Err(format!("scheme '{}' is not allowed for security reasons", url.scheme()));
    }
    if url.scheme() == "http" && !LOCAL.contains(&url.hostname()) {
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
    fn what_may_be_registered() {
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
            let said = check(uri, true).err().unwrap_or_default();
            assert_eq!(said, complaint, "{uri}");
            assert_eq!(check(uri, false).err().unwrap_or_default(), complaint, "{uri}");
        }
    }

    #[test]
    fn a_comma_would_hide_a_second_uri() {
        let two = "https://app.example.com/cb,javascript://x/%0aalert(1)";
        assert!(check(two, false).is_ok());
        assert!(check(two, true).unwrap_err().contains("comma"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>(), is_careful in any::<bool>()) {
            let _ = check(&text, is_careful);
        }

        #[test]
        fn what_is_accepted_stays_what_was_looked_at(text in "[a-z]{1,10}://[a-zA-Z0-9@:,#%/?.\\[\\]]{0,30}") {
            if check(&text, true).is_ok() {
                // As it is stored among others and read again, it is still itself, and still good.
                let stored = [text.as_str(), "https://other.example.com/"].join(",");
                let read: Vec<&str> = stored.split(',').collect();
                prop_assert_eq!(read[0], text.as_str());
                prop_assert!(read.iter().all(|uri| check(uri, true).is_ok()));
            }
        }

        #[test]
        fn no_dangerous_scheme_is_accepted_in_any_letters(
            scheme in prop::sample::select(DANGEROUS.to_vec()),
            upper in any::<u32>(),
            rest in "[ -~]{0,30}",
        ) {
            let scheme: String = scheme.char_indices().map(|(at, letter)| {
                if upper >> at & 1 == 1 { letter.to_ascii_uppercase() } else { letter }
            }).collect();
            let bare = format!("{scheme}:{rest}");
            let with_host = format!("{scheme}://x/{rest}");
            prop_assert!(check(&bare, false).is_err());
            prop_assert!(check(&with_host, false).is_err());
        }
    }
}
