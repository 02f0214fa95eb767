//! Texts of mails from files that `config.toml` names. The auth API fetches such texts over HTTP, so here they are, below a
//! path that only this process knows.

use std::collections::BTreeMap;
use std::path::PathBuf;

use axum::body::Body;
use axum::response::Response;
use gotrue_rs::ports::entropy::Entropy;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

/// The files, by the mail's name as settings have it.
#[derive(Debug)]
pub struct MailFiles {
    mount: String,
    files: BTreeMap<String, PathBuf>,
}

impl MailFiles {
    /// A new mount, for files that are named later.
    pub fn new(entropy: &Entropy) -> Self {
        Self { mount: format!("/_dev/mails/{}/", entropy.base32(32)), files: BTreeMap::new() }
    }

    /// These files from now on.
    #[must_use]
    pub fn with(mut self, files: BTreeMap<String, PathBuf>) -> Self {
        self.files = files;
        self
    }

    /// The path below which they are.
    pub fn mount(&self) -> &str {
        &self.mount
    }

    /// The file at this path; none when the path is not below the mount. Read anew each time, so that a designer sees
    /// every change.
    pub async fn answer(&self, path: &str) -> Option<Response> {
        let name = path.strip_prefix(&self.mount)?;
        let body = match self.files.get(name) {
            Some(file) => tokio::fs::read(file).await.inspect_err(|error| {
                tracing::error!(%error, file = %file.display(), "the text of a mail cannot be read");
            }),
            None => Err(std::io::ErrorKind::NotFound.into()),
        };
        let mut response = Response::default();
        match body {
            Ok(body) => *response.body_mut() = Body::from(body),
            Err(_) => *response.status_mut() = StatusCode::NOT_FOUND,
        }
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        Some(response)
    }
}
