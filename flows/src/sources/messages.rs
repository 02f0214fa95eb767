//! Messages that the server sent: from the message API of a test server, or from Mailpit.

use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};

use super::computed::parse_url;
use super::{Scope, wanted};
use crate::FlowError;
use crate::text::{encode, format_pairs};

/// How long a message is waited for without `wait`.
const DEFAULT_WAIT: f64 = 10.0;
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The largest response of a message API.
const MAX_BODY: usize = 32 << 20;
const HINT: &str = "check the value of --messages";

/// Where the messages of a server are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageSource {
    /// The message API (`GET /_dev/messages`), or the one of a world with its key.
    MessageApi {
        /// The URL of the list.
        url: String,
        /// The bearer token.
        key: Option<String>,
    },
    /// Mailpit.
    Mailpit {
        /// Its URL.
        url: String,
    },
}

impl MessageSource {
    /// Returns what a URL names: the message API if its path ends with `/messages`, otherwise Mailpit.
    pub fn of_url(url: &str) -> Self {
        let url = url.trim_end_matches('/').to_owned();
        match url.ends_with("/messages") && !url.ends_with("/api/v1/messages") {
            true => Self::MessageApi { url, key: None },
            false => Self::Mailpit { url: url.trim_end_matches("/api/v1/messages").to_owned() },
        }
    }

    async fn list(&self, client: &Client, query: &MessageQuery<'_>) -> Result<Vec<Value>, FlowError> {
        match self {
            Self::MessageApi { url, key } => {
                let pairs = [("to", query.to), ("channel", query.channel), ("kind", query.kind)];
                let pairs = pairs.into_iter().filter_map(|(name, value)| Some((name, value?)));
                let url = format!("{url}?limit=200&{}", format_pairs(pairs));
                let found = get(client, &url, key.as_deref()).await?;
                Ok(found["messages"].as_array().cloned().unwrap_or_default())
            }
            Self::Mailpit { url } => {
                let search = query.to.map_or_else(String::new, |to| format!("to:\"{to}\""));
                let found =
                    get(client, &format!("{url}/api/v1/search?limit=50&query={}", encode(&search)), None).await?;
                let mut messages = Vec::new();
                // The latest is the first.
                for summary in found["messages"].as_array().into_iter().flatten().rev() {
                    let id = summary["ID"].as_str().unwrap_or_default();
                    let message = get(client, &format!("{url}/api/v1/message/{}", encode(id)), None).await?;
                    messages.push(read_mail(id, &message));
                }
                Ok(messages)
            }
        }
    }
}

/// Which messages are wanted.
struct MessageQuery<'a> {
    to: Option<&'a str>,
    channel: Option<&'a str>,
    kind: Option<&'a str>,
}

impl<'a> MessageQuery<'a> {
    fn of(arguments: &'a Value) -> Self {
        let text = |name: &str| arguments[name].as_str();
        Self { to: text("to"), channel: text("channel"), kind: text("kind") }
    }
}

async fn get(client: &Client, url: &str, key: Option<&str>) -> Result<Value, FlowError> {
    let failed = |error: String| FlowError::new(format!("the messages cannot be read from {url}: {error}"), HINT);
    let mut request = client.get(url);
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let response = request.send().await.map_err(|error| failed(error.to_string()))?;
    let status = response.status();
    let body = response.bytes().await.map_err(|error| failed(error.to_string()))?;
    if !status.is_success() || body.len() > MAX_BODY {
        return Err(failed(format!("status {status}")));
    }
    serde_json::from_slice(&body).map_err(|error| failed(error.to_string()))
}

/// Waits for the oldest message to the address that was not returned before.
pub(super) async fn take(arguments: &Value, scope: &Scope) -> Result<Value, FlowError> {
    let source = source_of(scope)?;
    let query = MessageQuery::of(arguments);
    let to = query.to.ok_or_else(|| wanted("message", "{\"to\": \"{{email1}}\"}"))?;
    let wait = arguments["wait"].as_f64().unwrap_or(DEFAULT_WAIT).clamp(0.0, 120.0);
    let number = arguments["number"].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(1).max(1);
    let started = tokio::time::Instant::now();
    loop {
        let mut listed = source.list(&scope.client, &query).await?;
        listed.retain(|message| !scope.is_taken(&id_of(message)));
        let waited = started.elapsed().as_secs_f64();
        // A server may send fewer messages than the recorded one; the last of them counts.
        if listed.len() >= number || !listed.is_empty() && waited > wait / 2.0 {
            listed.truncate(number);
            let newest =
                listed.iter().map(|message| scope.take_message(&id_of(message))).filter(|is_new| *is_new).count();
            if let Some(mut message) = listed.pop().filter(|_| newest > 0) {
                if let Some(link) = message["link"].as_str().map(parse_url) {
                    message["query"] = link["query"].clone();
                }
                // A message without a code is then reported by the name of the member.
                if let Some(members) = message.as_object_mut() {
                    members.retain(|_, member| !member.is_null());
                }
                return Ok(message);
            }
        }
        if waited >= wait {
            let kind = query.kind.map_or_else(String::new, |kind| format!(" of the kind {kind}"));
            return Err(FlowError::new(
                format!("no message{kind} to {to} arrived within {wait} seconds"),
                "check that the server sends messages to where this replay reads them (--messages)",
            ));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn id_of(message: &Value) -> String {
    message["id"].as_str().map_or_else(|| message["id"].to_string(), str::to_owned)
}

/// Returns the messages that were not returned before, without marking them.
pub(super) async fn list(arguments: &Value, scope: &Scope) -> Result<Value, FlowError> {
    let source = source_of(scope)?;
    let listed = source.list(&scope.client, &MessageQuery::of(arguments)).await?;
    Ok(listed.into_iter().filter(|message| !scope.is_taken(&id_of(message))).collect())
}

fn source_of(scope: &Scope) -> Result<&MessageSource, FlowError> {
    scope.target.messages.as_ref().ok_or_else(|| {
        FlowError::new(
            "a message is wanted, and this replay does not know where the server's messages are",
            "add --messages with the URL of Mailpit or of the message API (…/_dev/messages), or --set with the variable's name",
        )
    })
}

/// Returns a mail of Mailpit with the members of the message API.
fn read_mail(id: &str, message: &Value) -> Value {
    let (text, html) = (message["Text"].as_str().unwrap_or_default(), message["HTML"].as_str().unwrap_or_default());
    let links = find_links(&format!("{html}\n{text}"));
    let link = links.iter().find(|link| link.contains("token=") || link.contains("token_hash="));
    let token = link.map(|link| parse_url(link)["query"].clone()).unwrap_or_default();
    let token_hash = token.get("token_hash").or_else(|| token.get("token")).cloned().unwrap_or_default();
    let to = message["To"][0]["Address"].clone();
    json!({
        "id": id, "channel": "email", "to": to, "subject": message["Subject"], "text": text, "html": html,
        "code": find_code(if html.is_empty() { text } else { html }), "link": link, "links": links, "token_hash": token_hash,
    })
}

/// Returns the web links of a text, each once.
pub(crate) fn find_links(text: &str) -> Vec<String> {
    let mut links: Vec<String> = Vec::new();
    let starts = text.match_indices("http").map(|(at, _)| &text[at..]);
    for rest in starts.filter(|rest| rest.starts_with("http://") || rest.starts_with("https://")) {
        let end = rest.find(|each: char| each.is_whitespace() || matches!(each, '"' | '\'' | '<' | '>' | ')'));
        let link = rest[..end.unwrap_or(rest.len())].replace("&amp;", "&");
        if !links.contains(&link) {
            links.push(link);
        }
    }
    links
}

/// Returns the first lone run of six to ten digits outside of links and tags.
pub(crate) fn find_code(text: &str) -> Option<String> {
    let mut visible = String::new();
    let mut is_tag = false;
    for each in text.chars() {
        match each {
            '<' => is_tag = true,
            '>' => {
                is_tag = false;
                visible.push(' ');
            }
            each if !is_tag => visible.push(each),
            _ => {}
        }
    }
    let words = visible.split_whitespace().filter(|word| !word.contains("://"));
    let mut runs = words.flat_map(|word| word.split(|each: char| !each.is_ascii_digit()));
    runs.find(|run| (6..=10).contains(&run.len())).map(str::to_owned)
}
