//! Secret keys that pages send: whoever opens the page reads the key.

use axum::extract::Request;
use axum::response::Response;
use http_edge::request::FetchSite;

use super::{EdgeRouter, error_responses};

impl EdgeRouter {
    /// Refuses a secret key that a browser sends for a page, as the platform of Supabase does.
    ///
    /// Pages of a project in development may have it, as with the Supabase CLI.
    pub(super) fn refuse_secret_key_of_page(&self, request: &Request) -> Option<Response> {
        let headers = request.headers();
        let is_of_page = FetchSite::of(headers).is_some_and(|site| site != FetchSite::User);
        let is_refused = is_of_page && !self.is_in_development && self.gateway.has_secret_key(request.uri(), headers);
        is_refused.then(error_responses::secret_key_in_browser)
    }
}
