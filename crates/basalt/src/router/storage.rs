//! The storage API at `/storage/v1`: whose keys it gets, and what its responses carry.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use http::header::{AUTHORIZATION, VARY};
use http::{HeaderValue, Method};
use http_edge::request::{APIKEY, cors};
use postgrest_rs::service::dependencies::TokenIsApiKey;
use storage_rs::storage::Storage;

use super::content_host::{ContentHost, VARIES_BY};
use super::explain::AnsweredRequest;
use super::paths::is_below;
use super::{EdgeRouter, error_responses};
use crate::api_keys::{RequestCredentials, STORAGE_SCOPE};

/// The path of the S3 protocol, whose requests are signed.
const S3: &str = "/storage/v1/s3";

impl EdgeRouter {
    /// Answers a request to the storage API. Public and signed URLs need no API key; row security decides about the rest.
    pub(super) async fn handle_storage(&self, storage: &Arc<Storage>, mut request: Request) -> Response {
        if cors::is_preflight(request.method(), request.headers()) {
            return cors::FORWARDED.preflight_response(request.headers());
        }
        if let Some(answer) = self.content_host.as_ref().and_then(|host| host.answer(&request)) {
            return cors::FORWARDED.apply(answer);
        }
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let is_here = self.content_host.as_ref().is_some_and(|host| host.is_of(&request));
        request.headers_mut().remove(http::header::ORIGIN);
        let has_credentials = request.headers().contains_key(APIKEY) || request.headers().contains_key(AUTHORIZATION);
        let uri = request.uri().clone();
        if !is_below(uri.path(), S3)
            && self.gateway.authenticate(&uri, request.headers_mut()) == RequestCredentials::Invalid
        {
            // Other credentials are tokens, about which the storage API says what is wrong.
            let presented = self.gateway.find_invalid_key(&uri, request.headers());
            if let Some(key) = presented.filter(|key| key.text.starts_with("sb_")) {
                let response = error_responses::invalid_api_key();
                return cors::FORWARDED.apply(self.explanations.invalid_key(&request, Some(&key), response));
            }
        }
        if let Some(refused) = self.refuse_token_use(STORAGE_SCOPE, &uri, request.headers()) {
            return cors::FORWARDED.apply(refused);
        }
        if self.gateway.has_key_token(request.headers()) {
            request.extensions_mut().insert(TokenIsApiKey);
        }
        let answered = storage.config().explains_policies.then(|| AnsweredRequest::new(&request, ""));
        let mut response = storage.handle(request).await;
        if let Some(answered) = answered {
            response = self.explanations.storage(&answered, response);
        }
        if self.content_host.is_some() && is_read {
            ContentHost::add_reader_headers(is_here, response.headers_mut());
        } else if has_credentials && is_read {
            // A shared cache takes a response to a key for one to everybody.
            response.headers_mut().append(VARY, HeaderValue::from_static(VARIES_BY));
        }
        cors::FORWARDED.apply(response)
    }
}
