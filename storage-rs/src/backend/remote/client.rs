//! Requests to the server: their signatures, and what is repeated.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use reqwest::{Response, Url};

use crate::backend::BackendError;
use crate::clock::Clock;
use crate::config::S3BackendSettings;
use crate::signature::{ServerKey, SignedRequest, encode, sha256, sign};

/// How often a request is sent, the first time included.
const ATTEMPTS: u32 = 4;
/// The pause before the second attempt; it doubles.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a connection may take to be established.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the server may be silent.
const SILENCE: Duration = Duration::from_mins(1);
/// The largest answer that is read as a whole, in bytes: a list of 1,000 keys.
const MAXIMUM_ANSWER: usize = 8 * 1024 * 1024;

/// A client of a bucket.
#[derive(Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    /// The URL of the bucket, without a slash at its end.
    url: Url,
    bucket: String,
    region: String,
    access_key: String,
    secret: Secret,
    clock: Clock,
}

struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret")
    }
}

/// A request about a key, or about the bucket where the key is empty.
#[derive(Debug, Clone)]
pub(super) struct Request {
    method: Method,
    key: String,
    /// Parameters, decoded.
    pub(super) query: Vec<(&'static str, String)>,
    /// Header fields, which are signed.
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Bytes,
}

impl Request {
    /// A request without body.
    pub(super) fn new(method: Method, key: &str) -> Self {
        Self { method, key: key.to_owned(), query: Vec::new(), headers: Vec::new(), body: Bytes::new() }
    }
}

/// Wraps an error of a request.
pub(super) fn failed(attempt: &'static str, error: impl std::error::Error + Send + Sync + 'static) -> BackendError {
    BackendError::Failed { attempt, source: Box::new(error) }
}

/// The error of an answer that cannot be used.
pub(super) fn invalid(attempt: &'static str, answer: &str) -> BackendError {
    let excerpt: String = answer.chars().take(200).collect();
    failed(attempt, std::io::Error::other(excerpt))
}

impl Client {
    pub(super) fn new(settings: &S3BackendSettings, clock: Clock) -> Result<Self, String> {
        let access_key = settings.access_key_id.clone().ok_or("AWS_ACCESS_KEY_ID is missing")?;
        let secret = settings.secret_access_key.clone().ok_or("AWS_SECRET_ACCESS_KEY is missing")?;
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(SILENCE)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| format!("preparing the client of the S3 backend: {error}"))?;
        let url = bucket_url(settings)?;
        Ok(Self {
            http,
            url,
            bucket: settings.bucket.clone(),
            region: settings.region.clone(),
            access_key,
            secret: Secret(secret),
            clock,
        })
    }

    /// The header that names the source of a copy.
    pub(super) fn copy_source(&self, key: &str) -> String {
        format!("/{}/{}", encode(&self.bucket), encode_key(key))
    }

    /// Sends a request, again where that may help, and returns a successful response.
    pub(super) async fn send(&self, request: &Request) -> Result<Response, BackendError> {
        // A URL resolves such segments: the request would be for another object.
        if request.key.split('/').any(|part| matches!(part, "." | "..")) {
            return Err(BackendError::Name);
        }
        let mut pause = PAUSE;
        let mut attempt = 1;
        loop {
            let outcome = self.send_once(request).await;
            let may_help = match &outcome {
                Ok(response) => {
                    response.status().is_server_error() || response.status() == StatusCode::TOO_MANY_REQUESTS
                }
                Err(error) => error.is_connect() || error.is_timeout() || error.is_request(),
            };
            if !may_help || attempt == ATTEMPTS {
                return check(outcome.map_err(|error| failed("asking the S3 backend", error))?).await;
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
            attempt += 1;
        }
    }

    /// Sends a request whose answer is a document.
    pub(super) async fn send_for_text(&self, request: &Request) -> Result<String, BackendError> {
        let mut response = self.send(request).await?;
        let mut text = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| failed("reading an answer", error))? {
            if text.len() + part.len() > MAXIMUM_ANSWER {
                return Err(invalid("reading an answer", "it is too large"));
            }
            text.extend_from_slice(&part);
        }
        String::from_utf8(text).map_err(|error| failed("reading an answer", error))
    }

    async fn send_once(&self, request: &Request) -> Result<Response, reqwest::Error> {
        let mut url = self.url.clone();
        let path = format!("{}/{}", url.path().trim_end_matches('/'), encode_key(&request.key));
        url.set_path(&path);
        let query: Vec<(String, String)> =
            request.query.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        if !query.is_empty() {
            let pairs: Vec<_> =
                query.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
            url.set_query(Some(&pairs.join("&")));
        }
        let hash = hex::encode(sha256(&request.body));
        let timestamp = self.clock.now().format("%Y%m%dT%H%M%SZ").to_string();
        let mut headers = HeaderMap::new();
        let given = request.headers.iter().map(|(name, value)| (*name, value.as_str()));
        for (name, value) in given.chain([("x-amz-date", timestamp.as_str()), ("x-amz-content-sha256", hash.as_str())])
        {
            if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        let names: Vec<String> =
            headers.keys().map(|name| name.as_str().to_owned()).chain(["host".to_owned()]).collect();
        let signed = SignedRequest {
            method: &request.method,
            paths: vec![url.path().to_owned()],
            query: &query,
            headers: &headers,
            hosts: vec![host(&url)],
        };
        let key = ServerKey {
            access_key: &self.access_key,
            secret: &self.secret.0,
            region: &self.region,
            enforces_region: true,
        };
        let authorization = sign(&signed, &names, &hash, key, &timestamp);
        if let Ok(value) = HeaderValue::from_str(&authorization) {
            headers.insert(http::header::AUTHORIZATION, value);
        }
        self.http.request(request.method.clone(), url).headers(headers).body(request.body.clone()).send().await
    }
}

/// The URL of a bucket: in the path for servers of one's own, in the host otherwise.
fn bucket_url(settings: &S3BackendSettings) -> Result<Url, String> {
    let endpoint = settings.endpoint.clone().unwrap_or_else(|| format!("https://s3.{}.amazonaws.com", settings.region));
    let problem = |error: &dyn std::fmt::Display| format!("STORAGE_S3_ENDPOINT: {error}");
    let mut url = Url::parse(&endpoint).map_err(|error| problem(&error))?;
    let host = url.host_str().map(str::to_owned).ok_or_else(|| problem(&"the URL has no host"))?;
    if settings.forces_path_style || host.parse::<std::net::IpAddr>().is_ok() {
        let path = format!("{}/{}", url.path().trim_end_matches('/'), encode(&settings.bucket));
        url.set_path(&path);
    } else {
        url.set_host(Some(&format!("{}.{host}", settings.bucket))).map_err(|error| problem(&error))?;
    }
    Ok(url)
}

/// A key with its slashes.
fn encode_key(key: &str) -> String {
    key.split('/').map(encode).collect::<Vec<_>>().join("/")
}

/// The header `Host` of a URL.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Turns an unsuccessful response into an error.
async fn check(response: Response) -> Result<Response, BackendError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    if status == StatusCode::NOT_FOUND {
        return Err(BackendError::NotFound);
    }
    if status == StatusCode::PRECONDITION_FAILED {
        return Err(BackendError::Offset);
    }
    let body = response.bytes().await.unwrap_or_default();
    let text = String::from_utf8_lossy(&body[..body.len().min(1024)]).into_owned();
    if text.contains("KeyTooLongError") || text.contains("InvalidKey") {
        return Err(BackendError::Name);
    }
    if text.contains("ConditionalRequestConflict") {
        return Err(BackendError::Offset);
    }
    Err(invalid("asking the S3 backend", &format!("status {}: {text}", status.as_u16())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(endpoint: Option<&str>, forces_path_style: bool) -> S3BackendSettings {
        S3BackendSettings {
            bucket: "files".to_owned(),
            endpoint: endpoint.map(str::to_owned),
            region: "eu-central-1".to_owned(),
            forces_path_style,
            ..S3BackendSettings::default()
        }
    }

    #[test]
    fn bucket_is_in_the_host_or_in_the_path() {
        let cases = [
            (None, false, "https://files.s3.eu-central-1.amazonaws.com/"),
            (Some("https://store.example.com"), false, "https://files.store.example.com/"),
            (Some("https://store.example.com/base/"), true, "https://store.example.com/base/files"),
            (Some("http://127.0.0.1:9000"), false, "http://127.0.0.1:9000/files"),
        ];
        for (endpoint, forces_path_style, expected) in cases {
            assert_eq!(bucket_url(&settings(endpoint, forces_path_style)).unwrap().as_str(), expected);
        }
        assert!(bucket_url(&settings(Some("nowhere"), true)).is_err());
    }
}
