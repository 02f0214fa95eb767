//! Where the messages of a server are: the message API of a test server, or Mailpit.

use reqwest::Client;
use serde_json::{Value, json};

use crate::FlowError;
use crate::text::{encode, format_pairs, parse_url};

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
    Mailpit {
        url: String,
    },
}

impl MessageSource {
    /// Returns what a URL names: the message API if its path ends with `/messages`, otherwise Mailpit.
    pub fn of_url(url: &str) -> Self {
        let url = url.trim_end_matches('/').to_owned();
        if url.ends_with("/messages") && !url.ends_with("/api/v1/messages") {
            return Self::MessageApi { url, key: None };
        }
        Self::Mailpit { url: url.trim_end_matches("/api/v1/messages").to_owned() }
    }

    /// Returns the messages, oldest first.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) async fn list(&self, client: &Client, query: &MessageQuery<'_>) -> Result<Vec<Value>, FlowError> {
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
pub(super) struct MessageQuery<'a> {
    pub to: Option<&'a str>,
    pub channel: Option<&'a str>,
    pub kind: Option<&'a str>,
}

impl<'a> MessageQuery<'a> {
    pub(super) fn of(arguments: &'a Value) -> Self {
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
fn find_links(text: &str) -> Vec<String> {
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
fn find_code(text: &str) -> Option<String> {
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
