//! The desk: its dependencies, and the choice of the handler of a request.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use gotrue_rs::app::App;
use http::header::ALLOW;
use http::{HeaderValue, StatusCode};
use tokio::sync::watch;
use url::Url;

use crate::http::error::DeskError;
use crate::http::headers::add_api_headers;
use crate::section::Section;

/// The path below which the desk is.
pub const MOUNT: &str = "/_desk";
/// The path below which its API is.
pub const API_PATH: &str = "/_desk/api";

/// What the desk knows about its shop.
#[derive(Debug, Clone)]
pub struct DeskSettings {
    /// The name of the shop.
    pub shop_name: String,
    /// The URLs of the site, whose pages may send requests.
    pub own_urls: Vec<Url>,
}

/// The desk of one server.
pub struct Desk {
    settings: DeskSettings,
    /// The auth API with the policy of the desk.
    app: watch::Receiver<Arc<App>>,
    sections: Vec<(&'static str, Arc<dyn Section>)>,
}

impl Desk {
    /// Creates a desk over an application with the policy of [`crate::apply_policy`].
    pub fn new(settings: DeskSettings, app: watch::Receiver<Arc<App>>) -> Self {
        Self { settings, app, sections: Vec::new() }
    }

    /// Answers the requests below `/_desk/api/{name}` by this section.
    #[must_use]
    pub fn with_section(mut self, name: &'static str, section: Arc<dyn Section>) -> Self {
        self.sections.push((name, section));
        self
    }

    /// Answers a request below [`API_PATH`].
    pub async fn answer(&self, request: Request) -> Response {
        let answered = self.handle(request).await;
        add_api_headers(answered.unwrap_or_else(DeskError::into_response))
    }

    async fn handle(&self, request: Request) -> Result<Response, DeskError> {
        drop((request, &self.settings, &self.app, &self.sections));
        Err(DeskError::session_missing())
    }
}

/// Returns 405 with the methods of a path.
fn method_not_allowed(methods: &'static str) -> Response {
    let error = DeskError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "The path has other methods.");
    let mut response = error.hint(format!("Use {methods}.")).into_response();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}
