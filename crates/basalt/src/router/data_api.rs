//! The data API at `/rest/v1`: who may call it, and what its responses carry.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use http_edge::isolate_foreign_content;
use http_edge::request::{ApiKeyRole, cors};
use postgrest_rs::service::DataApi;
use postgrest_rs::service::dependencies::TokenIsApiKey;

use super::explain::AnsweredRequest;
use super::paths::{DATA_API, strip_mount};
use super::{EdgeRouter, error_responses};
use crate::api_keys::RequestCredentials;
use crate::data_answer;

/// The OAuth scope that opens the data API to the token of a client.
const SCOPE: &str = "rest";

impl EdgeRouter {
    /// Answers a request to the data API. Its database decides by the role of the token what the caller may do.
    ///
    /// `is_local`: the request has no credentials and comes from this machine, where visitors need no key in development.
    pub(super) async fn handle_data_api(&self, api: &Arc<DataApi>, is_local: bool, mut request: Request) -> Response {
        if cors::is_preflight(request.method(), request.headers()) {
            return cors::FORWARDED.preflight_response(request.headers());
        }
        request.headers_mut().remove(http::header::ORIGIN);
        let uri = strip_mount(request.uri(), DATA_API);
        if is_local {
            self.gateway.set_visitor(request.headers_mut());
        }
        let found = self.gateway.authenticate(&uri, request.headers_mut());
        let response = match found {
            // The API verifies the token, and names what is wrong with it.
            RequestCredentials::Key(_) | RequestCredentials::Token => {
                if let Some(refused) = self.refuse_token_use(SCOPE, &uri, request.headers()) {
                    return cors::FORWARDED.apply(refused);
                }
                if self.is_hidden_description(found, &uri, request.headers()) {
                    return cors::FORWARDED.apply(error_responses::hidden_description());
                }
                *request.uri_mut() = without_key(&uri);
                if self.gateway.has_key_token(request.headers()) {
                    request.extensions_mut().insert(TokenIsApiKey);
                }
                let answered = AnsweredRequest::new(&request, DATA_API);
                let response = answer(api, request).await;
                self.explanations.data_api(&answered, response)
            }
            RequestCredentials::Missing => self.explanations.missing_key(&request, error_responses::missing_api_key()),
            RequestCredentials::Invalid => {
                let presented = self.gateway.find_invalid_key(&uri, request.headers());
                self.explanations.invalid_key(&request, presented.as_ref(), error_responses::invalid_api_key())
            }
        };
        cors::FORWARDED.apply(response)
    }

    /// Whether a request is for the description of the schema, which the platform of Supabase shows with a secret key alone. The
    /// Supabase CLI shows it to everybody, as does a project in development.
    fn is_hidden_description(&self, found: RequestCredentials, uri: &http::Uri, headers: &http::HeaderMap) -> bool {
        let is_description = uri.path().chars().all(|character| character == '/');
        let is_service =
            || found == RequestCredentials::Key(ApiKeyRole::Service) || self.gateway.has_service_token(headers);
        is_description && !self.is_in_development && !is_service()
    }
}

/// Removes the query parameter `apikey`, which would be a filter.
fn without_key(uri: &http::Uri) -> http::Uri {
    let Some(query) = uri.query().filter(|query| query.contains("apikey=")) else { return uri.clone() };
    let kept: Vec<&str> = query.split('&').filter(|part| !part.starts_with("apikey=")).collect();
    let target = if kept.is_empty() { uri.path().to_owned() } else { format!("{}?{}", uri.path(), kept.join("&")) };
    target.parse().unwrap_or_else(|_| uri.clone())
}

async fn answer(api: &DataApi, request: Request) -> Response {
    let mut response = data_answer::answer(api, request).await;
    // Functions of the project may answer with any type.
    isolate_foreign_content(response.headers_mut());
    response
}
