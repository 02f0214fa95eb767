//! The owner's desk: its API and its files.

use std::sync::Arc;

use ::desk::{API_PATH, Desk, PageViews};
use axum::extract::Request;
use axum::response::Response;
use http::{Method, StatusCode};

use super::is_below;
use crate::assets::{DeskFiles, Shop};

/// The desk of a shop.
pub(crate) struct DeskArea {
    /// The API.
    pub api: Desk,
    /// The files of the application.
    pub files: DeskFiles,
    /// The counters of page requests.
    pub views: Arc<PageViews>,
}

impl DeskArea {
    /// Counts the request of a page of the shop that was answered.
    pub(super) fn record_view(&self, shop: &Shop, request: &Request, response: &Response) {
        if request.method() == Method::GET
            && response.status() == StatusCode::OK
            && let Some(page) = shop.find_viewed_page(request.uri())
        {
            self.views.record(page, request.headers());
        }
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
