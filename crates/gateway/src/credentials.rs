//! Translation of API keys into the tokens of their roles, which the services verify.

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use http_edge::request::APIKEY;

use crate::service::Service;

/// The header in which functions receive the token of an API key.
const SB_API_KEY: HeaderName = HeaderName::from_static("sb-api-key");
/// The header in which Realtime looks for a token first.
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// The query parameter that carries an API key.
const PARAMETER: &str = "apikey=";

/// Replaces the API key of a request by `role_token`, the token of its role; returns the new query.
///
/// `Authorization` is the caller's to set: a user's token stays there. Without `role_token` the request has a token or
/// nothing instead of an API key.
pub(crate) fn translate(
    service: Service,
    headers: &mut HeaderMap,
    query: Option<&str>,
    role_token: Option<&str>,
) -> Option<String> {
    let token = role_token.and_then(|token| HeaderValue::try_from(token).ok()).map(|mut value| {
        value.set_sensitive(true);
        value
    });
    headers.remove(SB_API_KEY);
    match service {
        Service::Rest | Service::GraphQl | Service::Storage => {
            replace(headers, APIKEY, token);
            query.map(|query| replace_parameter(query, None))
        }
        Service::Realtime => {
            let parameter = query.and_then(find_parameter);
            headers.remove(X_API_KEY);
            let known = token.clone().or_else(|| parameter.and_then(|text| HeaderValue::try_from(text).ok()));
            replace(headers, X_API_KEY, known);
            replace(headers, APIKEY, token);
            query.map(|query| replace_parameter(query, Some(role_token.or(parameter).unwrap_or_default())))
        }
        // A function compares `apikey` with the keys that it knows.
        Service::Functions => {
            replace(headers, SB_API_KEY, token);
            query.map(str::to_owned)
        }
        // These two accept every request that reaches them, and need no secrets.
        Service::Meta | Service::Studio => {
            headers.remove(APIKEY);
            headers.remove(AUTHORIZATION);
            query.map(|query| replace_parameter(query, None))
        }
    }
}

fn replace(headers: &mut HeaderMap, name: HeaderName, value: Option<HeaderValue>) {
    if let Some(value) = value {
        headers.insert(name, value);
    }
}

fn find_parameter(query: &str) -> Option<&str> {
    query.split('&').find_map(|part| part.strip_prefix(PARAMETER))
}

/// Replaces the value of each parameter `apikey`, or removes it.
fn replace_parameter(query: &str, value: Option<&str>) -> String {
    let mut replaced = String::with_capacity(query.len());
    for part in query.split('&') {
        let is_key = part.starts_with(PARAMETER);
        if is_key && value.is_none() {
            continue;
        }
        if !replaced.is_empty() {
            replaced.push('&');
        }
        match value.filter(|_| is_key) {
            Some(value) => replaced.extend([PARAMETER, value]),
            None => replaced.push_str(part),
        }
    }
    replaced
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TOKEN: Option<&str> = Some("jwt.anon");

    /// Returns the new query and the headers `apikey`, `x-api-key`, `sb-api-key` and `authorization`.
    fn translate_key(service: Service, query: &str, role_token: Option<&str>) -> (String, [String; 4]) {
        let mut headers = HeaderMap::new();
        for name in ["apikey", "x-api-key", "sb-api-key", "authorization"] {
            headers.insert(name, HeaderValue::from_static("sent"));
        }
        let query = translate(service, &mut headers, Some(query), role_token).expect("a query");
        let text = |name| headers.get(name).map_or("-", |value| value.to_str().expect("text")).to_owned();
        (query, ["apikey", "x-api-key", "sb-api-key", "authorization"].map(text))
    }

    #[test]
    fn key_is_translated_as_each_service_expects() {
        let query = "a=b&apikey=sb_publishable_1&c";
        for (service, token, expected_query, expected) in [
            (Service::Rest, TOKEN, "a=b&c", ["jwt.anon", "sent", "-", "sent"]),
            (Service::Storage, None, "a=b&c", ["sent", "sent", "-", "sent"]),
            (Service::Realtime, TOKEN, "a=b&apikey=jwt.anon&c", ["jwt.anon", "jwt.anon", "-", "sent"]),
            (Service::Realtime, None, query, ["sent", "sb_publishable_1", "-", "sent"]),
            (Service::Functions, TOKEN, query, ["sent", "sent", "jwt.anon", "sent"]),
            (Service::Functions, None, query, ["sent", "sent", "-", "sent"]),
            (Service::Meta, TOKEN, "a=b&c", ["-", "sent", "-", "-"]),
            (Service::Studio, TOKEN, "a=b&c", ["-", "sent", "-", "-"]),
        ] {
            let (query, headers) = translate_key(service, query, token);
            assert_eq!((&*query, headers), (expected_query, expected.map(str::to_owned)), "{service:?} {token:?}");
        }
    }

    proptest! {
        #[test]
        fn no_key_remains_in_a_query(parts in prop::collection::vec("(apikey=)?[a-z=%]{0,8}", 0..6)) {
            let query = parts.join("&");
            let removed = replace_parameter(&query, None);
            prop_assert_eq!(find_parameter(&removed), None);
            let replaced = replace_parameter(&query, Some("t"));
            prop_assert_eq!(find_parameter(&replaced), find_parameter(&query).map(|_| "t"));
        }
    }
}
