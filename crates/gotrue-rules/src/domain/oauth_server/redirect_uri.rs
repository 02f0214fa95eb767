//! Validation of registered redirect URIs (RFC 6749 §3.1.2).
//!
//! Requests compare them as text, see [`super::OAuthClient::has_redirect_uri`].

use super::client::{ClientType, OAuthClient};
use crate::domain::policy::OAuthServerPolicy;
use crate::domain::redirect::go_url::Url;
use crate::domain::redirect::{LOOPBACK_NAMES, is_document_scheme, is_loopback_url};

/// Schemes that execute or display content in the browser.
const DANGEROUS_SCHEMES: [&str; 6] = ["javascript", "data", "file", "vbscript", "about", "blob"];

/// Schemes that wrap another URL, start another program or carry no response of a browser.
///
/// [`is_document_scheme`] names those of documents and scripts.
const OTHER_SCHEMES: [&str; 41] = [
    "android-app",
    "apt",
    "cid",
    "content",
    "dav",
    "facetime",
    "feed",
    "file",
    "ftp",
    "ftps",
    "gopher",
    "imap",
    "intent",
    "itms",
    "itms-apps",
    "itms-services",
    "jar",
    "javascript",
    "ldap",
    "ldaps",
    "livescript",
    "mailto",
    "market",
    "mhtml",
    "mid",
    "mk",
    "mocha",
    "news",
    "nntp",
    "pop",
    "resource",
    "rtsp",
    "search-ms",
    "sftp",
    "shell",
    "sip",
    "sms",
    "smb",
    "ssh",
    "tel",
    "telnet",
];
/// Further ones: WebSockets, and names that browsers use for pages of their own.
const BROWSER_SCHEMES: [&str; 15] = [
    "brave",
    "chrome",
    "chrome-untrusted",
    "devtools",
    "edge",
    "fs",
    "isolated-app",
    "microsoft-edge",
    "moz-icon",
    "opera",
    "urn",
    "vivaldi",
    "ws",
    "wss",
    "wyciwyg",
];
/// Beginnings of schemes: protocol handlers of Windows, system settings of Apple, and wrapped URLs.
const SCHEME_BEGINNINGS: [&str; 7] = ["ms-", "its", "x-apple", "intent+", "view-source+", "jar+", "x-javascript"];
/// The most characters of a redirect URI, where URIs are strict.
const MAX_LENGTH: usize = 2_000;

/// Which redirect URIs are rejected beyond the rules of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedirectUriRules {
    /// Commas are rejected: URIs are stored joined by commas, so that a URI with a comma becomes two, and the second one
    /// is not validated.
    pub is_comma_rejected: bool,
    /// Risky schemes, unclear hosts and over 2,000 characters are rejected.
    pub is_strict: bool,
}

impl RedirectUriRules {
    /// Returns the rules of a policy.
    pub fn from_policy(policy: &OAuthServerPolicy) -> Self {
        Self { is_comma_rejected: policy.is_comma_rejected, is_strict: policy.are_redirect_uris_strict }
    }
}

/// Validates a redirect URI for registration; the error describes the problem.
/// Custom schemes are allowed; `http` only for loopback hosts.
pub fn validate_redirect_uri(uri: &str, rules: RedirectUriRules) -> Result<(), String> {
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
    if rules.is_comma_rejected && uri.contains(',') {
        return Err("must not hold a comma, write it as %2C".to_owned());
    }
    if rules.is_strict { validate_strictly(uri, &url) } else { Ok(()) }
}

/// Rejects what a browser gives to another program or reads in another way, and what a user cannot read on a page.
fn validate_strictly(uri: &str, url: &Url) -> Result<(), String> {
    let scheme = url.scheme();
    let is_listed = OTHER_SCHEMES.contains(&scheme) || BROWSER_SCHEMES.contains(&scheme) || is_document_scheme(scheme);
    let is_extension = scheme.ends_with("-extension");
    if is_listed || is_extension || SCHEME_BEGINNINGS.iter().any(|beginning| scheme.starts_with(beginning)) {
        return Err(format!("scheme '{scheme}' is not allowed for security reasons"));
    }
    if uri.chars().count() > MAX_LENGTH {
        return Err(format!("cannot exceed {MAX_LENGTH} characters"));
    }
    if url.has_user() {
        return Err("user information not allowed in redirect URI".to_owned());
    }
    // Underscores occur in hosts of custom schemes.
    let is_host_byte = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_".contains(byte);
    if url.ip().is_none() && !url.hostname().iter().all(is_host_byte) {
        return Err("host must consist of letters, digits, dots and hyphens".to_owned());
    }
    Ok(())
}

/// Whether an earlier consent does not vouch for the receiver of a code (RFC 8252 §8.6).
///
/// A public client has no secret, and any program of a device can listen on loopback or claim a custom scheme.
pub fn requires_new_consent(policy: &OAuthServerPolicy, client: &OAuthClient, redirect_uri: &str) -> bool {
    let is_web = Url::parse(redirect_uri).is_ok_and(|url| url.scheme() == "https") && !is_loopback_url(redirect_uri);
    policy.requires_consent_of_native_clients && client.client_type == ClientType::Public && !is_web
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RECORDED: RedirectUriRules = RedirectUriRules { is_comma_rejected: false, is_strict: false };
    const CAREFUL: RedirectUriRules = RedirectUriRules { is_comma_rejected: true, is_strict: true };

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
            let actual = validate_redirect_uri(uri, CAREFUL).err().unwrap_or_default();
            assert_eq!(actual, complaint, "{uri}");
            assert_eq!(validate_redirect_uri(uri, RECORDED).err().unwrap_or_default(), complaint, "{uri}");
        }
    }

    #[test]
    fn comma_is_rejected_when_careful() {
        let two = "https://app.example.com/cb,javascript://x/%0aalert(1)";
        assert!(validate_redirect_uri(two, RECORDED).is_ok());
        assert!(validate_redirect_uri(two, CAREFUL).unwrap_err().contains("comma"));
    }

    proptest! {
        #[test]
        fn any_text_validates_without_panic(text in any::<String>(), is_comma_rejected in any::<bool>(), is_strict in any::<bool>()) {
            let _ = validate_redirect_uri(&text, RedirectUriRules { is_comma_rejected, is_strict });
        }

        #[test]
        fn accepted_uri_survives_storage(text in "[a-z]{1,10}://[a-zA-Z0-9@:,#%/?.\\[\\]]{0,30}") {
            if validate_redirect_uri(&text, CAREFUL).is_ok() {
                // The URI is stored among others, read again, and must still be valid.
                let stored = [text.as_str(), "https://other.example.com/"].join(",");
                let read: Vec<&str> = stored.split(',').collect();
                prop_assert_eq!(read[0], text.as_str());
                prop_assert!(read.iter().all(|uri| validate_redirect_uri(uri, CAREFUL).is_ok()));
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
            prop_assert!(validate_redirect_uri(&bare, RECORDED).is_err());
            prop_assert!(validate_redirect_uri(&with_host, RECORDED).is_err());
        }
    }
}
