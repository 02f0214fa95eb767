//! The consent of a user at a social provider, and ID tokens of providers.

use serde_json::{Value, json};

use super::arguments::{text_argument, wanted};
use super::scope::Scope;
use crate::FlowError;
use crate::text::{encode, format_pairs, parse_url};

/// The most redirects between the auth API and its callback.
const MAX_REDIRECTS: usize = 10;

/// Signs a user in at a provider: follows the redirects from `/authorize` to the callback.
///
/// The callback is not requested.
///
/// Returns the callback: `{url, query, fragment, …}`.
pub(super) async fn consent(arguments: &Value, scope: &Scope) -> Result<Value, FlowError> {
    let form = "{\"name\": \"github\", \"url\": \"{{location}}\", \"user\": {\"email\": …}}";
    let name = text_argument(arguments, "provider", "name")?;
    let mut url = arguments["url"].as_str().ok_or_else(|| wanted("provider", form))?.to_owned();
    let api = scope.target.test_api.as_ref().ok_or_else(|| {
        FlowError::new(
            format!("the consent of a user at the provider {name} is wanted, which only a test server simulates"),
            "replay against a test server, or give the callback's query with --set and the name of this variable",
        )
    })?;
    let mut next = arguments["user"].as_object().cloned().unwrap_or_default();
    for member in ["scenario", "error"] {
        if let Some(value) = arguments.get(member) {
            next.insert(member.to_owned(), value.clone());
        }
    }
    if !next.is_empty() {
        api.call("POST", &format!("/providers/{}/next", encode(name)), Some(&Value::Object(next))).await?;
    }
    let callback = format!("{}/callback", scope.target.base);
    for _ in 0..MAX_REDIRECTS {
        if url.starts_with(&callback) {
            return Ok(parse_url(&url));
        }
        let failed = |problem: String| {
            FlowError::new(format!("the provider {name}: {problem}"), "check its settings in the file")
        };
        let response = scope.client.get(&url).send().await.map_err(|error| failed(error.to_string()))?;
        let location = response.headers().get("location").and_then(|value| value.to_str().ok()).map(str::to_owned);
        match location {
            Some(location) => url = location,
            None => return Err(failed(format!("status {} at {url} in place of a redirect", response.status()))),
        }
    }
    Err(FlowError::new(format!("the provider {name} redirects too often"), "check its settings in the file"))
}

/// Returns an ID token as an application gets it that signs in natively: `{id_token, …}`.
pub(super) async fn id_token(arguments: &Value, scope: &Scope) -> Result<Value, FlowError> {
    let name = text_argument(arguments, "id_token", "name")?;
    if scope.target.is_alternating {
        return Err(FlowError::new(
            format!("an ID token of {name} cannot be had: two servers in turn do not simulate one provider"),
            "replay this flow without --upgrade, or give the token with --set and the name of this variable",
        ));
    }
    let pairs = ["login_hint", "nonce"].map(|name| (name, arguments[name].as_str().unwrap_or_default()));
    let pairs = pairs.into_iter().filter(|(_, value)| !value.is_empty());
    let url = format!("{}/_dev/provider/{}/id_token?{}", scope.target.project, encode(name), format_pairs(pairs));
    let failed = |problem: String| {
        let hint =
            "replay against a test server whose settings simulate the provider ([basalt.provider] stands_in_for)";
        FlowError::new(format!("an ID token of {name} cannot be had: {problem}"), hint)
    };
    let response = scope.client.get(&url).send().await.map_err(|error| failed(error.to_string()))?;
    let status = response.status();
    let body = response.bytes().await.map_err(|error| failed(error.to_string()))?;
    if !status.is_success() {
        return Err(failed(format!("status {status}")));
    }
    Ok(serde_json::from_slice(&body).unwrap_or_else(|_| json!({ "id_token": String::from_utf8_lossy(&body) })))
}
