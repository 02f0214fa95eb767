//! Mailpit's API, version 1 (<https://mailpit.axllent.org/docs/api-v1/>).

mod compose;
mod events;
mod search;
mod shapes;

use axum::response::Response;
use http::StatusCode;
use platform::request_info::parse_pairs;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::addresses::Addresses;
use crate::api::{attachment_response, canonical_name, headers_json};
use crate::mailbox_request::{Answer, AnswerError, MailboxRequest};
use crate::message::{Channel, Message};
use crate::mime::Attachment;
use crate::response;
use crate::store::MessageStore;

use self::search::Search;

pub(crate) use self::events::format_events;

/// The number of listed messages without `limit`.
const DEFAULT_LIMIT: usize = 50;
/// What is answered where Mailpit has a feature that this server does not have.
const UNSUPPORTED: &str = "this server keeps mails only: it has no tags, checks, chaos, thumbnails and no relay";

/// Mailpit's API.
#[derive(Debug, Clone)]
pub(crate) struct MailpitApi {
    store: MessageStore,
}

/// Query parameters of lists.
struct Page {
    query: String,
    start: usize,
    limit: usize,
}

impl MailpitApi {
    pub(crate) fn new(store: MessageStore) -> Self {
        Self { store }
    }

    /// Answers a request; `path` is what follows `/api/v1/`.
    pub(crate) async fn answer(&self, request: MailboxRequest<'_>, path: &[&str]) -> Answer {
        match (request.method.as_str(), path) {
            ("GET" | "HEAD", _) => self.answer_read(request, path).await,
            ("DELETE", ["messages"]) => self.delete(request.body).await,
            ("PUT", ["messages"]) => self.mark(request).await,
            ("DELETE", ["search"]) => {
                let ids = self.find_ids(&required_search(&parse_page(request.query)?)?).await?;
                self.store.delete_by_id(&ids).await?;
                Ok(ok())
            }
            ("POST", ["send"]) => {
                let (from, recipients, raw) = compose::parse(request.body)?;
                let id = self.store.receive(&from, &recipients, raw).await?;
                Ok(response::json(StatusCode::OK, &json!({"ID": id})))
            }
            (_, ["tags" | "chaos", ..] | ["message", _, "release"]) => Err(AnswerError::not_implemented(UNSUPPORTED)),
            _ => Err(AnswerError::Refused(StatusCode::METHOD_NOT_ALLOWED, "there is no such call".to_owned())),
        }
    }

    async fn answer_read(&self, request: MailboxRequest<'_>, path: &[&str]) -> Answer {
        match path {
            ["info"] => self.info().await,
            ["webui"] => Ok(response::json(StatusCode::OK, &shapes::configuration())),
            ["tags"] => Ok(response::json(StatusCode::OK, &json!([]))),
            ["messages"] => self.list(&parse_page(request.query)?, &Search::default()).await,
            ["search"] => {
                let page = parse_page(request.query)?;
                self.list(&page, &required_search(&page)?).await
            }
            ["message", id] => self.summarize(id).await,
            ["message", id, "raw"] => {
                let raw = self.store.raw(&self.find(id).await?).await?;
                Ok(response::bytes(StatusCode::OK, "text/plain; charset=utf-8", raw))
            }
            ["message", id, "headers"] => {
                let mail = self.store.parse(&self.find(id).await?).await?;
                Ok(response::json(StatusCode::OK, &headers_json(&mail, canonical_name)))
            }
            ["message", id, "part", number] => self.part(id, number).await,
            ["message", _, "html-check" | "link-check" | "sa-check"]
            | ["message", _, "part", _, "thumb"]
            | ["chaos"] => Err(AnswerError::not_implemented(UNSUPPORTED)),
            _ => Err(AnswerError::not_found("there is no such call")),
        }
    }

    /// Answers `/view/<id>.html` and `/view/<id>.txt`.
    pub(crate) async fn view(&self, name: &str) -> Answer {
        let (id, kind) = name.rsplit_once('.').unwrap_or((name, ""));
        let message = self.find(id).await?;
        match kind {
            "html" if message.html.is_empty() => Err(AnswerError::not_found("this message has no HTML")),
            "html" => Ok(response::mail_html(&message.html)),
            "txt" => Ok(response::text(StatusCode::OK, message.text)),
            _ => Err(AnswerError::not_found("a message is shown as .html or .txt")),
        }
    }

    async fn info(&self) -> Answer {
        let messages = self.list_all().await?;
        let unread = messages.iter().filter(|message| !message.is_read).count();
        Ok(response::json(StatusCode::OK, &shapes::info(messages.len(), unread)))
    }

    async fn list(&self, page: &Page, search: &Search) -> Answer {
        let all = self.list_all().await?;
        let is_unread = |message: &&&Message| !message.is_read;
        let found: Vec<&Message> = all.iter().filter(|message| self.matches(search, message)).collect();
        let mut items = Vec::new();
        for message in found.iter().skip(page.start).take(page.limit) {
            let size = self.store.raw(message).await?.len();
            items.push(shapes::list_item(message, &self.addresses(message), size));
        }
        let body = json!({
            "total": all.len(),
            "unread": all.iter().filter(|message| !message.is_read).count(),
            "count": items.len(),
            "messages_count": found.len(),
            "messages_unread": found.iter().filter(is_unread).count(),
            "start": page.start,
            "tags": [],
            "messages": items,
        });
        Ok(response::json(StatusCode::OK, &body))
    }

    /// Returns a message with its bodies, and marks it as read.
    async fn summarize(&self, id: &str) -> Answer {
        let message = self.find(id).await?;
        self.store.mark_read(Some(&[message.id]), true).await?;
        let raw = self.store.raw(&message).await?;
        let mail = self.store.parse(&message).await?;
        let body = shapes::summary(&message, &self.addresses(&message), &mail, raw.len());
        Ok(response::json(StatusCode::OK, &body))
    }

    async fn part(&self, id: &str, number: &str) -> Answer {
        let attachments = self.store.parse(&self.find(id).await?).await?.attachments;
        let index = number.parse().ok().and_then(|number: usize| number.checked_sub(1));
        let found: Option<Attachment> = index.and_then(|index| attachments.into_iter().nth(index));
        found.map(attachment_response).ok_or_else(|| AnswerError::not_found("the message has no such part"))
    }

    async fn delete(&self, body: &[u8]) -> Answer {
        let body = parse_json(body)?;
        match parse_ids(&body)? {
            Some(ids) => self.store.delete_by_id(&ids).await?,
            None => self.store.delete_by_id(&self.find_ids(&Search::default()).await?).await?,
        };
        Ok(ok())
    }

    async fn mark(&self, request: MailboxRequest<'_>) -> Answer {
        let body = parse_json(request.body)?;
        let is_read = body["Read"].as_bool().unwrap_or(false);
        let search = body["Search"].as_str().filter(|search| !search.is_empty()).map(parse_search).transpose()?;
        let ids = match (parse_ids(&body)?, search) {
            (Some(_), Some(_)) => return Err(AnswerError::bad_request("give either IDs or Search")),
            (Some(ids), None) => ids,
            (None, search) => self.find_ids(&search.unwrap_or_default()).await?,
        };
        self.store.mark_read(Some(&ids), is_read).await?;
        Ok(ok())
    }

    async fn find_ids(&self, search: &Search) -> Result<Vec<Uuid>, AnswerError> {
        let all = self.list_all().await?;
        Ok(all.iter().filter(|message| self.matches(search, message)).map(|message| message.id).collect())
    }

    /// Returns the mail of an id; `latest` is that of the latest one.
    async fn find(&self, id: &str) -> Result<Message, AnswerError> {
        let found = if id == "latest" {
            self.list_all().await?.into_iter().next()
        } else {
            let id: Option<Uuid> = id.parse().ok();
            match id {
                Some(id) => self.store.get(id).await?.filter(|message| message.channel == Channel::Email),
                None => None,
            }
        };
        found.ok_or_else(|| AnswerError::not_found("message not found"))
    }

    async fn list_all(&self) -> Result<Vec<Message>, AnswerError> {
        Ok(self.store.list_latest(Some(Channel::Email)).await?)
    }

    fn addresses(&self, message: &Message) -> Addresses {
        Addresses::new(message, &self.store.sender)
    }

    fn matches(&self, search: &Search, message: &Message) -> bool {
        search.is_empty() || search.matches(message, &self.addresses(message))
    }
}

/// Mailpit answers `ok` to what returns nothing.
fn ok() -> Response {
    response::text(StatusCode::OK, "ok")
}

fn parse_page(query: &str) -> Result<Page, AnswerError> {
    let mut page = Page { query: String::new(), start: 0, limit: DEFAULT_LIMIT };
    for (name, value) in parse_pairs(query) {
        let number = || value.parse().map_err(|_| AnswerError::bad_request(&format!("{name} is no number")));
        match name.as_str() {
            "query" => page.query = value,
            "start" => page.start = number()?,
            "limit" => page.limit = number()?,
            _ => {}
        }
    }
    Ok(page)
}

fn required_search(page: &Page) -> Result<Search, AnswerError> {
    if page.query.trim().is_empty() {
        return Err(AnswerError::bad_request("no search query: add ?query=…"));
    }
    parse_search(&page.query)
}

fn parse_search(query: &str) -> Result<Search, AnswerError> {
    Search::parse(query).map_err(|reason| AnswerError::bad_request(&reason))
}

fn parse_json(body: &[u8]) -> Result<Value, AnswerError> {
    if body.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(body).map_err(|error| AnswerError::bad_request(&format!("the body is no JSON: {error}")))
}

/// Returns the ids of a body; an id of another form is that of no message.
fn parse_ids(body: &Value) -> Result<Option<Vec<Uuid>>, AnswerError> {
    match &body["IDs"] {
        Value::Null => Ok(None),
        Value::Array(ids) if ids.is_empty() => Ok(None),
        Value::Array(ids) => Ok(Some(ids.iter().filter_map(|id| id.as_str()?.parse().ok()).collect())),
        _ => Err(AnswerError::bad_request("IDs is no list")),
    }
}
