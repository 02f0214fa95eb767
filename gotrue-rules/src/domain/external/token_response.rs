//! Parses the response of a provider's token endpoint.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::provider::{ProviderResponseError, ProviderTokenResponse};
use crate::wire::go_json::{Document, WholeNumber};

/// Parses a token response: JSON, or a form if the content type says so.
///
/// # Errors
/// A status other than 2xx, a member `error`, and a missing access token.
pub fn parse(status: u16, content_type: &str, body: &[u8]) -> Result<ProviderTokenResponse, ProviderResponseError> {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_form = matches!(kind.as_str(), "application/x-www-form-urlencoded" | "text/plain");
    let read = if is_form {
        parse_form(body).map(|members| (TokenResponseJson::from_form(&members), members))
    } else {
        parse_json(body)
    };
    let (given, members) = match read {
        Ok(read) => read,
        Err(_) if !(200..300).contains(&status) => return Err(ProviderResponseError(format!("status {status}"))),
        Err(bad) => return Err(bad),
    };
    if !(200..300).contains(&status) || !given.error.is_empty() {
        return Err(ProviderResponseError(format!("status {status}, error {:?}", given.error)));
    }
    if given.access_token.is_empty() {
        return Err(ProviderResponseError("the response has no access token".to_owned()));
    }
    // The token may be stored in the database, which rejects U+0000.
    if given.access_token.contains('\0') || given.refresh_token.contains('\0') {
        return Err(ProviderResponseError("a token contains U+0000".to_owned()));
    }
    // Matched by its exact name only; a provider that needs it reports a wrong type itself.
    let id_token = members.get("id_token").and_then(Value::as_str).unwrap_or_default().to_owned();
    let TokenResponseJson { access_token, token_type, refresh_token, .. } = given;
    Ok(ProviderTokenResponse { access_token, token_type, refresh_token, id_token, members })
}

/// The members of every token response, with their types (RFC 6749 §5).
#[derive(Deserialize, Default)]
#[serde(default)]
struct TokenResponseJson {
    access_token: String,
    token_type: String,
    refresh_token: String,
    // Only the type is checked.
    expires_in: Option<WholeNumber>,
    error: String,
    // Only the type is checked.
    error_description: String,
    // Only the type is checked.
    error_uri: String,
}

impl TokenResponseJson {
    fn from_form(members: &Map<String, Value>) -> Self {
        let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            access_token: text("access_token"),
            token_type: text("token_type"),
            refresh_token: text("refresh_token"),
            error: text("error"),
            ..Self::default()
        }
    }
}

/// The `Authorization` header for requests with the access token.
pub fn authorization_header(token: &ProviderTokenResponse) -> String {
    let known = ["Bearer", "MAC", "Basic"].into_iter().find(|known| known.eq_ignore_ascii_case(&token.token_type));
    let scheme = match token.token_type.as_str() {
        "" => "Bearer",
        other => known.unwrap_or(other),
    };
    format!("{scheme} {}", token.access_token)
}

fn parse_form(body: &[u8]) -> Result<Map<String, Value>, ProviderResponseError> {
    let mut firsts = HashMap::new();
    for (name, value) in url::form_urlencoded::parse(body) {
        firsts.entry(name.into_owned()).or_insert_with(|| Value::String(value.into_owned()));
    }
    if firsts.is_empty() {
        Err(ProviderResponseError("the response is empty".to_owned()))
    } else {
        Ok(firsts.into_iter().collect())
    }
}

/// Parses the known members and the whole object; the latter is empty if it cannot be stored.
fn parse_json(body: &[u8]) -> Result<(TokenResponseJson, Map<String, Value>), ProviderResponseError> {
    let answer = Document::parse(body)?;
    Ok((answer.read()?, answer.to_map().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_form_responses_are_parsed() {
        let body =
            r#"{"access_token":"a","token_type":"bearer","refresh_token":null,"id_token":"i","expires_in":"3600"}"#;
        let read_json = parse(200, "application/json; charset=utf-8", body.as_bytes()).unwrap();
        assert_eq!((&*read_json.access_token, &*read_json.refresh_token, &*read_json.id_token), ("a", "", "i"));
        assert_eq!(read_json.members["expires_in"], "3600");
        for kind in ["application/x-www-form-urlencoded", "Text/Plain; charset=utf-8"] {
            let answer = parse(200, kind, b"access_token=a%20b&token_type=bearer&access_token=c").unwrap();
            assert_eq!((&*answer.access_token, &*answer.members["token_type"].to_string()), ("a b", "\"bearer\""));
        }
        assert_eq!(parse(201, "", br#"{"access_token":"a"}"#).unwrap().access_token, "a");
    }

    #[test]
    fn other_responses_are_rejected() {
        for (status, kind, body) in [
            (400, "application/json", r#"{"access_token":"a"}"#),
            (302, "application/json", r#"{"access_token":"a"}"#),
            (503, "text/html", "<html>"),
            (200, "text/html", "<html>"),
            (200, "", ""),
            (200, "", "[]"),
            (200, "", r#"{"error":"bad_verification_code","access_token":"a"}"#),
            (200, "", r#"{"error":{"code":1},"access_token":"a"}"#),
            (200, "", r#"{"token_type":"bearer"}"#),
            (200, "", r#"{"access_token":""}"#),
            (200, "", r#"{"access_token":5}"#),
            (200, "", r#"{"access_token":"a\u0000"}"#),
            (200, "text/plain", ""),
            (200, "text/plain", "error=no&access_token=a"),
        ] {
            assert!(parse(status, kind, body.as_bytes()).is_err(), "{status} {kind} {body}");
        }
    }

    #[test]
    fn authorization_scheme_is_token_type() {
        for (kind, header) in
            [("", "Bearer t"), ("bearer", "Bearer t"), ("mac", "MAC t"), ("BASIC", "Basic t"), ("Odd", "Odd t")]
        {
            let token = ProviderTokenResponse {
                access_token: "t".into(),
                token_type: kind.into(),
                ..ProviderTokenResponse::default()
            };
            assert_eq!(authorization_header(&token), header);
        }
    }
}
