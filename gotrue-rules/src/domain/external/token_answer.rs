//! What a provider answers to a code.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::provider::{BadAnswer, TokenAnswer};
use crate::wire::go_json::{Document, WholeNumber};

/// The answer of a token endpoint: JSON, or a form where its type says so. A status that is no success, a member
/// `error` and the want of an access token are failures.
pub fn read(status: u16, content_type: &str, body: &[u8]) -> Result<TokenAnswer, BadAnswer> {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_form = matches!(kind.as_str(), "application/x-www-form-urlencoded" | "text/plain");
    let read = if is_form { form(body).map(|members| (Given::of_form(&members), members)) } else { json(body) };
    let (given, members) = match read {
        Ok(read) => read,
        Err(_) if !(200..300).contains(&status) => return Err(BadAnswer(format!("status {status}"))),
        Err(bad) => return Err(bad),
    };
    if !(200..300).contains(&status) || !given.error.is_empty() {
        return Err(BadAnswer(format!("status {status}, error {:?}", given.error)));
    }
    if given.access_token.is_empty() {
        return Err(BadAnswer("no access token".to_owned()));
    }
    // It may be kept in the database, which holds no U+0000.
    if given.access_token.contains('\0') || given.refresh_token.contains('\0') {
        return Err(BadAnswer("a token with U+0000".to_owned()));
    }
    // Read by few providers, by its exact name, which tell what they make of another type.
    let id_token = members.get("id_token").and_then(Value::as_str).unwrap_or_default().to_owned();
    let Given { access_token, token_type, refresh_token, .. } = given;
    Ok(TokenAnswer { access_token, token_type, refresh_token, id_token, members })
}

/// The members that every token endpoint answers with, of their types (RFC 6749 §5).
#[derive(Deserialize, Default)]
#[serde(default)]
struct Given {
    access_token: String,
    token_type: String,
    refresh_token: String,
    // Only its type counts.
    expires_in: Option<WholeNumber>,
    error: String,
    // Only its type counts.
    error_description: String,
    // Only its type counts.
    error_uri: String,
}

impl Given {
    fn of_form(members: &Map<String, Value>) -> Self {
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

/// The header `Authorization` with which a person is asked about.
pub fn authorization(token: &TokenAnswer) -> String {
    let known = ["Bearer", "MAC", "Basic"].into_iter().find(|known| known.eq_ignore_ascii_case(&token.token_type));
    let scheme = match token.token_type.as_str() {
        "" => "Bearer",
        said => known.unwrap_or(said),
    };
    format!("{scheme} {}", token.access_token)
}

fn form(body: &[u8]) -> Result<Map<String, Value>, BadAnswer> {
    let mut firsts = HashMap::new();
    for (name, value) in url::form_urlencoded::parse(body) {
        firsts.entry(name.into_owned()).or_insert_with(|| Value::String(value.into_owned()));
    }
    if firsts.is_empty() { Err(BadAnswer("the answer is empty".to_owned())) } else { Ok(firsts.into_iter().collect()) }
}

/// The members that are read, and all of them as they are; the latter none where they cannot be kept.
fn json(body: &[u8]) -> Result<(Given, Map<String, Value>), BadAnswer> {
    let answer = Document::parse(body)?;
    Ok((answer.read()?, answer.to_map().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_json_or_forms() {
        let body =
            r#"{"access_token":"a","token_type":"bearer","refresh_token":null,"id_token":"i","expires_in":"3600"}"#;
        let read_json = read(200, "application/json; charset=utf-8", body.as_bytes()).unwrap();
        assert_eq!((&*read_json.access_token, &*read_json.refresh_token, &*read_json.id_token), ("a", "", "i"));
        assert_eq!(read_json.members["expires_in"], "3600");
        for kind in ["application/x-www-form-urlencoded", "Text/Plain; charset=utf-8"] {
            let answer = read(200, kind, b"access_token=a%20b&token_type=bearer&access_token=c").unwrap();
            assert_eq!((&*answer.access_token, &*answer.members["token_type"].to_string()), ("a b", "\"bearer\""));
        }
        assert_eq!(read(201, "", br#"{"access_token":"a"}"#).unwrap().access_token, "a");
    }

    #[test]
    fn anything_else_is_a_failure() {
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
            assert!(read(status, kind, body.as_bytes()).is_err(), "{status} {kind} {body}");
        }
    }

    #[test]
    fn the_scheme_is_what_the_provider_calls_its_token() {
        for (kind, header) in
            [("", "Bearer t"), ("bearer", "Bearer t"), ("mac", "MAC t"), ("BASIC", "Basic t"), ("Odd", "Odd t")]
        {
            let token = TokenAnswer { access_token: "t".into(), token_type: kind.into(), ..TokenAnswer::default() };
            assert_eq!(authorization(&token), header);
        }
    }
}
