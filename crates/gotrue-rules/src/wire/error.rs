//! Error responses in two API versions, selected by the header `X-Supabase-Api-Version`.

use chrono::NaiveDate;
use foundation::error::{Error, ErrorCode, ErrorKind, WeakPasswordReason};
use serde::Serialize;

use super::go_json;

/// The header with the requested API version; error responses repeat the used one.
pub const VERSION_HEADER: &str = "x-supabase-api-version";
/// The response header with the error code.
pub const CODE_HEADER: &str = "x-sb-error-code";

/// The API version of error bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApiVersion {
    /// `{code: <status>, error_code, msg}`.
    #[default]
    Initial,
    /// `{code: "<error code>", message}`, since 2024-01-01.
    V20240101,
}

impl ApiVersion {
    /// Parses the header: a date `YYYY-MM-DD`; any other value is the initial version.
    pub fn from_header(value: Option<&str>) -> Self {
        let is_date = |text: &&str| text.len() == 10;
        let date = value.filter(is_date).and_then(|text| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok());
        match (date, NaiveDate::from_ymd_opt(2024, 1, 1)) {
            (Some(date), Some(first)) if date >= first => Self::V20240101,
            _ => Self::Initial,
        }
    }
}

/// A rendered error response.
#[derive(Debug, PartialEq, Eq)]
pub struct RenderedError {
    /// The HTTP status.
    pub status: u16,
    /// Additional headers.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The JSON body.
    pub body: String,
}

#[derive(Default, Serialize)]
struct ErrorBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<BodyCode<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    msg: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weak_password: Option<WeakPasswordBody>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum BodyCode<'a> {
    Status(u16),
    Word(&'a str),
}

#[derive(Serialize)]
struct WeakPasswordBody {
    reasons: Vec<&'static str>,
}

impl WeakPasswordBody {
    fn new(reasons: &[WeakPasswordReason]) -> Self {
        Self { reasons: reasons.iter().map(|reason| reason.as_str()).collect() }
    }
}

/// Renders an error; `request_id` becomes `error_id` where GoTrue sends one.
pub fn render(error: &Error, version: ApiVersion, request_id: &str) -> RenderedError {
    let body = match version {
        ApiVersion::Initial => initial_body(error, request_id),
        ApiVersion::V20240101 => v20240101_body(error),
    };
    let mut headers = Vec::new();
    if version == ApiVersion::V20240101 {
        headers.push((VERSION_HEADER, "2024-01-01"));
    }
    if let Some(code) = header_code(error, version) {
        headers.push((CODE_HEADER, code));
    }
    let body = go_json::to_string(&body).unwrap_or_default();
    RenderedError { status: status(error, version), headers, body }
}

/// Returns the status; in the later version a database error has its wrapping error's status.
fn status(error: &Error, version: ApiVersion) -> u16 {
    match (&error.kind, version) {
        (ErrorKind::Postgres(_), ApiVersion::V20240101) => error.wrapped_as.map_or(500, |wrapping| wrapping.status),
        _ => error.status(),
    }
}

fn header_code(error: &Error, version: ApiVersion) -> Option<&'static str> {
    match &error.kind {
        ErrorKind::Http { code, .. } => code.map(ErrorCode::as_str),
        ErrorKind::WeakPassword { .. } if version == ApiVersion::Initial => Some(ErrorCode::WeakPassword.as_str()),
        ErrorKind::Postgres(_) => Some(error.code().as_str()),
        ErrorKind::WeakPassword { .. }
        | ErrorKind::OAuth { .. }
        | ErrorKind::InternalServerError
        | ErrorKind::Other => None,
    }
}

fn initial_body<'a>(error: &'a Error, request_id: &'a str) -> ErrorBody<'a> {
    let usual = ErrorBody {
        code: Some(BodyCode::Status(error.status())),
        error_code: Some(error.code().as_str()),
        msg: Some(error.message()),
        ..ErrorBody::default()
    };
    match &error.kind {
        ErrorKind::Http { status, .. } => {
            ErrorBody { error_id: Some(request_id).filter(|id| *status >= 500 && !id.is_empty()), ..usual }
        }
        ErrorKind::WeakPassword { reasons, .. } => {
            ErrorBody { weak_password: Some(WeakPasswordBody::new(reasons)), ..usual }
        }
        ErrorKind::Postgres(database) => ErrorBody {
            code: Some(BodyCode::Word(&database.sqlstate)),
            message: Some(&database.message),
            hint: database.hint.as_deref(),
            detail: database.detail.as_deref(),
            ..ErrorBody::default()
        },
        ErrorKind::OAuth { .. } => oauth_body(error),
        ErrorKind::InternalServerError | ErrorKind::Other => usual,
    }
}

fn v20240101_body(error: &Error) -> ErrorBody<'_> {
    let usual = ErrorBody {
        code: Some(BodyCode::Word(error.code().as_str())),
        message: Some(error.message()),
        ..ErrorBody::default()
    };
    match &error.kind {
        ErrorKind::WeakPassword { reasons, .. } => {
            ErrorBody { weak_password: Some(WeakPasswordBody::new(reasons)), ..usual }
        }
        ErrorKind::OAuth { .. } => oauth_body(error),
        ErrorKind::Http { .. } | ErrorKind::Postgres(_) | ErrorKind::InternalServerError | ErrorKind::Other => usual,
    }
}

fn oauth_body(error: &Error) -> ErrorBody<'_> {
    match &error.kind {
        ErrorKind::OAuth { error, description } => ErrorBody {
            error: Some(error),
            error_description: Some(&**description).filter(|text| !text.is_empty()),
            ..ErrorBody::default()
        },
        _ => ErrorBody::default(),
    }
}

#[cfg(test)]
mod tests {
    use foundation::error::OAuthErrorCode;

    use super::*;

    #[test]
    fn api_version_is_date_since_2024() {
        for (header, expected) in [
            (None, ApiVersion::Initial),
            (Some("2024-01-01"), ApiVersion::V20240101),
            (Some("2025-06-30"), ApiVersion::V20240101),
            (Some("2023-12-31"), ApiVersion::Initial),
            (Some("2024-1-1"), ApiVersion::Initial),
            (Some("yesterday"), ApiVersion::Initial),
        ] {
            assert_eq!(ApiVersion::from_header(header), expected, "{header:?}");
        }
    }

    #[test]
    fn error_bodies_match_gotrue() {
        let weak = Error::from_kind(ErrorKind::WeakPassword {
            message: "Too short.".into(),
            reasons: vec![WeakPasswordReason::Length],
        });
        let cases = [
            (
                Error::invalid("no"),
                r#"{"code":400,"error_code":"validation_failed","msg":"no"}"#,
                r#"{"code":"validation_failed","message":"no"}"#,
            ),
            (
                Error::internal("no"),
                r#"{"code":500,"error_code":"unexpected_failure","msg":"no","error_id":"r1"}"#,
                r#"{"code":"unexpected_failure","message":"no"}"#,
            ),
            (
                Error::internal_server_error("boom"),
                r#"{"code":500,"error_code":"unexpected_failure","msg":"Internal Server Error"}"#,
                r#"{"code":"unexpected_failure","message":"Internal Server Error"}"#,
            ),
            (
                weak,
                r#"{"code":422,"error_code":"weak_password","msg":"Too short.","weak_password":{"reasons":["length"]}}"#,
                r#"{"code":"weak_password","message":"Too short.","weak_password":{"reasons":["length"]}}"#,
            ),
            (
                Error::oauth(OAuthErrorCode::InvalidGrant, "no"),
                r#"{"error":"invalid_grant","error_description":"no"}"#,
                r#"{"error":"invalid_grant","error_description":"no"}"#,
            ),
        ];
        for (error, initial, later) in cases {
            assert_eq!(render(&error, ApiVersion::Initial, "r1").body, initial);
            assert_eq!(render(&error, ApiVersion::V20240101, "r1").body, later);
        }
    }

    #[test]
    fn code_header_requires_explicit_code() {
        let own = render(&Error::invalid("no"), ApiVersion::Initial, "");
        assert_eq!(own.headers, vec![(CODE_HEADER, "validation_failed")]);
        assert!(render(&Error::other("boom"), ApiVersion::Initial, "").headers.is_empty());
    }
}
