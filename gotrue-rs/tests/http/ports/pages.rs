//! A web server with changeable pages and request counts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

#[derive(Clone, Default)]
pub(crate) struct Pages {
    texts: Arc<Mutex<HashMap<String, String>>>,
    requested: Arc<Mutex<Vec<String>>>,
    pub base: String,
}

impl Pages {
    pub(crate) async fn serve(pages: &[(&str, &str)]) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let server = Self { base, ..Self::default() };
        for (path, text) in pages {
            server.put(path, text);
        }
        let router = Router::new().fallback(answer).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        server
    }

    /// A page. A text that begins with `redirect:` sends the caller elsewhere.
    pub(crate) fn put(&self, path: &str, text: &str) {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), text.to_owned());
    }

    pub(crate) fn remove(&self, path: &str) {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
    }

    /// The number of requests for a path.
    pub(crate) fn request_count(&self, path: &str) -> usize {
        self.requested
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .filter(|requested| *requested == path)
            .count()
    }
}

async fn answer(State(server): State<Pages>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    server.requested.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
    let page = server.texts.lock().unwrap_or_else(PoisonError::into_inner).get(&path).cloned();
    match page {
        None => StatusCode::NOT_FOUND.into_response(),
        Some(text) => match text.strip_prefix("redirect:") {
            Some(place) => (StatusCode::FOUND, [(header::LOCATION, place.to_owned())]).into_response(),
            None => text.into_response(),
        },
    }
}
