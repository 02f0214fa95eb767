//! Who signs a request.

use axum::body::Body;

use super::chunked::{ChunkSigner, Chunking};
use super::digests;
use crate::backend::Content;
use crate::caller::Caller;
use crate::error::{Code, Error};
use crate::objects::content::{LimitedContent, body_content};
use crate::request::Call;
use crate::signature::{ServerKey, Signature, SignatureProblem, SignedRequest, parse_query, verify};

/// What the signature of a request says about its body.
pub(super) struct Signed {
    signature: Signature,
    secret: String,
}

impl From<SignatureProblem> for Error {
    fn from(problem: SignatureProblem) -> Self {
        let (status, code, message) = problem.describe();
        match code {
            "AccessDenied" => Self::access_denied(message),
            "SignatureDoesNotMatch" => Self::new(Code::SignatureDoesNotMatch, status, message),
            "ExpiredToken" => Self::new(Code::ExpiredToken, status, message),
            "RequestTimeTooSkewed" => Self::new(Code::RequestTimeTooSkewed, status, message),
            _ => Self::new(Code::InvalidSignature, status, message),
        }
    }
}

/// Verifies the signature of a request and finds its caller.
///
/// # Errors
/// 403: the signature or the token of the session is wrong. 400: it is malformed or too old.
pub(super) fn authenticate(call: &mut Call) -> Result<Signed, Error> {
    let query = parse_query(call.parts.uri.query().unwrap_or_default());
    let signature = Signature::find(&call.parts.headers, &query)?;
    verify_signature(call, &query, signature)
}

/// Verifies a signature that was found, and finds the caller.
pub(super) fn verify_signature(
    call: &mut Call,
    query: &[(String, String)],
    signature: Signature,
) -> Result<Signed, Error> {
    let storage = std::sync::Arc::clone(&call.storage);
    let config = storage.config();
    let missing = || Error::access_denied("Missing S3 Protocol Access Key ID or Secret Key Environment variables");
    let (access_key, secret) = if signature.session_token.is_some() {
        let secret = config.anon_key.as_deref().ok_or_else(|| Error::access_denied("Missing tenant anon key"))?;
        (config.project.as_str(), secret)
    } else {
        config.s3.access_key_id.as_deref().zip(config.s3.access_key_secret.as_deref()).ok_or_else(missing)?
    };
    let server =
        ServerKey { access_key, secret, region: &config.s3.region, enforces_region: config.s3.enforces_region };
    let request = SignedRequest {
        method: &call.parts.method,
        paths: paths(call),
        query,
        headers: &call.parts.headers,
        hosts: hosts(call),
    };
    verify(&signature, &request, server, storage.now())?;
    let now = storage.now().timestamp();
    let check = config.token_check.as_ref();
    call.caller = match (&signature.session_token, &config.service_key) {
        (Some(token), _) => Caller::authenticate(&storage.keys(), check, token, now)?,
        // The claims of the key are those that policies and triggers know.
        (None, Some(key)) => {
            let caller = Caller::authenticate(&storage.keys(), None, key, now);
            caller.unwrap_or_else(|_| Caller::service(&config.service_role))
        }
        (None, None) => Caller::service(&config.service_role),
    };
    Ok(Signed { secret: secret.to_owned(), signature })
}

/// The paths that the client may have signed: with prefixes that a proxy removed, and without.
fn paths(call: &Call) -> Vec<String> {
    let config = call.storage.config();
    // A prefix with the root of the protocol is the beginning of a path that was signed for another object.
    let is_before_root = |prefix: &&str| prefix.split('/').all(|segment| segment != "s3");
    let forwarded = call.header("x-forwarded-prefix").filter(is_before_root).unwrap_or_default();
    let mut paths: Vec<String> = vec![call.parts.uri.path().to_owned()];
    for prefix in [config.s3.prefix.as_str(), config.prefix.as_str(), forwarded, ""] {
        let path = format!("{}{}", prefix.trim_end_matches('/'), call.path);
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// The hosts that the client may have signed.
fn hosts(call: &Call) -> Vec<String> {
    let mut hosts = Vec::new();
    let configured = call.storage.config().public_url.as_deref().and_then(|url| url.parse::<http::Uri>().ok());
    hosts.extend(configured.and_then(|url| Some(url.authority()?.as_str().to_owned())));
    hosts.extend(call.header("host").map(str::to_owned));
    hosts.extend(call.parts.uri.authority().map(|authority| authority.as_str().to_owned()));
    if call.storage.config().s3.allows_forwarded_host {
        hosts.extend(call.header("forwarded").and_then(forwarded_host));
    }
    if let Some(host) = call.header("x-forwarded-host") {
        hosts.push(host.to_ascii_lowercase());
        if let Some(port) = call.header("x-forwarded-port") {
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            hosts.push(format!("{}:{port}", name.to_ascii_lowercase()));
        }
    }
    hosts.dedup();
    hosts
}

/// The first host that a header `Forwarded` names (RFC 7239 §5.3).
fn forwarded_host(header: &str) -> Option<String> {
    header.split([',', ';']).find_map(|parameter| {
        let (name, value) = parameter.trim().split_once('=')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim_matches('"').to_ascii_lowercase())
    })
}

impl Signed {
    /// The content of the body, without the coding of chunks. It fails at its end if it is not what was signed or declared.
    pub(super) fn content(&self, call: &Call, body: Body, limit: u64) -> Result<Content, Error> {
        let hash = self.signature.content_sha256.as_deref().unwrap_or_default();
        let chunking = Chunking::parse_algorithm(hash);
        let invalid = || Error::invalid_request(format!("Invalid streaming algorithm: {hash}"));
        let malformed = |name: &str| Error::new(Code::InvalidChecksum, 400, format!("The value of {name} is invalid"));
        let Some((is_signed, has_trailer)) = chunking.map_err(|()| invalid())? else {
            let content = body_content(body, limit);
            return digests::verify_declared(&call.parts.headers, Some(hash), content).map_err(malformed);
        };
        let signer = is_signed.then(|| {
            let scope = &self.signature.scope;
            ChunkSigner::new(
                scope.key(&self.secret),
                self.signature.timestamp.clone(),
                scope.text(),
                self.signature.value.clone(),
            )
        });
        let trailers = call.header("x-amz-trailer").unwrap_or_default();
        let chunking = Chunking {
            signer,
            has_trailer,
            trailers: trailers
                .split(',')
                .map(|name| name.trim().to_ascii_lowercase())
                .filter(|name| !name.is_empty())
                .collect(),
            length: decoded_length(call),
        };
        // The coding adds to the bytes of the body, but never that much.
        let coded = body_content(body, limit.saturating_mul(2).saturating_add(1024 * 1024));
        let content = LimitedContent::new(chunking.decode(coded), limit);
        digests::verify_declared(&call.parts.headers, None, futures::StreamExt::boxed(content)).map_err(malformed)
    }

    /// The length of the content, without the coding of chunks.
    pub(super) fn content_length(&self, call: &Call) -> Option<u64> {
        let hash = self.signature.content_sha256.as_deref().unwrap_or_default();
        if hash.starts_with("STREAMING-") { decoded_length(call) } else { call.content_length() }
    }
}

fn decoded_length(call: &Call) -> Option<u64> {
    call.header("x-amz-decoded-content-length")?.trim().parse().ok()
}
