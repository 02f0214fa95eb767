//! OAuth 1.0a (RFC 5849): how a request is signed with HMAC-SHA1, and how tokens are read.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use super::provider::BadAnswer;

/// All but the unreserved characters of RFC 3986 is escaped.
const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A token with the secret that requests are signed with besides our own.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Token {
    /// `oauth_token`.
    pub token: String,
    /// `oauth_token_secret`.
    pub secret: String,
}

/// Neither half is printed.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// What a request is signed with.
#[derive(Clone, Copy)]
pub struct Signature<'a> {
    /// Our id there.
    pub key: &'a str,
    /// Our secret there.
    pub secret: &'a str,
    /// The token's secret; empty: none.
    pub token_secret: &'a str,
    /// A text that no other request has.
    pub nonce: &'a str,
    /// When it is signed, seconds since the epoch.
    pub timestamp: i64,
}

/// The header `Authorization` of a request without a form. `own` are parameters of the protocol besides the usual ones:
/// `oauth_token`, `oauth_callback`, `oauth_verifier`.
pub fn authorization(method: &str, url: &Url, own: &[(&str, &str)], by: &Signature<'_>) -> String {
    let timestamp = by.timestamp.to_string();
    let usual = [
        ("oauth_consumer_key", by.key),
        ("oauth_nonce", by.nonce),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_timestamp", &timestamp),
        ("oauth_version", "1.0"),
    ];
    let mut protocol: Vec<_> = usual.iter().chain(own).map(|(name, value)| (escape(name), escape(value))).collect();
    let signature = sign(&base(method, url, &protocol), by);
    protocol.push(("oauth_signature".to_owned(), escape(&signature)));
    protocol.sort();
    let members: Vec<_> = protocol.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    format!("OAuth {}", members.join(","))
}

/// The token in an answer, which is a form.
pub fn read_token(body: &[u8]) -> Result<Token, BadAnswer> {
    let member = |wanted: &str| {
        let found = url::form_urlencoded::parse(body).find(|(name, _)| name == wanted).map(|(_, value)| value);
        found.map(std::borrow::Cow::into_owned).ok_or_else(|| BadAnswer(format!("there is no {wanted}")))
    };
    Ok(Token { token: member("oauth_token")?, secret: member("oauth_token_secret")? })
}

/// What is signed: method, address without its query, and all parameters, those of the query included, in order.
fn base(method: &str, url: &Url, protocol: &[(String, String)]) -> String {
    let mut all = protocol.to_vec();
    all.extend(url.query_pairs().map(|(name, value)| (escape(&name), escape(&value))));
    all.sort();
    let parameters: Vec<_> = all.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    format!("{method}&{}&{}", escape(bare.as_str()), escape(&parameters.join("&")))
}

fn sign(base: &str, by: &Signature<'_>) -> String {
    let key = format!("{}&{}", escape(by.secret), escape(by.token_secret));
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key.as_bytes());
    STANDARD.encode(hmac::sign(&key, base.as_bytes()))
}

fn escape(text: &str) -> String {
    utf8_percent_encode(text, &ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    // The example in the documentation of Twitter's API, its form's parameter in the query.
    #[test]
    fn a_request_is_signed_as_the_known_example() {
        let url = Url::parse(
            "https://api.twitter.com/1.1/statuses/update.json?include_entities=true&status=Hello%20Ladies%20%2B%20\
             Gentlemen%2C%20a%20signed%20OAuth%20request!",
        );
        let by = Signature {
            key: "xvz1evFS4wEEPTGEFPHBog",
            secret: "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw",
            token_secret: "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE",
            nonce: "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg",
            timestamp: 1_318_622_958,
        };
        let token = "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb";
        let header = authorization("POST", &url.unwrap(), &[("oauth_token", token)], &by);
        assert_eq!(
            header,
            "OAuth oauth_consumer_key=\"xvz1evFS4wEEPTGEFPHBog\",\
             oauth_nonce=\"kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg\",\
             oauth_signature=\"hCtSmYh%2BiHYCEqBWrE7C7hYmtUk%3D\",oauth_signature_method=\"HMAC-SHA1\",\
             oauth_timestamp=\"1318622958\",\
             oauth_token=\"370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb\",oauth_version=\"1.0\""
        );
    }

    #[test]
    fn what_is_signed_names_every_parameter_in_order() {
        let url = Url::parse("HTTPS://Host.example.com:443/a%20b?b=2&a=3&a=1%2B#x").unwrap();
        let protocol = [("oauth_nonce".to_owned(), "n".to_owned())];
        assert_eq!(
            base("GET", &url, &protocol),
            "GET&https%3A%2F%2Fhost.example.com%2Fa%2520b&a%3D1%252B%26a%3D3%26b%3D2%26oauth_nonce%3Dn"
        );
    }

    #[test]
    fn a_token_has_two_halves() {
        let token = read_token(b"oauth_token=a%20b&oauth_token_secret=&x=1").unwrap();
        assert_eq!((&*token.token, &*token.secret), ("a b", ""));
        for body in ["", "oauth_token=a", "oauth_token_secret=b", "<html>"] {
            assert!(read_token(body.as_bytes()).is_err(), "{body}");
        }
    }
}
