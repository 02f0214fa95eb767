//! The owner's desk: its API and its files.

use std::sync::Arc;

use ::desk::{API_PATH, Desk, MOUNT, PageViews, add_file_headers};
use axum::extract::Request;
use axum::response::{IntoResponse, Redirect, Response};
use http::{Method, StatusCode};

use super::own_host::OwnHost;
use super::paths::is_below;
use crate::assets::{DeskFiles, Shop};

/// The desk of a shop.
pub(crate) struct DeskArea {
    pub api: Desk,
    /// The files of the application.
    pub files: DeskFiles,
    /// The counters of page requests.
    pub views: Arc<PageViews>,
    /// The host of the desk, if it has an origin of its own.
    pub host: Option<OwnHost>,
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

    /// Returns whether a request is for the desk: below its path, or at its host, which has nothing else.
    pub(super) fn is_of(&self, request: &Request) -> bool {
        match &self.host {
            Some(own) => own.is_of(request),
            None => is_below(request.uri().path(), MOUNT),
        }
    }

    /// Answers a request to the desk.
    pub(super) async fn answer(&self, request: Request) -> Response {
        let path = request.uri().path();
        if path == "/" {
            return Redirect::to(&format!("{MOUNT}/")).into_response();
        }
        if !is_below(path, MOUNT) {
            return add_file_headers(StatusCode::NOT_FOUND.into_response());
        }
        if is_below(path, API_PATH) {
            return self.api.answer(request).await;
        }
        self.files.answer(request.method(), path, request.headers())
    }
}
