//! Errors as bodies: two API versions, chosen by the request's `X-Supabase-Api-Version` (`endpoints.md` §1.4).

use chrono::NaiveDate;
use serde::Serialize;

use crate::domain::error::{Error, Kind};

/// The header that asks for an API version, and that names the one used in refusals.
pub const VERSION_HEADER: &str = "x-supabase-api-version";
/// The header that carries an error's own code.
pub const CODE_HEADER: &str = "x-sb-error-code";

/// How errors are shaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApiVersion {
    /// `{code: <status>, error_code, msg}`.
    #[default]
    Initial,
    /// `{code: "<error code>", message}`, from 2024-01-01 on.
    Of2024,
}

impl ApiVersion {
    /// The version a header asks for: a date `YYYY-MM-DD`; anything else is the initial one.
    pub fn from_header(value: Option<&str>) -> Self {
        let is_date = |text: &&str| text.len() == 10;
        let date = value.filter(is_date).and_then(|text| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok());
        match (date, NaiveDate::from_ymd_opt(2024, 1, 1)) {
            (Some(date), Some(first)) if date >= first => Self::Of2024,
            _ => Self::Initial,
        }
    }
}

/// A refusal ready to be sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The HTTP status.
    pub status: u16,
    /// Headers besides the content type.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The JSON body.
    pub body: String,
}

#[derive(Default, Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code<'a>>,
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
    weak_password: Option<WeakPassword<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Code<'a> {
    Status(u16),
    Word(&'a str),
}

#[derive(Serialize)]
struct WeakPassword<'a> {
    reasons: &'a [&'static str],
}

/// The body, status and headers of a refusal; `request_id` becomes `error_id` where the reference gives one.
pub fn render(error: &Error, version: ApiVersion, request_id: &str) -> Rendered {
    let body = match version {
        ApiVersion::Initial => initial(error, request_id),
        ApiVersion::Of2024 => of_2024(error),
    };
    let mut headers = Vec::new();
    if version == ApiVersion::Of2024 {
        headers.push((VERSION_HEADER, "2024-01-01"));
    }
    if let Some(code) = header_code(error, version) {
        headers.push((CODE_HEADER, code));
    }
    let body = serde_json::to_string(&body).unwrap_or_default();
    Rendered { status: status(error, version), headers, body }
}

/// In the later version a database error is the error it was wrapped in, mostly a 500.
fn status(error: &Error, version: ApiVersion) -> u16 {
    match (&error.kind, version) {
        (Kind::Postgres(_), ApiVersion::Of2024) => error.wrapped_as.map_or(500, |(status, _)| status),
        _ => error.status(),
    }
}

fn header_code(error: &Error, version: ApiVersion) -> Option<&'static str> {
    match &error.kind {
        Kind::Http { code, .. } => *code,
        Kind::WeakPassword { .. } if version == ApiVersion::Initial => Some("weak_password"),
        Kind::Postgres(_) => Some(error.code()),
        Kind::WeakPassword { .. } | Kind::OAuth { .. } | Kind::Broken | Kind::Other => None,
    }
}

fn initial<'a>(error: &'a Error, request_id: &'a str) -> Body<'a> {
    let usual = Body {
        code: Some(Code::Status(error.status())),
        error_code: Some(error.code()),
        msg: Some(error.message()),
        ..Body::default()
    };
    match &error.kind {
        Kind::Http { status, .. } => {
            Body { error_id: Some(request_id).filter(|id| *status >= 500 && !id.is_empty()), ..usual }
        }
        Kind::WeakPassword { reasons, .. } => Body { weak_password: Some(WeakPassword { reasons }), ..usual },
        Kind::Postgres(said) => Body {
            code: Some(Code::Word(&said.sqlstate)),
            message: Some(&said.message),
            hint: said.hint.as_deref(),
            detail: said.detail.as_deref(),
            ..Body::default()
        },
        Kind::OAuth { .. } => oauth(error),
        Kind::Broken | Kind::Other => usual,
    }
}

fn of_2024(error: &Error) -> Body<'_> {
    let usual = Body { code: Some(Code::Word(error.code())), message: Some(error.message()), ..Body::default() };
    match &error.kind {
        Kind::WeakPassword { reasons, .. } => Body { weak_password: Some(WeakPassword { reasons }), ..usual },
        Kind::OAuth { .. } => oauth(error),
        Kind::Http { .. } | Kind::Postgres(_) | Kind::Broken | Kind::Other => usual,
    }
}

fn oauth(error: &Error) -> Body<'_> {
    match &error.kind {
        Kind::OAuth { error, description } => Body {
            error: Some(error),
            error_description: Some(&**description).filter(|text| !text.is_empty()),
            ..Body::default()
        },
        _ => Body::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_a_date_from_2024_on() {
        for (header, expected) in [
            (None, ApiVersion::Initial),
            (Some("2024-01-01"), ApiVersion::Of2024),
            (Some("2025-06-30"), ApiVersion::Of2024),
            (Some("2023-12-31"), ApiVersion::Initial),
            (Some("2024-1-1"), ApiVersion::Initial),
            (Some("yesterday"), ApiVersion::Initial),
        ] {
            assert_eq!(ApiVersion::from_header(header), expected, "{header:?}");
        }
    }

    #[test]
    fn bodies_are_as_the_reference_shapes_them() {
        let weak = Error::new(Kind::WeakPassword { message: "Too short.".into(), reasons: vec!["length"] });
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
                Error::broken("boom"),
                r#"{"code":500,"error_code":"unexpected_failure","msg":"Internal Server Error"}"#,
                r#"{"code":"unexpected_failure","message":"Internal Server Error"}"#,
            ),
            (
                weak,
                r#"{"code":422,"error_code":"weak_password","msg":"Too short.","weak_password":{"reasons":["length"]}}"#,
                r#"{"code":"weak_password","message":"Too short.","weak_password":{"reasons":["length"]}}"#,
            ),
            (
                Error::oauth("invalid_grant", "no"),
                r#"{"error":"invalid_grant","error_description":"no"}"#,
                r#"{"error":"invalid_grant","error_description":"no"}"#,
            ),
        ];
        for (error, initial, later) in cases {
            assert_eq!(render(&error, ApiVersion::Initial, "r1").body, initial);
            assert_eq!(render(&error, ApiVersion::Of2024, "r1").body, later);
        }
    }

    #[test]
    fn the_code_stands_in_a_header_only_where_the_error_has_its_own() {
        let own = render(&Error::invalid("no"), ApiVersion::Initial, "");
        assert_eq!(own.headers, vec![(CODE_HEADER, "validation_failed")]);
        assert!(render(&Error::other("boom"), ApiVersion::Initial, "").headers.is_empty());
    }
}
