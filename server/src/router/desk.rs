//! The owner's desk: its API and its files.

use std::sync::Arc;

use ::desk::{API_PATH, Desk, Section};
use axum::extract::Request;
use axum::response::Response;

use super::is_below;
use crate::assets::DeskFiles;

/// The desk of a shop.
pub(crate) struct DeskArea {
    /// The API.
    pub api: Desk,
    /// The files of the application.
    pub files: DeskFiles,
}

impl DeskArea {
    /// Answers the requests of an owner below `/_desk/api/{name}` by this section.
    #[must_use]
    pub(crate) fn with_section(self, name: &'static str, section: Arc<dyn Section>) -> Self {
        Self { api: self.api.with_section(name, section), ..self }
    }

    /// Answers a request below `/_desk`.
    pub(super) async fn answer(&self, request: Request) -> Response {
        let path = request.uri().path();
        if is_below(path, API_PATH) {
            return self.api.answer(request).await;
        }
        self.files.answer(request.method(), path, request.headers())
    }
}
