//! The requests of the recordings, and the form in which their answers are compared.

use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body_util::BodyExt;
use regex::Regex;
use serde_json::{Map, Value, json};

use crate::api::{SECRET, TestApi, sign};
use crate::normalisation::{Normalisation, python_json};
use crate::signature::{self, Signer};

const HOST: &str = "127.0.0.1:5000";

/// The header fields that are compared.
const COMPARED: [&str; 24] = [
    "content-type",
    "etag",
    "cache-control",
    "accept-ranges",
    "content-range",
    "content-disposition",
    "x-robots-tag",
    "last-modified",
    "expires",
    "location",
    "tus-resumable",
    "tus-version",
    "tus-extension",
    "tus-max-size",
    "upload-offset",
    "upload-length",
    "upload-defer-length",
    "upload-metadata",
    "upload-expires",
    "tus-complete",
    "x-transformations",
    "x-amz-meta-note",
    "x-amz-bucket-region",
    "allow",
];

const USERS: [(&str, &str, &str); 3] = [
    ("ada", "ada00000-1111-4111-8111-00000000ada0", "north"),
    ("ben", "be400000-2222-4222-8222-000000000be4", "south"),
    ("cleo", "c1e00000-3333-4333-8333-00000000c1e0", "north"),
];

/// Runs steps against an API.
pub(crate) struct Runner<'a> {
    api: &'a TestApi,
    tokens: HashMap<String, String>,
    kept: HashMap<String, String>,
    normalisation: Normalisation,
}

fn tokens() -> HashMap<String, String> {
    const FAR: i64 = 4_102_444_800;
    let mut tokens = HashMap::new();
    for role in ["service_role", "anon"] {
        let name = if role == "anon" { "anon" } else { "service" };
        let claims = json!({"iss": "rec", "role": role, "iat": 1_700_000_000, "exp": FAR});
        tokens.insert(name.to_owned(), sign(&claims));
    }
    for (name, sub, crew) in USERS {
        let claims = json!({
            "iss": "rec", "aud": "authenticated", "role": "authenticated", "sub": sub,
            "email": format!("{name}@harbour.test"), "app_metadata": {"crew": crew}, "user_metadata": {},
            "iat": 1_700_000_000, "exp": FAR,
        });
        tokens.insert(name.to_owned(), sign(&claims));
    }
    let late = json!({"role": "authenticated", "sub": USERS[0].1, "iat": 1_600_000_000, "exp": 1_600_003_600});
    tokens.insert("late".to_owned(), sign(&late));
    let key = jsonwebtoken::EncodingKey::from_secret(format!("{SECRET}x").as_bytes());
    let service = json!({"role": "service_role", "iat": 1_700_000_000, "exp": FAR});
    tokens.insert("forged".to_owned(), jsonwebtoken::encode(&jsonwebtoken::Header::default(), &service, &key).unwrap());
    let encode = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let unsigned = format!("{}.{}.", encode(json!({"alg": "none", "typ": "JWT"})), encode(service));
    tokens.insert("unsigned".to_owned(), unsigned);
    tokens.insert("garbage".to_owned(), "not-a-token".to_owned());
    tokens
}

/// A text that is repeated.
fn fill(value: &Value) -> String {
    value[0].as_str().unwrap().repeat(usize::try_from(value[1].as_u64().unwrap()).unwrap())
}

fn form(parts: &[Value]) -> Vec<u8> {
    let mut text = String::new();
    for part in parts {
        let name = part["name"].as_str().unwrap();
        let file = part["filename"].as_str().map(|name| format!("; filename=\"{name}\"")).unwrap_or_default();
        write!(text, "--harbourBoundary7\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n").unwrap();
        if let Some(kind) = part["type"].as_str() {
            write!(text, "Content-Type: {kind}\r\n").unwrap();
        }
        let value =
            if part["fill"].is_array() { fill(&part["fill"]) } else { part["value"].as_str().unwrap_or("").to_owned() };
        write!(text, "\r\n{value}\r\n").unwrap();
    }
    text.push_str("--harbourBoundary7--\r\n");
    text.into_bytes()
}

fn set(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    if !headers.iter().any(|(other, _)| other == name) {
        headers.push((name.to_owned(), value.to_owned()));
    }
}

impl<'a> Runner<'a> {
    pub(crate) fn new(api: &'a TestApi) -> Self {
        let normalisation = Normalisation::new(&format!("http://{HOST}"));
        Self { api, tokens: tokens(), kept: HashMap::new(), normalisation }
    }

    /// A text with what earlier steps kept.
    fn resolve_text(&self, text: &str) -> String {
        let pattern = Regex::new(r"\{\{([A-Za-z0-9_.]+)\}\}").unwrap();
        pattern
            .replace_all(text, |found: &regex::Captures<'_>| {
                self.kept.get(&found[1]).cloned().unwrap_or_else(|| format!("MISSING-{}", &found[1]))
            })
            .into_owned()
    }

    fn resolve(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.resolve_text(text)),
            Value::Array(elements) => elements.iter().map(|element| self.resolve(element)).collect(),
            Value::Object(members) => {
                Value::Object(members.iter().map(|(name, value)| (name.clone(), self.resolve(value))).collect())
            }
            other => other.clone(),
        }
    }

    /// The header fields of a step, with metadata in their encodings.
    fn headers(&self, step: &Value) -> Vec<(String, String)> {
        let fields = self.resolve(&step["headers"]);
        let fields = fields.as_object().cloned().unwrap_or_default();
        let encoded = fields.into_iter().map(|(name, value)| {
            let name = name.to_lowercase();
            let text = match (&value, name.as_str()) {
                (Value::Object(members), "upload-metadata") => {
                    let pairs = members
                        .iter()
                        .map(|(key, value)| format!("{key} {}", STANDARD.encode(value.as_str().unwrap())));
                    pairs.collect::<Vec<_>>().join(",")
                }
                (Value::Object(_), _) => STANDARD.encode(value.to_string()),
                _ => value.as_str().unwrap().to_owned(),
            };
            (name, text)
        });
        encoded.collect()
    }

    fn body(&self, step: &Value, headers: &mut Vec<(String, String)>) -> Option<Vec<u8>> {
        if step.get("json").is_some() {
            set(headers, "content-type", "application/json");
            return Some(python_json(&self.resolve(&step["json"])).into_bytes());
        }
        if let Some(text) = step["text"].as_str() {
            return Some(self.resolve_text(text).into_bytes());
        }
        if step["fill"].is_array() {
            return Some(fill(&step["fill"]).into_bytes());
        }
        if let Some(text) = step["b64"].as_str() {
            return Some(STANDARD.decode(text).unwrap());
        }
        let parts = step["form"].as_array()?;
        headers.retain(|(name, _)| name != "content-type");
        headers.push(("content-type".to_owned(), "multipart/form-data; boundary=harbourBoundary7".to_owned()));
        Some(form(parts))
    }

    fn authorize(&self, step: &Value, method: &str, path: &str, headers: &mut Vec<(String, String)>, body: &[u8]) {
        headers.push(("host".to_owned(), HOST.to_owned()));
        if let Some(who) = step["s3"].as_str() {
            let mut signer =
                Signer { key: "harbour-access-key", secret: "harbour-secret-key-0123456789", region: "us-east-1" };
            match who {
                "badkey" => signer.key = "nobody-knows-this-key",
                "badsecret" => signer.secret = "wrongharbour-secret-key-0123456789",
                "service" => {}
                user => {
                    if let Some(token) = self.tokens.get(user) {
                        (signer.key, signer.secret) = ("stub", &self.tokens["anon"]);
                        headers.push(("x-amz-security-token".to_owned(), token.clone()));
                    }
                }
            }
            signature::sign(&signer, method, path, headers, body);
            return;
        }
        if let Some(who) = step["as"].as_str().filter(|who| *who != "none") {
            let scheme = if step["nobearer"] == true { "" } else { "Bearer " };
            set(headers, "authorization", &format!("{scheme}{}", self.tokens[who]));
        }
    }

    /// Runs a step and returns the answer in the form that is recorded.
    pub(crate) async fn run(&mut self, step: &Value) -> Value {
        self.normalisation.begin();
        if let Some(wait) = step["wait"].as_f64() {
            tokio::time::sleep(Duration::from_secs_f64(wait)).await;
        }
        if step.get("sql").is_some() {
            return self.run_sql(step).await;
        }
        let method = step["method"].as_str().unwrap().to_owned();
        let path = self.resolve_text(step["path"].as_str().unwrap());
        let mut headers = self.headers(step);
        let body = self.body(step, &mut headers);
        self.authorize(step, &method, &path, &mut headers, body.as_deref().unwrap_or_default());
        let is_chunked = step["chunked"] == true;
        if !is_chunked {
            match &body {
                Some(body) => set(&mut headers, "content-length", &body.len().to_string()),
                None if ["POST", "PUT", "PATCH"].contains(&method.as_str()) && step["nolength"] != true => {
                    set(&mut headers, "content-length", "0");
                }
                None => {}
            }
        }
        // A space in a target would end it: the client of the recordings sends it as it is, and servers get it encoded.
        let target = path.replace(' ', "%20");
        let mut request = Request::builder().method(method.as_str()).uri(target);
        for (name, value) in &headers {
            request = request.header(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let body = body.unwrap_or_default();
        let body = if is_chunked {
            let chunks: Vec<_> =
                body.chunks(64).map(|chunk| Ok::<_, std::io::Error>(Bytes::copy_from_slice(chunk))).collect();
            Body::from_stream(futures::stream::iter(chunks))
        } else {
            Body::from(body)
        };
        let response = self.api.storage.handle(request.body(body).unwrap()).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        self.describe(step, &method, &Response::from_parts(parts, bytes))
    }

    fn describe(&mut self, step: &Value, method: &str, response: &Response<Bytes>) -> Value {
        let header = |name: &str| {
            response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let content_type = header("content-type").unwrap_or_default();
        let raw = if method == "HEAD" || response.status() == 304 { Bytes::new() } else { response.body().clone() };
        let mut parsed: Option<Value> =
            if content_type.contains("json") { serde_json::from_slice(&raw).ok() } else { None };
        for (name, source) in step["save"].as_object().into_iter().flatten() {
            let (kind, place) = source.as_str().unwrap().split_once(':').unwrap();
            let value = match kind {
                "header" => header(place),
                "json" => parsed.as_ref().and_then(|value| {
                    let found = value.pointer(&format!("/{place}"))?;
                    Some(found.as_str().map_or_else(|| found.to_string(), str::to_owned))
                }),
                "tail" => header(place).map(|value| match value.find("/upload/") {
                    Some(start) => value[start..].to_owned(),
                    None => value,
                }),
                _ => Regex::new(&format!("<{place}>([^<]*)</{place}>"))
                    .unwrap()
                    .captures(&String::from_utf8_lossy(&raw))
                    .map(|found| found[1].to_owned()),
            };
            self.kept.insert(name.clone(), value.unwrap_or_default());
        }
        let mut fields = Map::new();
        for name in COMPARED {
            if let Some(value) = header(name) {
                fields.insert(name.to_owned(), self.normalisation.text(&value).into());
            }
        }
        let mut answer = json!({ "status": response.status().as_u16(), "headers": fields });
        let is_xml = content_type.contains("xml");
        if !raw.is_empty() && parsed.is_none() && !is_xml {
            answer["length"] = raw.len().into();
        }
        if method == "HEAD"
            && let Some(length) = header("content-length")
        {
            answer["head-length"] = length.into();
        }
        if step["sort"] == true
            && let Some(Value::Array(elements)) = &mut parsed
        {
            elements.sort_by_key(|element| element["name"].to_string());
        }
        if let Some(parsed) = parsed {
            answer["json"] = self.normalisation.value(&parsed);
        } else if !raw.is_empty() {
            self.describe_text(&raw, is_xml, &mut answer);
        }
        for name in step["ignore"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            answer["headers"].as_object_mut().unwrap().remove(name);
            answer.as_object_mut().unwrap().remove(name);
        }
        answer
    }

    fn describe_text(&mut self, raw: &Bytes, is_xml: bool, answer: &mut Value) {
        let text = String::from_utf8_lossy(raw).into_owned();
        if is_xml {
            match self.normalisation.xml(&text) {
                Some(document) => answer["xml"] = document,
                None => answer["text"] = self.normalisation.text(&text).chars().take(300).collect::<String>().into(),
            }
            return;
        }
        if text.chars().count() > 300 {
            answer["text"] = format!("sha256:{}", signature::sha256(raw)).into();
            return;
        }
        let normalised = self.normalisation.text(&text);
        if normalised != text {
            answer.as_object_mut().unwrap().remove("length");
        }
        answer["text"] = normalised.into();
    }

    async fn run_sql(&mut self, step: &Value) -> Value {
        let query = self.resolve_text(step["sql"].as_str().unwrap());
        let admin = crate::cluster::cluster().connect(&self.api.database).await;
        if let Some(name) = step["role"].as_str() {
            let user = USERS.iter().find(|(user, ..)| *user == name);
            let role = user.map_or(name, |_| "authenticated");
            let sub = user.map_or("", |(_, sub, _)| sub);
            let claims = user.map_or_else(
                || json!({ "role": name }),
                |(_, sub, crew)| json!({"role": "authenticated", "sub": sub, "app_metadata": {"crew": crew}}),
            );
            let settings = format!(
                "set role {role}; set request.jwt.claims='{claims}'; set request.jwt.claim.sub='{sub}'; \
                 set request.jwt.claim.role='{role}'"
            );
            admin.batch_execute(&settings).await.unwrap();
        }
        let is_raw = step["raw"] == true;
        let statement = if is_raw {
            query
        } else {
            format!("with q as ({query}) select coalesce(jsonb_agg(to_jsonb(q)),'[]')::text from q")
        };
        match admin.simple_query(&statement).await {
            Err(error) => {
                let message = format!("ERROR:  {}", error.as_db_error().unwrap().message());
                json!({ "sqlerror": self.normalisation.text(&message) })
            }
            Ok(messages) => {
                let texts = messages.iter().filter_map(|message| match message {
                    tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                    _ => None,
                });
                let text = texts.collect::<Vec<_>>().join("\n");
                if is_raw {
                    return json!({ "rows": self.normalisation.text(&text) });
                }
                let rows = serde_json::from_str(&text).unwrap_or_else(|_| json!([]));
                json!({ "rows": self.normalisation.value(&rows) })
            }
        }
    }
}
