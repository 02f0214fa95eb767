//! The files of the owner's desk, a React application below `/_desk`.

use std::collections::HashMap;

use axum::response::Response;
use bytes::Bytes;
use http::header::ALLOW;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::embedded::{FILES, INDEX, is_variant, read_embedded};
use super::file::File;
use super::fill::SiteConfig;
use super::responses::respond_without_body;

/// The folder of the build with the files of the desk, which are no files of the shop.
pub(super) const DESK_PREFIX: &str = "_desk/";

/// The page of a binary without the built desk.
const PLACEHOLDER: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>The desk is not built</title>\n\
                           <h1>The desk is not built</h1>\n<p>Run <code>make build</code> and start again.</p>\n";

/// The built files of the desk.
#[derive(Debug)]
pub(crate) struct DeskFiles {
    files: HashMap<String, File>,
    index: File,
}

impl DeskFiles {
    /// Loads the embedded files.
    pub(crate) fn load() -> Self {
        let names: Vec<String> =
            FILES.iter().filter_map(|(name, _)| name.strip_prefix(DESK_PREFIX).map(str::to_owned)).collect();
        Self::from_files(&names, &|name| read_embedded(&format!("{DESK_PREFIX}{name}")))
    }

    pub(super) fn from_files(names: &[String], get: &dyn Fn(&str) -> Option<Bytes>) -> Self {
        let site = SiteConfig { url: "", key: "", site_url: "" };
        let plain = names.iter().filter(|name| !is_variant(name, names));
        let mut files: HashMap<String, File> =
            plain.filter_map(|name| Some((name.clone(), File::load(name, &site, get)?))).collect();
        let index = files.remove(INDEX).unwrap_or_else(|| File::new(INDEX, Bytes::from_static(PLACEHOLDER.as_bytes())));
        Self { files, index }
    }

    /// Answers a request below `/_desk` with a file, or with the page.
    ///
    /// The script of the page knows the paths without an extension.
    pub(crate) fn answer(&self, method: &Method, path: &str, headers: &HeaderMap) -> Response {
        let response = if matches!(*method, Method::GET | Method::HEAD) {
            let name = path.strip_prefix(desk::MOUNT).unwrap_or_default().trim_start_matches('/');
            // Names are compared undecoded: a path with an escape or a dot segment is unknown.
            match self.files.get(name) {
                Some(file) => file.answer(StatusCode::OK, headers),
                None if !name.contains('.') && !name.contains('%') => self.index.answer(StatusCode::OK, headers),
                None => self.index.answer(StatusCode::NOT_FOUND, headers),
            }
        } else {
            respond_without_body(StatusCode::METHOD_NOT_ALLOWED, ALLOW, HeaderValue::from_static("GET, HEAD"))
        };
        desk::add_file_headers(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(path: &str) -> Response {
        let names = ["index.html", "assets/app-1.js"].map(str::to_owned);
        let get = |name: &str| names.iter().any(|known| known == name).then(|| Bytes::from(name.to_owned()));
        DeskFiles::from_files(&names, &get).answer(&Method::GET, path, &HeaderMap::new())
    }

    #[test]
    fn paths_of_the_application_get_its_page() {
        for path in ["/_desk", "/_desk/", "/_desk/orders", "/_desk/submissions/00000000-0000-4000-8000-000000000001"] {
            let page = answer(path);
            assert_eq!(
                (page.status(), page.headers()["content-type"].as_bytes()),
                (StatusCode::OK, &b"text/html; charset=utf-8"[..])
            );
            assert_eq!(page.headers()["cache-control"], "no-cache");
        }
        let script = answer("/_desk/assets/app-1.js");
        assert_eq!(script.headers()["cache-control"], "public, max-age=31536000, immutable");
        for path in ["/_desk/assets/app-2.js", "/_desk/%2e%2e/index.html", "/_desk/../index.html", "/_desk/a%2fb"] {
            assert_eq!(answer(path).status(), StatusCode::NOT_FOUND, "{path}");
        }
    }

    #[test]
    fn files_are_only_read() {
        let files = DeskFiles::load();
        let refused = files.answer(&Method::POST, "/_desk/", &HeaderMap::new());
        assert_eq!(
            (refused.status(), &refused.headers()[ALLOW]),
            (StatusCode::METHOD_NOT_ALLOWED, &HeaderValue::from_static("GET, HEAD"))
        );
    }
}
