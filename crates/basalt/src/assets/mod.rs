//! The shop: its built files, embedded in the binary and sent in the compressed form of the build.

mod content;
mod desk_files;
mod document_page;
mod embedded;
mod file;
mod fill;
mod page_template;
mod pages;
mod responses;
mod status_page;
mod structured_data;

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use desk::{TemplatePicture, ViewedPage};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use orders::decision::Product;

use crate::catalogue::Catalogue;
use crate::seller::Seller;
use desk_files::DESK_PREFIX;
pub(crate) use desk_files::DeskFiles;
use embedded::{FILES, Files, INDEX, is_variant, read_embedded};
use file::File;
pub(crate) use fill::SiteConfig;
pub(crate) use pages::FormOutcome;
use pages::{FORM_PATH, Page, Pages};
pub(crate) use responses::add_security_headers;
use responses::{add_frame_headers, respond_without_body};
pub(crate) use status_page::ServedPaths;

/// The mails for the frames of their pages.
const LIVE_MAILS: &str = "/mails/";
/// The prerendered pages, which are no files of the site.
const PAGES_PREFIX: &str = "pages/";

/// Returns the path of a font of the build, whose name has a digest.
pub(crate) fn find_font(family: &str) -> Option<String> {
    let is_font = |name: &str| {
        name.strip_prefix("assets/")
            .and_then(|name| name.strip_prefix(family))
            .and_then(|rest| rest.strip_suffix(".woff2"))
            .is_some_and(|rest| rest.starts_with('-'))
    };
    FILES.iter().find(|(name, _)| is_font(name)).map(|(name, _)| format!("/{name}"))
}

/// The files and pages, ready to be sent.
#[derive(Debug)]
pub(crate) struct Shop {
    files: HashMap<String, File>,
    /// `None` if the build has none; then `fallback` is the only page.
    pages: Option<Pages>,
    fallback: File,
    /// The public key of the site.
    key: String,
}

impl Shop {
    /// Loads the files and pages of the build, with the site's values and this catalogue.
    pub(crate) fn load(site: &SiteConfig<'_>, catalogue: Arc<Catalogue>, seller: Option<Arc<Seller>>) -> Self {
        let names: Vec<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        Self::from_files(site, (catalogue, seller), &Files { names: &names, get: &read_embedded })
    }

    /// Returns a site of one page that says what the server serves, in place of the shop.
    pub(crate) fn status_page(served: ServedPaths) -> Self {
        let page = |text: String| File::new(INDEX, Bytes::from(text));
        // The name of the file at `/` is empty.
        let files = HashMap::from([(String::new(), page(served.format_status()))]);
        Self { files, pages: None, fallback: page(served.format_not_found()), key: String::new() }
    }

    fn from_files(
        site: &SiteConfig<'_>,
        (catalogue, seller): (Arc<Catalogue>, Option<Arc<Seller>>),
        built: &Files<'_>,
    ) -> Self {
        let Files { names, get } = built;
        let mut files: HashMap<String, File> = names
            .iter()
            .filter(|name| {
                !is_variant(name, names) && ![PAGES_PREFIX, DESK_PREFIX].iter().any(|prefix| name.starts_with(prefix))
            })
            .filter_map(|name| Some((name.clone(), File::load(name, site, get)?)))
            .collect();
        for picture in catalogue.templates.iter().filter_map(|template| template.picture.as_ref()) {
            let name = picture.src.trim_start_matches('/');
            files.insert(name.to_owned(), File::new(name, picture.content.clone()));
        }
        let fallback = files.remove(INDEX).unwrap_or_else(|| File::new(INDEX, Bytes::new()));
        Self { files, pages: Pages::load(site, catalogue, seller, built), fallback, key: site.key.to_owned() }
    }

    /// Answers a request: a file, a known page, a redirect to one, or a "not found" page with status 404.
    pub(crate) fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Response {
        let path = uri.path();
        if !matches!(*method, Method::GET | Method::HEAD) {
            let allowed = if self.has_form(path) { "GET, HEAD, POST" } else { "GET, HEAD" };
            return respond_without_body(StatusCode::METHOD_NOT_ALLOWED, ALLOW, HeaderValue::from_static(allowed));
        }
        // Names are compared undecoded: a path with an escape or a dot segment is unknown.
        if let Some(file) = path.strip_prefix('/').and_then(|name| self.files.get(name)) {
            let response = file.answer(StatusCode::OK, headers);
            return if path.starts_with(LIVE_MAILS) { add_frame_headers(response) } else { response };
        }
        let Some(pages) = &self.pages else {
            let status = if path == "/" { StatusCode::OK } else { StatusCode::NOT_FOUND };
            return self.fallback.answer(status, headers);
        };
        let page = pages.find(path, uri.query());
        let status = if is_found(page) { StatusCode::OK } else { StatusCode::NOT_FOUND };
        if let Some(target) = find_redirect(pages, uri).filter(|_| !is_found(page)) {
            return respond_without_body(StatusCode::MOVED_PERMANENTLY, LOCATION, target);
        }
        pages.get(page).unwrap_or(&self.fallback).answer(status, headers)
    }

    /// Returns the public key that calls from the site carry.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Returns the title of a template on sale.
    pub(crate) fn find_title(&self, id: u16) -> Option<String> {
        let catalogue = &self.pages.as_ref()?.catalogue;
        catalogue.find(id).map(|template| template.title.clone())
    }

    /// Returns the picture of a template: the owner's of one on sale, else the built-in one.
    pub(crate) fn find_picture(&self, id: u16) -> Option<TemplatePicture> {
        let own = self.pages.as_ref()?.catalogue.find(id).and_then(|template| template.picture.as_ref());
        if let Some(own) = own {
            return Some(TemplatePicture { media_type: own.media_type, content: own.content.clone() });
        }
        let content = read_embedded(&format!("shared/{id:02}.jpg"))?;
        Some(TemplatePicture { media_type: "image/jpeg", content })
    }

    /// Returns the page at an address, if its requests are counted.
    pub(crate) fn find_viewed_page(&self, uri: &Uri) -> Option<ViewedPage> {
        let pages = self.pages.as_ref()?;
        match pages.find(uri.path(), uri.query()) {
            Page::Catalogue | Page::Category(_) => Some(ViewedPage::Catalogue),
            Page::Template(at) => Some(ViewedPage::Template(pages.catalogue.templates[at].id)),
            Page::Submission => Some(ViewedPage::Submission),
            Page::Document(_) | Page::TemplateNotFound | Page::NotFound | Page::Sitemap => None,
        }
    }

    /// Returns what payments are compared with.
    pub(crate) fn list_products(&self) -> Vec<Product> {
        self.pages.as_ref().map(|pages| pages.catalogue.list_products()).unwrap_or_default()
    }

    /// Returns the templates that have a payment link.
    pub(crate) fn list_for_sale(&self) -> Vec<Product> {
        self.pages.as_ref().map(|pages| pages.catalogue.list_for_sale()).unwrap_or_default()
    }

    /// Returns the titles of the templates whose payment link leads nowhere or to the simulator.
    pub(crate) fn list_unpayable(&self) -> Vec<String> {
        let templates = self.pages.iter().flat_map(|pages| &pages.catalogue.templates);
        templates
            .filter(|template| template.has_placeholder_link() || template.is_simulated())
            .map(|template| template.title.clone())
            .collect()
    }

    /// Returns ids and titles of the templates on sale.
    pub(crate) fn list_titles(&self) -> Vec<(u16, String)> {
        let templates = self.pages.iter().flat_map(|pages| &pages.catalogue.templates);
        templates.map(|template| (template.id, template.title.clone())).collect()
    }

    /// Returns whether a form is sent to this path.
    pub(crate) fn has_form(&self, path: &str) -> bool {
        self.pages.is_some() && path == FORM_PATH
    }

    /// Answers a form that was sent without a script.
    pub(crate) fn answer_form(&self, status: StatusCode, outcome: FormOutcome<'_>) -> Response {
        let page = self.pages.as_ref().map(|pages| pages.form_page(outcome)).unwrap_or_default();
        let mut response = Response::new(Body::from(page));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        add_security_headers(response)
    }
}

fn is_found(page: Page) -> bool {
    !matches!(page, Page::NotFound | Page::TemplateNotFound)
}

/// Returns the address of a page whose path has a slash too many at its end.
fn find_redirect(pages: &Pages, uri: &Uri) -> Option<HeaderValue> {
    let is_page = |path: &&str| *path != "/" && is_found(pages.find(path, None));
    let path = uri.path().strip_suffix('/').filter(is_page)?;
    let target = uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    HeaderValue::try_from(target).ok()
}

#[cfg(test)]
mod tests;
