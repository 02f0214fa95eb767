//! Requests of a flow: built from a step, sent, shown with symbols.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body_util::{BodyExt, Limited};
use http_edge::request::{APIKEY, bearer_value};
use reqwest::Method;
use serde_json::Value;

use super::capture::excerpt;
use super::exact::{self, ExactRequest};
use super::observe::ReceivedResponse;
use crate::FlowError;
use crate::expressions::{as_text, fill_path};
use crate::format::{RequestBody, RequestStep, Service, SetupStatus};
use crate::sources::{Scope, resolve};
use crate::symbols::Symbols;
use crate::text::format_pairs;

/// The largest response.
const MAX_BODY: usize = 64 << 20;

/// A request that is ready to be sent.
#[derive(Debug)]
pub(super) struct PreparedRequest {
    method: Method,
    /// The path as the file has it, filled in.
    path: String,
    url: String,
    headers: HeaderMap,
    /// The headers of the step.
    own_headers: Value,
    body: RequestBody,
    content: Vec<u8>,
}

/// Fills in a request.
pub(super) async fn prepare(step: &RequestStep, scope: &Arc<Scope>) -> Result<PreparedRequest, FlowError> {
    let path = fill_path(&step.path, &scope.variables())?;
    let target = &scope.target;
    let url = match (path.starts_with("http://") || path.starts_with("https://"), step.service) {
        (true, _) => path.clone(),
        (false, Service::Auth) => format!("{}{path}", target.base),
        (false, service) => format!("{}{path}", target.service_url(service)),
    };
    scope.permissions().check_request(&url, &target.project, &target.base)?;
    let own_headers = resolve(scope, &Value::Object(step.headers.clone()), 0).await?;
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let (body, content) = fill_body(&step.body, scope, &mut headers).await?;
    if let Some(bearer) = &step.bearer {
        let bearer = resolve(scope, bearer, 0).await?;
        headers.insert(AUTHORIZATION, bearer_value(&as_text(&bearer)).ok_or_else(|| invalid_header("authorization"))?);
    }
    insert_headers(&mut headers, &own_headers)?;
    if target.needs_key && !headers.contains_key(APIKEY) && url.starts_with(&target.project) {
        let key = target.publishable_key.as_deref().unwrap_or_default();
        headers.insert(APIKEY, header_value(APIKEY.as_str(), key)?);
    }
    let method =
        step.method.parse().map_err(|_| FlowError::new(format!("{:?} is no method", step.method), "check the file"))?;
    Ok(PreparedRequest { method, path, url, headers, own_headers, body, content })
}

async fn fill_body(
    body: &RequestBody,
    scope: &Arc<Scope>,
    headers: &mut HeaderMap,
) -> Result<(RequestBody, Vec<u8>), FlowError> {
    let filled = match body {
        RequestBody::None => return Ok((RequestBody::None, Vec::new())),
        RequestBody::Json(value) => {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json;charset=UTF-8"));
            let value = resolve(scope, value, 0).await?;
            let content = value.to_string().into_bytes();
            (RequestBody::Json(value), content)
        }
        RequestBody::Form(value) => {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
            let value = resolve(scope, value, 0).await?;
            let pairs: Vec<(String, String)> = match &value {
                Value::Array(items) => {
                    items.iter().map(|pair| (as_text(&pair[0]).into_owned(), as_text(&pair[1]).into_owned())).collect()
                }
                Value::Object(members) => {
                    members.iter().map(|(name, item)| (name.clone(), as_text(item).into_owned())).collect()
                }
                _ => return Err(FlowError::new("form: an object or a list of pairs is wanted", "check the file")),
            };
            let content = format_pairs(pairs.iter().map(|(name, item)| (name.as_str(), item.as_str()))).into_bytes();
            (RequestBody::Form(value), content)
        }
        RequestBody::Raw(value) => {
            let value = resolve(scope, value, 0).await?;
            let content = as_text(&value).into_owned().into_bytes();
            (RequestBody::Raw(value), content)
        }
        RequestBody::RawBase64(value) => {
            let value = resolve(scope, value, 0).await?;
            let content = STANDARD.decode(as_text(&value).as_bytes());
            let content = content.map_err(|_| FlowError::new("raw_base64: the text is no base64", "check the file"))?;
            (RequestBody::RawBase64(value), content)
        }
    };
    Ok(filled)
}

fn insert_headers(headers: &mut HeaderMap, own: &Value) -> Result<(), FlowError> {
    for (name, value) in own.as_object().into_iter().flatten() {
        let parsed: HeaderName =
            name.parse().map_err(|_| FlowError::new(format!("{name:?} is no name of a header"), "check the file"))?;
        headers.remove(&parsed);
        match value {
            Value::Null => {}
            Value::Array(lines) => {
                for line in lines {
                    headers.append(&parsed, header_value(name, &as_text(line))?);
                }
            }
            value => drop(headers.insert(&parsed, header_value(name, &as_text(value))?)),
        }
    }
    Ok(())
}

fn header_value(name: &str, text: &str) -> Result<HeaderValue, FlowError> {
    // Bytes above 127 are sent as UTF-8.
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| invalid_header(name))
}

fn invalid_header(name: &str) -> FlowError {
    FlowError::new(format!("the header {name} cannot have this value"), "remove control characters")
}

/// Sends a request and reads the whole response.
pub(super) async fn send(request: &PreparedRequest, scope: &Scope) -> Result<ReceivedResponse, FlowError> {
    let failed = |error: String| {
        FlowError::new(
            format!("{} {} has no response: {error}", request.method, request.path),
            "check that the server runs",
        )
    };
    if request.url.starts_with("http://") {
        let (method, url) = (&request.method, request.url.as_str());
        let exact = ExactRequest { method, url, headers: &request.headers, content: &request.content };
        return exact::send(&exact).await.map_err(failed);
    }
    let mut builder = scope.client.request(request.method.clone(), &request.url).headers(request.headers.clone());
    if !request.content.is_empty() {
        builder = builder.body(request.content.clone());
    }
    let response = builder.send().await.map_err(|error| failed(error.to_string()))?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = Limited::new(reqwest::Body::from(response), MAX_BODY).collect().await;
    let body = body.map_err(|error| failed(error.to_string()))?.to_bytes().to_vec();
    Ok(ReceivedResponse { status, headers, body })
}

/// Shows the request to the symbols, so that its ids are numbered before those of the response.
pub(super) fn show(request: &PreparedRequest, symbols: &mut Symbols, now: f64) {
    symbols.url(&request.path, now);
    match &request.body {
        RequestBody::Json(value) | RequestBody::Form(value) => drop(symbols.value(value, "", now)),
        RequestBody::Raw(value) => drop(symbols.text(&as_text(value))),
        RequestBody::None | RequestBody::RawBase64(_) => {}
    }
    if request.own_headers.as_object().is_some_and(|headers| !headers.is_empty()) {
        symbols.value(&request.own_headers, "", now);
    }
}

/// Checks the status of a set-up request.
pub(super) fn check_setup(step: &RequestStep, response: &ReceivedResponse) -> Result<(), FlowError> {
    let is_wanted = match step.setup_status {
        SetupStatus::Success => response.status < 400,
        SetupStatus::Exactly(status) => response.status == status,
        SetupStatus::Any => true,
    };
    if is_wanted {
        return Ok(());
    }
    let problem = format!("the request of the set-up has status {}: {}", response.status, excerpt(response));
    Err(FlowError::new(problem, "the steps after it need its success"))
}
