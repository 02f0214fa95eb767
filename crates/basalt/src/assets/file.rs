//! A file or page in the forms in which it is sent.

use std::sync::OnceLock;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::content::{self, Coding, accepts};
use super::fill::SiteConfig;
use super::responses::add_security_headers;
use crate::content_digest::content_digest;

/// Files below this path have a content hash in their name.
const HASHED_PREFIX: &str = "assets/";

/// A file or page, ready to be sent.
#[derive(Debug, Clone)]
pub(super) struct File {
    content_type: &'static str,
    cache: &'static str,
    pub(super) plain: Variant,
    brotli: Option<Variant>,
    gzip: Option<Variant>,
}

/// A form of a file.
#[derive(Debug, Clone)]
pub(super) struct Variant {
    content: Content,
    etag_suffix: &'static str,
    /// Computed on first use: most embedded files are never requested.
    etag: OnceLock<HeaderValue>,
}

/// The content of a file.
#[derive(Debug, Clone)]
enum Content {
    /// Uncompressed, or in the form that is sent.
    Whole(Bytes),
    /// Compressed by gzip; decompressed when first requested by a client that accepts no compression.
    Compressed(Bytes, OnceLock<Bytes>),
}

impl File {
    /// Loads an embedded file, with the site's values.
    pub(super) fn load(name: &str, site: &SiteConfig<'_>, get: &dyn Fn(&str) -> Option<Bytes>) -> Option<Self> {
        let Some(body) = get(name) else { return Self::load_compressed(name, get) };
        if let Some(filled) = site.fill(name, &body) {
            return Some(Self::compress(name, filled));
        }
        let variant = |suffix: &str, mark: &'static str| {
            get(&format!("{name}{suffix}"))
                .filter(|small| small.len() < body.len())
                .map(|small| Variant::new(small, mark))
        };
        Some(Self { brotli: variant(".br", "-br"), gzip: variant(".gz", "-gz"), ..Self::new(name, body.clone()) })
    }

    /// Loads a file of which only compressed variants exist.
    fn load_compressed(name: &str, get: &dyn Fn(&str) -> Option<Bytes>) -> Option<Self> {
        let gzip = get(&format!("{name}.gz"))?;
        let mut file = Self::new(name, Bytes::new());
        file.plain.content = Content::Compressed(gzip.clone(), OnceLock::new());
        file.gzip = Some(Variant::new(gzip, "-gz"));
        file.brotli = get(&format!("{name}.br")).map(|body| Variant::new(body, "-br"));
        Some(file)
    }

    /// Builds a file from a text, which it compresses.
    pub(super) fn compress(name: &str, text: String) -> Self {
        let mut file = Self::new(name, Bytes::from(text));
        let body = file.plain.body().clone();
        let variant = |small: Option<Vec<u8>>, mark: &'static str| {
            small.filter(|small| small.len() < body.len()).map(|small| Variant::new(Bytes::from(small), mark))
        };
        file.gzip = variant(content::gzip(&body), "-gz");
        file.brotli = variant(content::brotli(&body), "-br");
        file
    }

    /// Builds a file that is sent as it is.
    pub(super) fn new(name: &str, body: Bytes) -> Self {
        let cache = if name.starts_with(HASHED_PREFIX) { "public, max-age=31536000, immutable" } else { "no-cache" };
        let content_type = content::media_type(name);
        Self { content_type, cache, plain: Variant::new(body, ""), brotli: None, gzip: None }
    }

    /// Answers a request with the form that it accepts, or with 304.
    pub(super) fn answer(&self, status: StatusCode, headers: &HeaderMap) -> Response {
        let (variant, coding) = self.negotiate(headers.get(ACCEPT_ENCODING));
        let known = status == StatusCode::OK
            && headers.get_all(IF_NONE_MATCH).iter().any(|tags| lists_etag(tags, variant.etag()));
        let mut response =
            if known { Response::new(Body::empty()) } else { Response::new(Body::from(variant.body().clone())) };
        *response.status_mut() = if known { StatusCode::NOT_MODIFIED } else { status };
        let out = response.headers_mut();
        if !known {
            out.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
            out.insert(CONTENT_LENGTH, HeaderValue::from(variant.body().len()));
            if let Some(coding) = coding {
                out.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
            }
        }
        if status == StatusCode::OK {
            out.insert(ETAG, variant.etag().clone());
            out.insert(CACHE_CONTROL, HeaderValue::from_static(self.cache));
        } else {
            out.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        if self.brotli.is_some() || self.gzip.is_some() {
            out.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        add_security_headers(response)
    }

    fn negotiate(&self, accepted: Option<&HeaderValue>) -> (&Variant, Option<Coding>) {
        let accepted = accepted.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let offers = [(Coding::Brotli, &self.brotli), (Coding::Gzip, &self.gzip)];
        offers
            .into_iter()
            .find_map(|(coding, variant)| {
                variant.as_ref().filter(|_| accepts(accepted, coding)).map(|variant| (variant, Some(coding)))
            })
            .unwrap_or((&self.plain, None))
    }
}

impl Variant {
    fn new(body: Bytes, mark: &'static str) -> Self {
        Self { content: Content::Whole(body), etag_suffix: mark, etag: OnceLock::new() }
    }

    /// Returns the bytes.
    pub(super) fn body(&self) -> &Bytes {
        match &self.content {
            Content::Whole(body) => body,
            Content::Compressed(body, whole) => whole.get_or_init(|| content::gunzip(body).into()),
        }
    }

    fn etag(&self) -> &HeaderValue {
        self.etag.get_or_init(|| {
            let tag = format!("\"{}{}\"", content_digest(self.body()), self.etag_suffix);
            HeaderValue::try_from(tag).unwrap_or_else(|_| HeaderValue::from_static("\"\""))
        })
    }
}

/// Returns whether `If-None-Match` lists this tag.
fn lists_etag(tags: &HeaderValue, etag: &HeaderValue) -> bool {
    let (Ok(tags), Ok(etag)) = (tags.to_str(), etag.to_str()) else { return false };
    tags.split(',').map(str::trim).any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}
