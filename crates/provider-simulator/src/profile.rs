//! The profile endpoints.

use aws_lc_rs::hmac;
use axum::http::HeaderMap;
use axum::response::Response;
use http::StatusCode;
use http::header::AUTHORIZATION;
use http_edge::request::{BearerWhitespace, single_header};
use subtle::ConstantTimeEq;

use crate::catalog::{ProviderEntry, ResourceTemplate};
use crate::parameters::Parameters;
use crate::responses;
use crate::simulator::{Location, Simulator};
use crate::template::render;

impl Simulator {
    /// Answers a profile request with the response of its template.
    pub(crate) fn answer_resource(
        &self,
        at: Location<'_>,
        resource: &ResourceTemplate,
        headers: &HeaderMap,
        query: &Parameters,
    ) -> Response {
        let bearer = single_header(headers, &AUTHORIZATION).bearer(BearerWhitespace::Rejected);
        let Some(token) = bearer.present() else { return invalid_token() };
        let found = self.access_tokens.find(token).filter(|grant| grant.provider == at.entry.name);
        let Some(grant) = found else { return invalid_token() };
        if at.entry.needs_header.as_deref().is_some_and(|name| !headers.contains_key(name)) {
            return responses::oauth_error(StatusCode::BAD_REQUEST, "missing_header");
        }
        if at.entry.needs_secret_proof && !self.has_secret_proof(at.entry, token, query) {
            return responses::oauth_error(StatusCode::BAD_REQUEST, "invalid_appsecret_proof");
        }
        let body = render(&resource.body, &self.template_variables(at, &grant.user)).unwrap_or_default();
        responses::json(StatusCode::OK, &body)
    }

    /// Returns whether a request proves the client secret, by HMAC-SHA256 of its access token.
    fn has_secret_proof(&self, entry: &ProviderEntry, token: &str, query: &Parameters) -> bool {
        self.registration(entry).is_some_and(|registration| {
            let key = hmac::Key::new(hmac::HMAC_SHA256, registration.secret.reveal().as_bytes());
            let wanted = hex::encode(hmac::sign(&key, token.as_bytes()).as_ref());
            bool::from(query.get("appsecret_proof").as_bytes().ct_eq(wanted.as_bytes()))
        })
    }
}

fn invalid_token() -> Response {
    responses::oauth_error(StatusCode::UNAUTHORIZED, "invalid_token")
}
