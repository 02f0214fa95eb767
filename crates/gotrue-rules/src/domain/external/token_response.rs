//! Parses the response of a provider's token endpoint (RFC 6749 §5).
//!
//! The crate `oauth2` accepts status 200, a JSON content type and strict JSON only. [`normalize`] rewrites a response to
//! that form, by the decoder of all foreign JSON, before the crate's parser reads it.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::{self, Debug, Display, Formatter};
use std::time::Duration;

use foundation::percent_escapes::has_valid_escapes;
use oauth2::basic::BasicTokenType;
use oauth2::http::header::{CONTENT_TYPE, HeaderValue};
use oauth2::http::{Response, StatusCode};
use oauth2::{AccessToken, ErrorResponse, HttpResponse, RefreshToken, RequestTokenError, Scope, TokenResponse};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::provider::{ProviderResponseError, ProviderTokenResponse};
use crate::wire::go_json::{Document, WholeNumber};

/// A successful token response with members that may be absent or of other types than the standard's.
#[derive(Deserialize, Serialize)]
pub struct TolerantTokenResponse {
    access_token: AccessToken,
    token_type: BasicTokenType,
    refresh_token: Option<RefreshToken>,
    expires_in: Option<u64>,
    scopes: Option<Vec<Scope>>,
    members: Map<String, Value>,
}

/// The members contain tokens.
impl Debug for TolerantTokenResponse {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("TolerantTokenResponse").finish_non_exhaustive()
    }
}

impl TokenResponse for TolerantTokenResponse {
    type TokenType = BasicTokenType;

    fn access_token(&self) -> &AccessToken {
        &self.access_token
    }

    fn token_type(&self) -> &BasicTokenType {
        &self.token_type
    }

    fn expires_in(&self) -> Option<Duration> {
        self.expires_in.map(Duration::from_secs)
    }

    fn refresh_token(&self) -> Option<&RefreshToken> {
        self.refresh_token.as_ref()
    }

    fn scopes(&self) -> Option<&Vec<Scope>> {
        self.scopes.as_ref()
    }
}

impl TolerantTokenResponse {
    fn new(given: TokenResponseJson, members: Map<String, Value>) -> Self {
        let TokenResponseJson { access_token, token_type, refresh_token, expires_in, .. } = given;
        Self {
            access_token: AccessToken::new(access_token),
            // Texts other than `bearer` and `mac` are kept as they are.
            token_type: serde_json::from_value(Value::String(token_type.clone()))
                .unwrap_or(BasicTokenType::Extension(token_type)),
            refresh_token: Some(refresh_token).filter(|token| !token.is_empty()).map(RefreshToken::new),
            expires_in: expires_in.and_then(|WholeNumber(seconds)| seconds.try_into().ok()),
            scopes: granted_scopes(&members),
            members,
        }
    }

    /// Returns the tokens and all members.
    ///
    /// # Errors
    /// A missing access token, and a token that cannot be stored.
    pub fn into_tokens(self) -> Result<ProviderTokenResponse, ProviderResponseError> {
        let (access_token, token_type) = (self.access_token.into_secret(), self.token_type.as_ref().to_owned());
        let refresh_token = self.refresh_token.map(RefreshToken::into_secret).unwrap_or_default();
        if access_token.is_empty() {
            return Err(ProviderResponseError("the response has no access token".to_owned()));
        }
        // The token may be stored in the database, which rejects U+0000.
        if access_token.contains('\0') || refresh_token.contains('\0') {
            return Err(ProviderResponseError("a token contains U+0000".to_owned()));
        }
        // Matched by its exact name only; a provider that needs it reports a wrong type itself.
        let id_token = self.members.get("id_token").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(ProviderTokenResponse { access_token, token_type, refresh_token, id_token, members: self.members })
    }
}

/// The scopes in a response: a text with spaces, or an array.
fn granted_scopes(members: &Map<String, Value>) -> Option<Vec<Scope>> {
    let scope = |text: &str| Scope::new(text.to_owned());
    match members.get("scope")? {
        Value::String(text) => Some(text.split_whitespace().map(scope).collect()),
        Value::Array(items) => Some(items.iter().filter_map(Value::as_str).map(scope).collect()),
        _ => None,
    }
}

/// An error response of a token endpoint.
#[derive(Debug, Deserialize, Serialize)]
pub struct TokenErrorResponse {
    /// The status before normalisation, which may be 200.
    status: u16,
    /// `error`, empty if absent; `None` if the body is unreadable.
    error: Option<String>,
}

impl ErrorResponse for TokenErrorResponse {}

impl Display for TokenErrorResponse {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.error {
            Some(error) => write!(f, "status {}, error {error:?}", self.status),
            None => write!(f, "status {}", self.status),
        }
    }
}

/// Converts the crate's error to that of the HTTP client.
///
/// The text contains nothing of the response but its status and `error`.
pub fn flatten_error<E>(error: RequestTokenError<E, TokenErrorResponse>) -> E
where
    E: Error + From<ProviderResponseError>,
{
    match error {
        RequestTokenError::Request(error) => error,
        RequestTokenError::ServerResponse(response) => ProviderResponseError(response.to_string()).into(),
        RequestTokenError::Parse(..) => ProviderResponseError("the response is not a token response".to_owned()).into(),
        RequestTokenError::Other(reason) => ProviderResponseError(reason).into(),
    }
}

/// Normalises a response for the crate's parser: JSON, or a form if the content type says so.
///
/// The result is a [`TolerantTokenResponse`] with status 200, or a [`TokenErrorResponse`] with status 400 for another
/// status than 2xx and for a member `error`.
///
/// # Errors
/// A body with a 2xx status that is neither JSON nor a form, or in which a known member has another type.
pub fn normalize(status: u16, content_type: &str, body: &[u8]) -> Result<HttpResponse, ProviderResponseError> {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_form = matches!(kind.as_str(), "application/x-www-form-urlencoded" | "text/plain");
    let read = if is_form {
        parse_form(body).map(|members| (TokenResponseJson::from_form(&members), members))
    } else {
        parse_json(body)
    };
    let is_success = (200..300).contains(&status);
    match read {
        Ok((given, members)) if is_success && given.error.is_empty() => {
            json_response(StatusCode::OK, &TolerantTokenResponse::new(given, members))
        }
        Err(error) if is_success => Err(error),
        refused => {
            let error = refused.ok().map(|(given, _)| given.error);
            json_response(StatusCode::BAD_REQUEST, &TokenErrorResponse { status, error })
        }
    }
}

fn json_response(status: StatusCode, body: &impl Serialize) -> Result<HttpResponse, ProviderResponseError> {
    let body = serde_json::to_vec(body).map_err(|error| ProviderResponseError(error.to_string()))?;
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// The members of every token response, with their types (RFC 6749 §5).
#[derive(Deserialize, Default)]
#[serde(default)]
struct TokenResponseJson {
    access_token: String,
    token_type: String,
    refresh_token: String,
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

/// Parses a form. As in GoTrue a semicolon and an invalid percent escape are refused.
fn parse_form(body: &[u8]) -> Result<Map<String, Value>, ProviderResponseError> {
    if body.contains(&b';') || !has_valid_escapes(&String::from_utf8_lossy(body)) {
        return Err(ProviderResponseError("the response is a malformed form".to_owned()));
    }
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
    use foundation::secret::Secret;
    use oauth2::{AuthType, HttpRequest, TokenUrl};
    use serde_json::json;

    use super::*;
    use crate::domain::external::provider::ClientAuth;
    use crate::domain::external::token_request::ProviderTokenRequest;

    /// Requests tokens from a provider that sends this response.
    fn request(status: u16, kind: &str, body: &[u8]) -> Result<TolerantTokenResponse, ProviderResponseError> {
        let grant = ProviderTokenRequest {
            client_id: "us",
            secret: &Secret::default(),
            client_auth: ClientAuth::Form,
            redirect_uri: "",
            code: "c",
            code_verifier: None,
        };
        let client = grant.build_client(TokenUrl::new("https://p".to_owned()).unwrap(), AuthType::RequestBody);
        let send = |_: HttpRequest| normalize(status, kind, body);
        grant.build(&client).request(&send).map_err(flatten_error)
    }

    fn parse(status: u16, kind: &str, body: &[u8]) -> Result<ProviderTokenResponse, ProviderResponseError> {
        request(status, kind, body)?.into_tokens()
    }

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
    fn error_texts_name_status_error_or_member_type() {
        for (status, kind, body, text) in [
            (400, "", r#"{"error":"invalid_client"}"#, r#"status 400, error "invalid_client""#),
            (200, "", r#"{"error":"bad_code"}"#, r#"status 200, error "bad_code""#),
            (302, "", r#"{"access_token":"a"}"#, r#"status 302, error """#),
            (503, "text/html", "<html>", "status 503"),
            (500, "", "", "status 500"),
            (401, "", r#"{"error":7}"#, "status 401"),
            (200, "text/plain", "", "the response is empty"),
            (200, "", "{}", "the response has no access token"),
            (200, "", r#"{"access_token":5}"#, "a string is wanted, it is a number"),
            (200, "text/plain", "access_token=a%00", "a token contains U+0000"),
            (200, "text/plain", "access_token=a&b%c=d", "the response is a malformed form"),
            (200, "text/plain", "access_token=a%2", "the response is a malformed form"),
            (200, "text/plain", "access_token=a;b=c", "the response is a malformed form"),
            (400, "text/plain", "error=no;b=c", "status 400"),
        ] {
            let error = parse(status, kind, body.as_bytes()).unwrap_err();
            assert_eq!(error.0, text, "{status} {kind} {body}");
        }
    }

    #[test]
    fn standard_members_may_deviate_from_their_types() {
        for (body, expires_in, scopes) in [
            (r#"{"access_token":"a"}"#, None, None),
            (r#"{"ACCESS_TOKEN":"a","expires_in":"60","scope":["b","c"]}"#, Some(60), Some(vec!["b", "c"])),
            (r#"{"access_token":"a","expires_in":-1,"scope":"b c"}"#, None, Some(vec!["b", "c"])),
            (r#"{"access_token":"x","access_token":"a","expires_in":60,"scope":7}"#, Some(60), None),
        ] {
            let answer = request(201, "text/html", body.as_bytes()).unwrap();
            assert_eq!((&**answer.access_token().secret(), answer.token_type().as_ref()), ("a", ""), "{body}");
            assert_eq!(answer.expires_in(), expires_in.map(Duration::from_secs), "{body}");
            let read = answer.scopes().map(|scopes| scopes.iter().map(|scope| scope.as_str()).collect());
            assert_eq!(read, scopes, "{body}");
        }
        let answer = request(200, "", br#"{"access_token":"a","token_type":"Bearer","refresh_token":"r"}"#).unwrap();
        assert_eq!(answer.refresh_token().map(|token| token.secret().as_str()), Some("r"));
        assert_eq!(answer.into_tokens().unwrap().token_type, "Bearer");
    }

    #[test]
    fn json_of_other_spelling_reaches_the_tokens() {
        let nested = format!("{}7{}", "[".repeat(99), "]".repeat(99));
        let body =
            [&b"{\"access_token\":\"a\xffb\\ud800\",\"id_token\":7,\"x\":"[..], nested.as_bytes(), b"}"].concat();
        let tokens = parse(200, "", &body).unwrap();
        assert_eq!((&*tokens.access_token, &*tokens.id_token), ("a\u{fffd}b\u{fffd}", ""));
        assert!(tokens.has_id_token());
        assert_eq!(tokens.members["x"].to_string(), nested);
        // Members that cannot be stored are left out.
        let tokens = parse(200, "", br#"{"access_token":"a","x":"\u0000"}"#).unwrap();
        assert_eq!((&*tokens.access_token, json!(tokens.members)), ("a", json!({})));
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
