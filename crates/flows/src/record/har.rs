//! Imports HAR files (HTTP Archive 1.2) of browsers and Playwright.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::DateTime;
use flow_proxy::{AUTH_PATH, FUNCTIONS_PATH, REST_PATH, STORAGE_PATH, is_s3_path};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::exchange::{Exchange, RecordedBody};
use super::separate::{Recorder, RecorderOptions};
use super::session::RecordedUrls;
use crate::FlowError;
use crate::format::{Profile, Service};
use crate::text::{format_pairs, split_origin};

/// The largest file.
const MAX_FILE: u64 = 512 << 20;

/// The paths of the services in projects.
const SERVICES: [(&str, Service); 4] = [
    (AUTH_PATH, Service::Auth),
    (FUNCTIONS_PATH, Service::Functions),
    (REST_PATH, Service::Rest),
    (STORAGE_PATH, Service::Storage),
];

/// How a HAR file is imported.
#[derive(Debug, Clone)]
pub struct HarOptions {
    pub file: PathBuf,
    /// The folder of the flows.
    pub folder: PathBuf,
    /// The URL of the project or of its auth API.
    ///
    /// Without it, every URL with `/auth/v1`, `/functions/v1`, `/rest/v1` or `/storage/v1` counts.
    pub upstream: Option<String>,
    /// The profile of the replays.
    pub profile: Profile,
    /// Seconds without a request after which another flow begins.
    pub gap: f64,
    /// The name of the flows.
    pub name: Option<String>,
}

/// Imports a file; returns the numbers of requests and flows.
///
/// # Errors
/// The file is no HAR, or has no request of the API.
pub fn import_har(options: &HarOptions) -> Result<(u64, u64), FlowError> {
    let place = options.file.display().to_string();
    let failed = |problem: String, hint: &str| FlowError::new(format!("{place}: {problem}"), hint);
    let size = std::fs::metadata(&options.file).map_err(|error| failed(error.to_string(), "check the path"))?.len();
    if size > MAX_FILE {
        return Err(failed(format!("it has more than {MAX_FILE} bytes"), "export fewer requests, or without pictures"));
    }
    let text = std::fs::read_to_string(&options.file).map_err(|error| failed(error.to_string(), "check the path"))?;
    let hint = "export it with content: \"Save all as HAR with content\", or recordHar of Playwright";
    let parsed: Value = serde_json::from_str(&text).map_err(|error| failed(format!("it is no JSON: {error}"), hint))?;
    drop(text);
    let entries =
        parsed["log"]["entries"].as_array().ok_or_else(|| failed("it has no log.entries".to_owned(), hint))?;
    let folder = options.file.parent().unwrap_or(Path::new("."));
    let mut exchanges: Vec<(RecordedUrls, Exchange)> =
        entries.iter().filter_map(|entry| read_entry(entry, options.upstream.as_deref(), folder)).collect();
    // Browsers write them in the order in which they began, proxies in that of their ends.
    exchanges.sort_by(|(_, left), (_, right)| left.at.total_cmp(&right.at));
    let Some((urls, _)) = exchanges.first() else {
        let problem = "no request in it goes to an API of a project".to_owned();
        return Err(failed(problem, "name the server with --upstream if its auth API is not at /auth/v1"));
    };
    let settings = exchanges.iter().find(|(_, exchange)| exchange.route() == "/settings");
    let announced = settings.map(|(_, exchange)| exchange.response_json().clone()).unwrap_or_default();
    let mut recorder = Recorder::new(RecorderOptions {
        folder: options.folder.clone(),
        profile: options.profile,
        gap: options.gap,
        name: options.name.clone(),
        urls: urls.clone(),
        announced,
    });
    for (_, exchange) in &exchanges {
        recorder.record(exchange)?;
    }
    let counts = recorder.counts();
    recorder.finish()?;
    Ok(counts)
}

/// Reads an entry; `None` if it is no request of the API.
fn read_entry(entry: &Value, upstream: Option<&str>, folder: &Path) -> Option<(RecordedUrls, Exchange)> {
    let (request, response) = (&entry["request"], &entry["response"]);
    let method = request["method"].as_str()?;
    let (urls, service, path) = find_api(request["url"].as_str()?, upstream)?;
    let is_recorded = match method {
        "OPTIONS" | "CONNECT" => false,
        "HEAD" => service.has_user_content(),
        _ => service != Service::Storage || !is_s3_path(&path),
    };
    if !is_recorded {
        return None;
    }
    let status =
        response["status"].as_u64().and_then(|status| u16::try_from(status).ok()).filter(|status| *status > 0)?;
    let started = DateTime::parse_from_rfc3339(entry["startedDateTime"].as_str().unwrap_or_default());
    #[expect(clippy::cast_precision_loss, reason = "milliseconds are below 2^52")]
    let at = started.map_or(0.0, |started| started.timestamp_millis() as f64 / 1000.0);
    let exchange = Exchange {
        method: method.to_owned(),
        path,
        service,
        headers: read_headers(&request["headers"]),
        body: RecordedBody::Whole(read_post_data(&request["postData"])),
        status,
        response_headers: read_headers(&response["headers"]),
        response_body: read_content(&response["content"], folder),
        at,
        // A user goes from page to page: flows are separated by tokens and pauses alone.
        client: String::new(),
        ..Exchange::default()
    };
    Some((urls, exchange))
}

/// Splits a URL into the addresses of the server and the path below its API.
fn find_api(url: &str, upstream: Option<&str>) -> Option<(RecordedUrls, Service, String)> {
    let url = url.split('#').next().unwrap_or_default();
    let (origin, path) = split_origin(url)?;
    let urls = |project: &str| RecordedUrls {
        bases: vec![format!("{project}{AUTH_PATH}")],
        projects: vec![project.to_owned()],
    };
    if let Some(upstream) = upstream.map(|upstream| upstream.trim_end_matches('/')) {
        let project = upstream.strip_suffix(AUTH_PATH).unwrap_or(upstream);
        let rest = url.strip_prefix(project)?;
        for (mount, service) in SERVICES {
            if let Some(path) = rest.strip_prefix(mount).filter(|path| path.starts_with('/')) {
                return Some((urls(project), service, path.to_owned()));
            }
        }
        let at_root = RecordedUrls { bases: vec![project.to_owned()], projects: Vec::new() };
        return rest.starts_with('/').then(|| (at_root, Service::Auth, rest.to_owned()));
    }
    // The name of an object can have the path of another service.
    let found = SERVICES.into_iter().filter_map(|(mount, service)| Some((path.find(mount)?, mount, service)));
    let (at, mount, service) = found.min_by_key(|(at, _, _)| *at)?;
    let below = path[at + mount.len()..].to_owned();
    let project = format!("{origin}{}", &path[..at]);
    below.starts_with('/').then(|| (urls(&project), service, below))
}

fn read_headers(list: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for header in list.as_array().into_iter().flatten() {
        let (Some(name), Some(value)) = (header["name"].as_str(), header["value"].as_str()) else { continue };
        // Those of HTTP/2 that begin with a colon are no headers.
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            headers.append(name, value);
        }
    }
    headers
}

fn read_post_data(data: &Value) -> Vec<u8> {
    if let Some(text) = data["text"].as_str() {
        return text.as_bytes().to_vec();
    }
    let pairs = data["params"].as_array().into_iter().flatten();
    let pairs = pairs.filter_map(|pair| Some((pair["name"].as_str()?, pair["value"].as_str().unwrap_or_default())));
    format_pairs(pairs).into_bytes()
}

fn read_content(content: &Value, folder: &Path) -> RecordedBody {
    if let Some(text) = content["text"].as_str() {
        let is_base64 = content["encoding"] == "base64";
        return RecordedBody::Whole(if is_base64 {
            STANDARD.decode(text).unwrap_or_default()
        } else {
            text.as_bytes().to_vec()
        });
    }
    // Playwright can put bodies into files beside the HAR.
    if let Some(name) = content["_file"].as_str().filter(|name| !name.contains(['/', '\\'])) {
        return std::fs::read(folder.join(name)).map_or_else(|_| RecordedBody::default(), RecordedBody::Whole);
    }
    match content["size"].as_u64() {
        Some(size) if size > 0 => RecordedBody::TooLarge(size),
        _ => RecordedBody::default(),
    }
}
