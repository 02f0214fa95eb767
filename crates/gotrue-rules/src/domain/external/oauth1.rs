//! OAuth 1.0a (RFC 5849): HMAC-SHA1 request signatures and token responses.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use super::provider::ProviderResponseError;

/// Everything except the unreserved characters of RFC 3986 is escaped.
const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A token and its shared secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OAuth1Token {
    /// `oauth_token`.
    pub token: String,
    /// `oauth_token_secret`.
    pub secret: String,
}

/// Hides the token and its secret.
impl std::fmt::Debug for OAuth1Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The parameters of a request signature.
#[derive(Clone, Copy)]
pub struct OAuth1SigningParams<'a> {
    /// `oauth_consumer_key`: the client id at the provider.
    pub consumer_key: &'a str,
    /// The client secret at the provider.
    pub secret: &'a str,
    /// The token's secret; empty without a token.
    pub token_secret: &'a str,
    /// `oauth_nonce`: unique per request.
    pub nonce: &'a str,
    /// `oauth_timestamp`, seconds since the epoch.
    pub timestamp: i64,
}

/// Builds the `Authorization` header of a request without a form body.
/// `own` contains additional protocol parameters: `oauth_token`, `oauth_callback`, `oauth_verifier`.
pub fn authorization_header(
    method: &str,
    url: &Url,
    own: &[(&str, &str)],
    signing: &OAuth1SigningParams<'_>,
) -> String {
    let timestamp = signing.timestamp.to_string();
    let standard = [
        ("oauth_consumer_key", signing.consumer_key),
        ("oauth_nonce", signing.nonce),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_timestamp", &timestamp),
        ("oauth_version", "1.0"),
    ];
    let mut protocol: Vec<_> = standard.iter().chain(own).map(|(name, value)| (escape(name), escape(value))).collect();
    let signature = sign(&signature_base_string(method, url, &protocol), signing);
    protocol.push(("oauth_signature".to_owned(), escape(&signature)));
    protocol.sort();
    let members: Vec<_> = protocol.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    format!("OAuth {}", members.join(","))
}

/// Parses the token from a form-encoded response.
pub fn parse_token(body: &[u8]) -> Result<OAuth1Token, ProviderResponseError> {
    let member = |wanted: &str| {
        let found = url::form_urlencoded::parse(body).find(|(name, _)| name == wanted).map(|(_, value)| value);
        found
            .map(std::borrow::Cow::into_owned)
            .ok_or_else(|| ProviderResponseError(format!("the response has no {wanted}")))
    };
    Ok(OAuth1Token { token: member("oauth_token")?, secret: member("oauth_token_secret")? })
}

/// Builds the signature base string (RFC 5849 §3.4.1).
fn signature_base_string(method: &str, url: &Url, protocol: &[(String, String)]) -> String {
    let mut all = protocol.to_vec();
    all.extend(url.query_pairs().map(|(name, value)| (escape(&name), escape(&value))));
    all.sort();
    let parameters: Vec<_> = all.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    format!("{method}&{}&{}", escape(bare.as_str()), escape(&parameters.join("&")))
}

fn sign(base: &str, signing: &OAuth1SigningParams<'_>) -> String {
    let key = format!("{}&{}", escape(signing.secret), escape(signing.token_secret));
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key.as_bytes());
    STANDARD.encode(hmac::sign(&key, base.as_bytes()))
}

fn escape(text: &str) -> String {
    utf8_percent_encode(text, &ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    // The example of Twitter's API documentation, with the form parameter moved to the query.
    #[test]
    fn signature_matches_twitter_example() {
        let url = Url::parse(
            "https://api.twitter.com/1.1/statuses/update.json?include_entities=true&status=Hello%20Ladies%20%2B%20\
             Gentlemen%2C%20a%20signed%20OAuth%20request!",
        );
        let signing = OAuth1SigningParams {
            consumer_key: "xvz1evFS4wEEPTGEFPHBog",
            secret: "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw",
            token_secret: "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE",
            nonce: "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg",
            timestamp: 1_318_622_958,
        };
        let token = "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb";
        let header = authorization_header("POST", &url.unwrap(), &[("oauth_token", token)], &signing);
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
    fn base_string_sorts_all_parameters() {
        let url = Url::parse("HTTPS://Host.example.com:443/a%20b?b=2&a=3&a=1%2B#x").unwrap();
        let protocol = [("oauth_nonce".to_owned(), "n".to_owned())];
        assert_eq!(
            signature_base_string("GET", &url, &protocol),
            "GET&https%3A%2F%2Fhost.example.com%2Fa%2520b&a%3D1%252B%26a%3D3%26b%3D2%26oauth_nonce%3Dn"
        );
    }

    #[test]
    fn token_response_requires_token_and_secret() {
        let token = parse_token(b"oauth_token=a%20b&oauth_token_secret=&x=1").unwrap();
        assert_eq!((&*token.token, &*token.secret), ("a b", ""));
        for body in ["", "oauth_token=a", "oauth_token_secret=b", "<html>"] {
            assert!(parse_token(body.as_bytes()).is_err(), "{body}");
        }
    }
}
