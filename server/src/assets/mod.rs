//! The shop: its built files, part of the binary, answered compressed as they were built and never worked on again.

mod content;
mod fill;

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    ETAG, IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use content::{Coding, accepts};
pub use fill::Site;

/// What a page of ours may do: load from us, talk to us, and be framed by nobody.
const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; manifest-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";
const PERMISSIONS: &str = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";
/// Files below this path have the hash of their content in their name.
const HASHED: &str = "assets/";
const INDEX: &str = "index.html";
const ROUTES: &str = "routes.json";

/// The files of the build by name, in the order of names; without content where only a compressed form is part of the
/// program. Made by `build.rs`.
static FILES: &[(&str, Option<&[u8]>)] = include!(concat!(env!("OUT_DIR"), "/shop.rs"));

/// The files, ready to be sent.
#[derive(Debug)]
pub struct Shop {
    files: HashMap<String, File>,
    page: File,
    paths: HashSet<String>,
}

#[derive(Debug, Clone)]
struct File {
    content_type: &'static str,
    cache: &'static str,
    plain: Variant,
    brotli: Option<Variant>,
    gzip: Option<Variant>,
}

#[derive(Debug, Clone)]
struct Variant {
    content: Content,
    mark: &'static str,
    /// Made when it is first asked for: most files of the program are never read.
    etag: OnceLock<HeaderValue>,
}

/// What a file says.
#[derive(Debug, Clone)]
enum Content {
    /// As it is sent.
    Whole(Bytes),
    /// Compressed by gzip; decompressed when somebody first asks who takes no compression.
    Compressed(Bytes, OnceLock<Bytes>),
}

impl Shop {
    /// Takes the files of the build, and fills in what is known only now.
    pub fn open(site: &Site<'_>) -> Self {
        let names: Vec<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        Self::from_files(site, &names, &|name| {
            let at = FILES.binary_search_by_key(&name, |(name, _)| *name).ok()?;
            FILES[at].1.map(Bytes::from_static)
        })
    }

    fn from_files(site: &Site<'_>, names: &[String], get: &dyn Fn(&str) -> Option<Bytes>) -> Self {
        let mut files: HashMap<String, File> = names
            .iter()
            .filter(|name| !is_variant(name, names))
            .filter_map(|name| Some((name.clone(), File::open(name, site, get)?)))
            .collect();
        let page = files.remove(INDEX).unwrap_or_else(|| File::new(INDEX, Bytes::new()));
        let paths = files.remove(ROUTES).map(|routes| content::known_paths(routes.plain.body())).unwrap_or_default();
        Self { files, page, paths }
    }

    /// Answers a path: a file, a page that is known, or the page that says there is nothing, with status 404.
    pub fn answer(&self, method: &Method, path: &str, headers: &HeaderMap) -> Response {
        if !matches!(*method, Method::GET | Method::HEAD) {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return secured(response);
        }
        // Names are compared as they came: a path with an escape or a dot segment is simply not known.
        if let Some(file) = path.strip_prefix('/').and_then(|name| self.files.get(name)) {
            return file.answer(StatusCode::OK, headers);
        }
        let status = if self.paths.contains(path) { StatusCode::OK } else { StatusCode::NOT_FOUND };
        self.page.answer(status, headers)
    }
}

/// `app.js.br` beside `app.js`.
fn is_variant(name: &str, names: &[String]) -> bool {
    [".br", ".gz"]
        .iter()
        .any(|suffix| name.strip_suffix(suffix).is_some_and(|plain| names.iter().any(|other| other == plain)))
}

impl File {
    fn open(name: &str, site: &Site<'_>, get: &dyn Fn(&str) -> Option<Bytes>) -> Option<Self> {
        let Some(body) = get(name) else { return Self::open_compressed(name, get) };
        if let Some(filled) = site.fill(name, &body) {
            let mut file = Self::new(name, Bytes::from(filled));
            file.gzip = content::gzipped(file.plain.body()).map(|body| Variant::new(Bytes::from(body), "-gz"));
            return Some(file);
        }
        let variant = |suffix: &str, mark: &'static str| {
            get(&format!("{name}{suffix}"))
                .filter(|small| small.len() < body.len())
                .map(|small| Variant::new(small, mark))
        };
        Some(Self { brotli: variant(".br", "-br"), gzip: variant(".gz", "-gz"), ..Self::new(name, body.clone()) })
    }

    /// A file of which only compressed forms are there.
    fn open_compressed(name: &str, get: &dyn Fn(&str) -> Option<Bytes>) -> Option<Self> {
        let gzip = get(&format!("{name}.gz"))?;
        let mut file = Self::new(name, Bytes::new());
        file.plain.content = Content::Compressed(gzip.clone(), OnceLock::new());
        file.gzip = Some(Variant::new(gzip, "-gz"));
        file.brotli = get(&format!("{name}.br")).map(|body| Variant::new(body, "-br"));
        Some(file)
    }

    fn new(name: &str, body: Bytes) -> Self {
        let cache = if name.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
        let content_type = content::type_of(name);
        Self { content_type, cache, plain: Variant::new(body, ""), brotli: None, gzip: None }
    }

    fn answer(&self, status: StatusCode, headers: &HeaderMap) -> Response {
        let (variant, coding) = self.best_for(headers.get(ACCEPT_ENCODING));
        let known =
            status == StatusCode::OK && headers.get_all(IF_NONE_MATCH).iter().any(|tags| lists(tags, variant.etag()));
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
        secured(response)
    }

    fn best_for(&self, accepted: Option<&HeaderValue>) -> (&Variant, Option<Coding>) {
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
        Self { content: Content::Whole(body), mark, etag: OnceLock::new() }
    }

    fn body(&self) -> &Bytes {
        match &self.content {
            Content::Whole(body) => body,
            Content::Compressed(body, whole) => whole.get_or_init(|| content::inflated(body).into()),
        }
    }

    fn etag(&self) -> &HeaderValue {
        self.etag.get_or_init(|| {
            let tag = format!("\"{}{}\"", content::digest(self.body()), self.mark);
            HeaderValue::try_from(tag).unwrap_or_else(|_| HeaderValue::from_static("\"\""))
        })
    }
}

/// Whether `If-None-Match` names this tag.
fn lists(tags: &HeaderValue, etag: &HeaderValue) -> bool {
    let (Ok(tags), Ok(etag)) = (tags.to_str(), etag.to_str()) else { return false };
    tags.split(',').map(str::trim).any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

/// What every answer to a page or for one carries.
pub fn secured(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let fixed = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "strict-origin-when-cross-origin"),
        (HeaderName::from_static("permissions-policy"), PERMISSIONS),
        (HeaderName::from_static("x-frame-options"), "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests;
