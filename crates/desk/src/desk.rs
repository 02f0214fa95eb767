//! The desk: its guards, its calls and its sections as one service.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::any;
use gotrue_rs::app::App;
use tokio::sync::watch;
use tower::ServiceExt;
use utoipa::OpenApi;

use crate::api::{account_calls, sign_in_steps, unknown_path};
use crate::document::Description;
use crate::guards::{Guarded, admit_own_site, require_session};
use crate::http::body::MAX_BODY;
use crate::http::headers::add_api_headers;
use crate::http::path::to_target;
use crate::section::Sections;
use crate::settings::DeskSettings;
use crate::state::DeskState;

/// The desk of one server.
pub struct Desk(Router);

impl Desk {
    /// Creates a desk over an application with the policy of [`crate::apply_policy`].
    ///
    /// Guards run before everything, also before the answer to an unknown path: that of the own site for all, that of the
    /// session for all but the steps of a sign-in.
    pub fn new(settings: DeskSettings, app: watch::Receiver<Arc<App>>, sections: Sections) -> Self {
        let (steps, step_document) = sign_in_steps().split_for_parts();
        let (calls, call_document) = account_calls().into_router().split_for_parts();
        let (sections, section_document) = sections.into_router().split_for_parts();
        let calls = step_document.paths.paths.keys().fold(calls, |calls, path| calls.route(path, any(unknown_path)));
        let parts = [step_document, call_document, section_document];
        let document = parts.into_iter().fold(Description::openapi(), utoipa::openapi::OpenApi::merge_from);
        let document = serde_json::to_string(&document).unwrap_or_default();
        let state = Arc::new(DeskState::new(settings, app, document));
        let guarded = (calls.with_state(Guarded::new(Arc::clone(&state))))
            .merge(sections)
            .layer(from_fn_with_state(Arc::clone(&state), require_session));
        let router = (guarded.merge(steps.with_state(Arc::clone(&state))))
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .layer(from_fn_with_state(state, admit_own_site));
        Self(router)
    }

    /// Answers a request below [`crate::API_PATH`].
    pub async fn answer(&self, mut request: Request) -> Response {
        *request.uri_mut() = to_target(request.uri());
        add_api_headers(self.0.clone().oneshot(request).await.unwrap_or_else(|never| match never {}))
    }
}
