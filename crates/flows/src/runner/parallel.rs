//! Sends several requests at once.

use futures::future::join_all;
use serde_json::{Value, json};

use super::capture::all_headers;
use super::exact::{self, ExactRequest};
use crate::FlowError;
use crate::sources::Scope;

/// Sends the requests of `{"requests": […]}` at once; each becomes `status`, `headers` and `json`.
///
/// # Errors
/// A request cannot be sent.
pub(crate) async fn send_all(arguments: &Value, scope: &Scope) -> Result<Value, FlowError> {
    let requests = arguments["requests"].as_array().cloned().unwrap_or_default();
    let responses = join_all(requests.iter().map(|request| send(request, &scope.target.base))).await;
    responses.into_iter().collect::<Result<Vec<Value>, FlowError>>().map(Value::Array)
}

async fn send(request: &Value, base: &str) -> Result<Value, FlowError> {
    let failed = |error: String| {
        FlowError::new(format!("a parallel request has no response: {error}"), "check that the server runs")
    };
    let mut headers = http::HeaderMap::new();
    headers.insert(http::header::ACCEPT, http::HeaderValue::from_static("application/json"));
    headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json;charset=UTF-8"));
    let method = request["method"].as_str().unwrap_or("GET").parse();
    let method = method.map_err(|_| failed("the method is unknown".to_owned()))?;
    let url = format!("{base}{}", request["path"].as_str().unwrap_or_default());
    let content = request.get("json").map(|body| body.to_string().into_bytes()).unwrap_or_default();
    let exact = ExactRequest { method: &method, url: &url, headers: &headers, content: &content };
    let response = exact::send(&exact).await.map_err(failed)?;
    Ok(json!({ "status": response.status, "headers": all_headers(&response), "json": response.json() }))
}
