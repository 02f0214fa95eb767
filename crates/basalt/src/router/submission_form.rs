//! The form of the shop, sent without a script.
//!
//! It is a `POST` of `application/x-www-form-urlencoded` to the form's own address. A valid text becomes a call of the function `send-submission`, so that limits and mails are those of every submission.
//! `docs/decisions/0111-the-form-works-without-a-script.md` says why it needs no token against forged requests.

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use functions_rs::functions::send_submission::spam::{FORM_SIGNS, SpamSigns};
use functions_rs::functions::send_submission::text::{InvalidSubmission, SubmissionText};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_edge::request::{APIKEY, BODY_DEADLINE, REQUEST_ID, ResolvedRequest, is_same_origin, read_body};
use percent_encoding::percent_decode;
use serde_json::json;

use super::{EdgeRouter, forward};
use crate::assets::FormOutcome;

/// The largest body, in bytes: that of a function's call.
const MAX_BODY: usize = 1024 * 1024;
const FORM_TYPE: &str = "application/x-www-form-urlencoded";
const SPAM_SIGNS: HeaderName = HeaderName::from_static(FORM_SIGNS);
/// The field of the text.
const DETAILS: &str = "description";
/// The field that no visitor sees: only programs fill it.
const TRAP: &str = "website";
/// The parameter of the address that names a template.
const TEMPLATE: &str = "template";

impl EdgeRouter {
    /// Answers the form: with the green card, with the words of a refusal, or with the form and its text.
    pub(super) async fn handle_form(&self, request: Request) -> Response {
        let shop = self.shop.borrow().clone();
        let (head, body) = request.into_parts();
        let body = match read_body(body, MAX_BODY, BODY_DEADLINE).await {
            Ok(body) => body,
            Err(error) => return shop.answer_form(error.status(), FormOutcome::Failed("")),
        };
        let details = parse_field(&body, DETAILS).map(|details| details.replace("\r\n", "\n"));
        let (true, Some(details)) = (has_form_type(&head.headers), details) else {
            return shop.answer_form(StatusCode::BAD_REQUEST, FormOutcome::Failed(""));
        };
        if !is_same_origin(&head.headers) {
            return shop.answer_form(StatusCode::FORBIDDEN, FormOutcome::Failed(&details));
        }
        match SubmissionText::new(&details) {
            Ok(_) => {}
            Err(invalid @ (InvalidSubmission::Empty | InvalidSubmission::TooLong)) => {
                let outcome = FormOutcome::Refused(invalid.message(), &details);
                return shop.answer_form(StatusCode::BAD_REQUEST, outcome);
            }
            Err(_) => return shop.answer_form(StatusCode::BAD_REQUEST, FormOutcome::Failed(&details)),
        }
        let mut call = json!({ DETAILS: details });
        if let Some(template) = head.uri.query().and_then(find_template) {
            call[TEMPLATE] = template.into();
        }
        let mut request = Request::new(Body::from(call.to_string()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = http::Uri::from_static("/functions/v1/send-submission");
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(key) = HeaderValue::try_from(shop.key()) {
            headers.insert(APIKEY, key);
        }
        if let Some(id) = head.headers.get(REQUEST_ID) {
            headers.insert(REQUEST_ID, id.clone());
        }
        if let Some(signs) = self.find_spam_signs(&head, &body).format() {
            request.headers_mut().extend(HeaderValue::try_from(&*signs).map(|signs| (SPAM_SIGNS, signs)));
        }
        if let Some(resolved) = head.extensions.get::<ResolvedRequest>() {
            request.extensions_mut().insert(resolved.clone());
        }
        let status = forward(&self.functions, request).await.status();
        if status.is_success() {
            shop.answer_form(StatusCode::OK, FormOutcome::Received)
        } else {
            shop.answer_form(status, FormOutcome::Failed(&details))
        }
    }
}

impl EdgeRouter {
    /// Returns how a form was sent.
    fn find_spam_signs(&self, head: &Parts, body: &[u8]) -> SpamSigns {
        let client = head.extensions.get::<ResolvedRequest>().and_then(|resolved| resolved.client);
        SpamSigns {
            is_trap_filled: parse_field(body, TRAP).is_some_and(|text| !text.trim().is_empty()),
            is_too_fast: client.is_some_and(|client| self.form_visits.is_too_fast(client.network())),
            ..SpamSigns::default()
        }
    }
}

fn has_form_type(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media_type.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case(FORM_TYPE))
}

/// Returns the first value of a field of `application/x-www-form-urlencoded`; a missing one is empty.
///
/// `None` if the value is not UTF-8.
fn parse_field(body: &[u8], name: &str) -> Option<String> {
    let value = body.split(|byte| *byte == b'&').find_map(|pair| {
        let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
        (&pair[..at] == name.as_bytes()).then(|| pair.get(at + 1..).unwrap_or_default())
    });
    let spaced: Vec<u8> = value?.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    String::from_utf8(percent_decode(&spaced).collect()).ok()
}

/// Returns the id of a template that the address names.
fn find_template(query: &str) -> Option<u16> {
    let id = parse_field(query.as_bytes(), TEMPLATE)?;
    id.parse().ok().filter(|number: &u16| *number > 0 && number.to_string() == id)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn field_is_decoded() {
        let cases: [(&[u8], Option<&str>); 7] = [
            (b"description=a+b%20c%2B&x=1", Some("a b c+")),
            (b"x=1&description=%C3%A4", Some("ä")),
            (b"description=", Some("")),
            (b"description", Some("")),
            (b"description=a=b", Some("a=b")),
            (b"description=%ff", None),
            (b"other=1", None),
        ];
        for (body, expected) in cases {
            assert_eq!(parse_field(body, DETAILS).as_deref(), expected, "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn template_has_one_spelling() {
        for (query, expected) in [
            ("template=9", Some(9)),
            ("a=b&template=12", Some(12)),
            ("template=09", None),
            ("template=0", None),
            ("template=70000", None),
            ("template=", None),
            ("", None),
        ] {
            assert_eq!(find_template(query), expected, "{query}");
        }
    }

    proptest! {
        #[test]
        fn written_field_is_read_back(text in "\\PC{0,40}", other in "[a-z]{0,5}") {
            let body = url::form_urlencoded::Serializer::new(String::new())
                .append_pair("other", &other)
                .append_pair(DETAILS, &text)
                .finish();
            prop_assert_eq!(parse_field(body.as_bytes(), DETAILS), Some(text));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(body: Vec<u8>) {
            let _ = parse_field(&body, DETAILS);
        }
    }
}
