//! Signatures of requests: AWS Signature Version 4, in the header, in the query of a presigned URL, and of a form.
//!
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html>

use aws_lc_rs::digest::{self, SHA256};
use aws_lc_rs::hmac::{self, HMAC_SHA256, Key};
use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use http::{HeaderMap, Method};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Everything but the unreserved characters of RFC 3986 §2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// The name of the algorithm.
const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// The value of a request whose body is not hashed.
pub(crate) const UNSIGNED_PAYLOAD: &str = "UNSIGNED-PAYLOAD";
/// How far the clock of a client may be off.
const CLOCK_TOLERANCE: TimeDelta = TimeDelta::minutes(15);
/// The service of all credentials.
const SERVICE: &str = "s3";
/// Headers that proxies change, which clients do not sign.
const UNSIGNABLE: [&str; 14] = [
    "authorization",
    "connection",
    "expect",
    "from",
    "keep-alive",
    "max-forwards",
    "pragma",
    "referer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "x-amzn-trace-id",
];

/// The SHA-256 of bytes.
pub(crate) fn sha256(bytes: &[u8]) -> Vec<u8> {
    digest::digest(&SHA256, bytes).as_ref().to_vec()
}

/// Why a signature is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignatureProblem {
    /// There is none.
    Missing,
    /// It is malformed.
    Malformed(&'static str),
    /// The credentials are not those of the server.
    Credentials(&'static str),
    /// It is not the signature of this request by this secret.
    Mismatch {
        /// Whether the secret is that of sessions.
        has_session: bool,
    },
    /// It was valid until a time that is past.
    Expired,
    /// It was made at another time.
    Skewed,
}

impl SignatureProblem {
    /// The status, the code and the message of the error.
    pub(crate) fn describe(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::Missing => (403, "AccessDenied", "Missing signature"),
            Self::Malformed(message) => (400, "InvalidSignature", message),
            Self::Credentials(message) => (403, "AccessDenied", message),
            Self::Mismatch { has_session: false } => (
                403,
                "SignatureDoesNotMatch",
                "The request signature we calculated does not match the signature you provided. Check your key and signing \
                 method.",
            ),
            Self::Mismatch { has_session: true } => (
                403,
                "SignatureDoesNotMatch",
                "The request signature we calculated does not match the signature you provided, Check your credentials. The \
                 session token should be a valid JWT token",
            ),
            Self::Expired => (400, "ExpiredToken", "The provided token has expired."),
            Self::Skewed => (
                403,
                "RequestTimeTooSkewed",
                "The difference between the request time and the server's time is too large.",
            ),
        }
    }
}

/// Who signed, and for which day, region and service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scope {
    /// The id of the key.
    pub access_key: String,
    date: String,
    region: String,
    service: String,
}

impl Scope {
    fn parse(text: &str) -> Result<Self, SignatureProblem> {
        // An id may contain slashes: the other four parts do not.
        let mut parts: Vec<&str> = text.rsplitn(5, '/').collect();
        parts.reverse();
        let &[access_key, date, region, service, "aws4_request"] = parts.as_slice() else {
            return Err(SignatureProblem::Malformed("Invalid credentials"));
        };
        Ok(Self {
            access_key: access_key.to_owned(),
            date: date.to_owned(),
            region: region.to_owned(),
            service: service.to_owned(),
        })
    }

    /// As it is signed.
    pub(crate) fn text(&self) -> String {
        format!("{}/{}/{}/aws4_request", self.date, self.region, self.service)
    }

    /// The key that signs within this scope.
    pub(crate) fn key(&self, secret: &str) -> Key {
        let step = |key: &[u8], text: &str| hmac::sign(&Key::new(HMAC_SHA256, key), text.as_bytes());
        let date = step(format!("AWS4{secret}").as_bytes(), &self.date);
        let region = step(date.as_ref(), &self.region);
        let service = step(region.as_ref(), &self.service);
        Key::new(HMAC_SHA256, step(service.as_ref(), "aws4_request").as_ref())
    }
}

/// Where a signature came from, with what it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Covered {
    Request {
        headers: Vec<String>,
        expires: Option<i64>,
        is_presigned: bool,
    },
    /// The policy of a form, in Base64.
    Policy(String),
}

/// A signature that a request has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    /// Who signed.
    pub scope: Scope,
    /// When, as the client wrote it.
    pub timestamp: String,
    /// In hexadecimal.
    pub value: String,
    pub session_token: Option<String>,
    /// The SHA-256 of the body as the client declared it, or the name of a way to sign chunks.
    pub content_sha256: Option<String>,
    covered: Covered,
}

/// The text of a header.
fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

impl Signature {
    /// Finds the signature of a request: that of the header, else that of the query.
    ///
    /// # Errors
    /// There is none, or it is malformed.
    pub(crate) fn find(headers: &HeaderMap, query: &[(String, String)]) -> Result<Self, SignatureProblem> {
        if let Some(parameters) =
            header(headers, "authorization").and_then(|value| value.strip_prefix("AWS4-HMAC-SHA256 "))
        {
            return Self::parse_header(parameters, headers);
        }
        if query.iter().any(|(name, _)| name == "X-Amz-Credential") {
            return Self::parse_query(query);
        }
        Err(SignatureProblem::Missing)
    }

    fn parse_header(parameters: &str, headers: &HeaderMap) -> Result<Self, SignatureProblem> {
        let malformed = SignatureProblem::Malformed("Invalid signature format");
        let (mut credential, mut signed, mut value) = (None, None, None);
        for parameter in parameters.split(',') {
            match parameter.trim().split_once('=') {
                Some(("Credential", text)) => credential = Some(text),
                Some(("SignedHeaders", text)) => signed = Some(text),
                Some(("Signature", text)) => value = Some(text),
                _ => {}
            }
        }
        let timestamp = header(headers, "x-amz-date").ok_or(malformed)?;
        Ok(Self {
            scope: Scope::parse(credential.ok_or(malformed)?)?,
            timestamp: timestamp.to_owned(),
            value: value.ok_or(malformed)?.to_owned(),
            session_token: header(headers, "x-amz-security-token").map(str::to_owned),
            content_sha256: header(headers, "x-amz-content-sha256").map(str::to_owned),
            covered: Covered::Request {
                headers: split_names(signed.ok_or(malformed)?),
                expires: None,
                is_presigned: false,
            },
        })
    }

    fn parse_query(query: &[(String, String)]) -> Result<Self, SignatureProblem> {
        let malformed = SignatureProblem::Malformed("Invalid signature format");
        let find = |wanted: &str| query.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
        let expires = match find("X-Amz-Expires") {
            None => None,
            Some(text) => match text.parse::<i64>() {
                Ok(seconds) if (0..=i64::from(i32::MAX)).contains(&seconds) => Some(seconds),
                _ => return Err(SignatureProblem::Malformed("Invalid expiration")),
            },
        };
        Ok(Self {
            scope: Scope::parse(&find("X-Amz-Credential").ok_or(malformed)?)?,
            timestamp: find("X-Amz-Date").ok_or(malformed)?,
            value: find("X-Amz-Signature").ok_or(malformed)?,
            session_token: find("X-Amz-Security-Token"),
            content_sha256: find("X-Amz-Content-Sha256"),
            covered: Covered::Request {
                headers: split_names(&find("X-Amz-SignedHeaders").ok_or(malformed)?),
                expires,
                is_presigned: true,
            },
        })
    }

    /// Reads the signature of a form, whose names are in lower case.
    ///
    /// # Errors
    /// It is missing or malformed.
    pub(crate) fn parse_form(find: impl Fn(&str) -> Option<String>) -> Result<Self, SignatureProblem> {
        let malformed = SignatureProblem::Malformed("Invalid signature format");
        Ok(Self {
            scope: Scope::parse(&find("x-amz-credential").ok_or(malformed)?)?,
            timestamp: find("x-amz-date").ok_or(malformed)?,
            value: find("x-amz-signature").ok_or(malformed)?,
            session_token: find("x-amz-security-token"),
            content_sha256: None,
            covered: Covered::Policy(find("policy").ok_or(malformed)?),
        })
    }

    /// When the signature was made.
    fn signed_at(&self) -> Result<DateTime<Utc>, SignatureProblem> {
        let time = NaiveDateTime::parse_from_str(&self.timestamp, "%Y%m%dT%H%M%SZ");
        let time = time.map_err(|_| SignatureProblem::Malformed("Invalid signature format"))?;
        if self.timestamp.get(..8) != Some(self.scope.date.as_str()) {
            return Err(SignatureProblem::Malformed("Invalid credentials"));
        }
        Ok(time.and_utc())
    }

    /// Checks when the signature was made. The policy of a form has its own end.
    fn verify_time(&self, now: DateTime<Utc>) -> Result<(), SignatureProblem> {
        let signed_at = self.signed_at()?;
        let Covered::Request { expires, .. } = &self.covered else { return Ok(()) };
        match expires {
            Some(seconds) if signed_at + TimeDelta::seconds(*seconds) < now => Err(SignatureProblem::Expired),
            Some(_) if signed_at - CLOCK_TOLERANCE > now => Err(SignatureProblem::Skewed),
            None if (now - signed_at).abs() > CLOCK_TOLERANCE => Err(SignatureProblem::Skewed),
            _ => Ok(()),
        }
    }
}

/// Splits the names of signed headers.
fn split_names(text: &str) -> Vec<String> {
    text.split(';').map(str::to_ascii_lowercase).collect()
}

/// The key that requests are signed with.
#[derive(Clone, Copy)]
pub(crate) struct ServerKey<'a> {
    /// Its id.
    pub access_key: &'a str,
    pub secret: &'a str,
    /// The region of the server.
    pub region: &'a str,
    /// Whether clients must name that region.
    pub enforces_region: bool,
}

/// What of a request is signed.
#[derive(Debug)]
pub(crate) struct SignedRequest<'a> {
    pub method: &'a Method,
    /// The path as the client may have seen it: with the prefixes that proxies removed, and without.
    pub paths: Vec<String>,
    /// Decoded.
    pub query: &'a [(String, String)],
    pub headers: &'a HeaderMap,
    /// The host and port as the client may have seen them.
    pub hosts: Vec<String>,
}

/// Verifies a signature.
///
/// # Errors
/// The key is another one, the signature is not that of the request, or it is too old.
pub(crate) fn verify(
    signature: &Signature,
    request: &SignedRequest<'_>,
    server: ServerKey<'_>,
    now: DateTime<Utc>,
) -> Result<(), SignatureProblem> {
    let mut scope = signature.scope.clone();
    if scope.access_key != server.access_key {
        return Err(SignatureProblem::Credentials("Invalid Access Key"));
    }
    if server.enforces_region && scope.region != server.region {
        return Err(SignatureProblem::Credentials("Invalid Region"));
    }
    if scope.service != SERVICE {
        return Err(SignatureProblem::Credentials("Invalid Service"));
    }
    // Clients without a region name one of these.
    if !["auto", "us-east-1", ""].contains(&scope.region.as_str()) {
        server.region.clone_into(&mut scope.region);
    }
    let mismatch = SignatureProblem::Mismatch { has_session: signature.session_token.is_some() };
    let expected = hex::decode(&signature.value).map_err(|_| mismatch)?;
    let key = scope.key(server.secret);
    let is_signed = match &signature.covered {
        Covered::Policy(policy) => hmac::verify(&key, policy.as_bytes(), &expected).is_ok(),
        Covered::Request { headers, is_presigned, .. } => {
            let hash = payload_hash(signature, request, *is_presigned);
            headers.iter().any(|name| name == "host")
                && request.paths.iter().any(|path| {
                    request.hosts.iter().any(|host| {
                        let canonical = canonical_request(request, path, host, headers, hash);
                        let text = string_to_sign(&signature.timestamp, &scope, &canonical);
                        hmac::verify(&key, text.as_bytes(), &expected).is_ok()
                    })
                })
        }
    };
    if !is_signed {
        return Err(mismatch);
    }
    if let Covered::Request { headers, .. } = &signature.covered
        && request
            .headers
            .keys()
            .any(|name| changes_meaning(name.as_str()) && !headers.iter().any(|signed| signed == name.as_str()))
    {
        return Err(SignatureProblem::Credentials("There were headers present in the request which were not signed"));
    }
    signature.verify_time(now)
}

/// Whether a header changes what a request does, such as `x-amz-copy-source`: whoever holds a signed URL must not add it.
///
/// The hash of the content and the name of the client change nothing; presigned URLs leave both open. The network of Amazon numbers
/// requests.
fn changes_meaning(name: &str) -> bool {
    name.starts_with("x-amz-") && !matches!(name, "x-amz-content-sha256" | "x-amz-user-agent" | "x-amz-cf-id")
}

/// The hash of the body as it was signed.
fn payload_hash<'a>(signature: &'a Signature, request: &SignedRequest<'_>, is_presigned: bool) -> &'a str {
    match &signature.content_sha256 {
        _ if is_presigned && request.method == Method::GET => UNSIGNED_PAYLOAD,
        Some(hash) => hash,
        None => UNSIGNED_PAYLOAD,
    }
}

/// Writes a request in the one form that is signed.
fn canonical_request(request: &SignedRequest<'_>, path: &str, host: &str, names: &[String], hash: &str) -> String {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    let mut headers = String::new();
    for name in &names {
        if UNSIGNABLE.contains(name) {
            continue;
        }
        let value = match *name {
            "host" => host.to_owned(),
            "content-length" => header(request.headers, name).unwrap_or("0").to_owned(),
            // A proxy that changes the header keeps the original one.
            "accept-encoding" => match header(request.headers, "x-original-accept-encoding") {
                Some(original) => original.to_owned(),
                None => canonical_value(request.headers, name),
            },
            _ if request.headers.contains_key(*name) => canonical_value(request.headers, name),
            _ => continue,
        };
        headers.push_str(name);
        headers.push(':');
        headers.push_str(&value);
        headers.push('\n');
    }
    let query = canonical_query(request.query);
    format!("{}\n{path}\n{query}\n{headers}\n{}\n{hash}", request.method, names.join(";"))
}

/// The values of a header, with single spaces.
fn canonical_value(headers: &HeaderMap, name: &str) -> String {
    let values: Vec<String> = headers
        .get_all(name)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).split_ascii_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    values.join(",")
}

/// Writes the parameters of a query in the one form that is signed.
fn canonical_query(query: &[(String, String)]) -> String {
    let mut pairs: Vec<(String, String)> = query
        .iter()
        .filter(|(name, _)| name != "X-Amz-Signature")
        .map(|(name, value)| (encode(name), encode(value)))
        .collect();
    pairs.sort_unstable();
    let pairs: Vec<String> = pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

fn string_to_sign(timestamp: &str, scope: &Scope, canonical: &str) -> String {
    format!("{ALGORITHM}\n{timestamp}\n{}\n{}", scope.text(), hex::encode(sha256(canonical.as_bytes())))
}

/// Encodes a text but for the unreserved characters of RFC 3986 §2.3.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Splits a query in decoded names and values.
pub(crate) fn parse_query(query: &str) -> Vec<(String, String)> {
    let decode = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

/// The header `Authorization` of a request of this server to a store. `names` are the signed header fields, the host included.
pub(crate) fn sign(
    request: &SignedRequest<'_>,
    names: &[String],
    hash: &str,
    server: ServerKey<'_>,
    timestamp: &str,
) -> String {
    let scope = Scope {
        access_key: server.access_key.to_owned(),
        date: timestamp[..8].to_owned(),
        region: server.region.to_owned(),
        service: SERVICE.to_owned(),
    };
    let (path, host) = (request.paths.first(), request.hosts.first());
    let path = path.map_or("/", String::as_str);
    let canonical = canonical_request(request, path, host.map_or("", String::as_str), names, hash);
    let text = string_to_sign(timestamp, &scope, &canonical);
    let value = hmac::sign(&scope.key(server.secret), text.as_bytes());
    let mut names = names.to_vec();
    names.sort_unstable();
    format!(
        "{ALGORITHM} Credential={}/{}, SignedHeaders={}, Signature={}",
        scope.access_key,
        scope.text(),
        names.join(";"),
        hex::encode(value.as_ref()),
    )
}
