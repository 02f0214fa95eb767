//! The message API: `…/messages` of a backend.

use axum::response::Response;
use foundation::time::Time;
use http::header::{CONTENT_DISPOSITION, HeaderValue};
use http::{Method, StatusCode};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::message::Message;
use crate::mime::{Attachment, ParsedMail};
use crate::query;
use crate::response;
use crate::store::MessageStore;

/// Answers requests to `…/messages`. It checks no access.
#[derive(Debug, Clone)]
pub struct MessagesApi {
    store: MessageStore,
}

/// The messages of an answer, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct MessageList<'m> {
    messages: Vec<MessageBody<'m>>,
}

/// A message of an answer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Message)]
pub struct MessageBody<'m> {
    id: Uuid,
    /// `email` or `sms`.
    channel: &'static str,
    /// The time of writing.
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    /// The sender's address; empty for an SMS.
    from: &'m str,
    /// The recipient's address, or number without `+`; several are separated by `, `.
    to: &'m str,
    /// The subject; empty for an SMS.
    subject: &'m str,
    /// What the message is for, such as `magic_link`.
    kind: &'m str,
    text: &'m str,
    /// The HTML; empty if there is none.
    html: &'m str,
    /// The code to enter.
    #[schema(required)]
    code: Option<&'m str>,
    /// The token hash to verify.
    #[schema(required)]
    token_hash: Option<&'m str>,
    /// The link to follow.
    #[schema(required)]
    link: Option<&'m str>,
    /// All links in their order, each once.
    links: &'m [String],
    /// The attachments, in the answer to a request for this message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    attachments: Option<Vec<AttachmentBody<'m>>>,
}

/// An attachment of a message.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Attachment)]
pub struct AttachmentBody<'m> {
    /// The number, from 0.
    n: usize,
    name: &'m str,
    content_type: &'m str,
    /// The number of bytes.
    size: usize,
}

impl<'m> From<&'m Message> for MessageBody<'m> {
    fn from(message: &'m Message) -> Self {
        Self {
            id: message.id,
            channel: message.channel.as_str(),
            at: message.at,
            from: &message.from,
            to: &message.to,
            subject: &message.subject,
            kind: &message.kind,
            text: &message.text,
            html: &message.html,
            code: message.code.as_deref(),
            token_hash: message.token_hash.as_deref(),
            link: message.link.as_deref(),
            links: &message.links,
            attachments: None,
        }
    }
}

impl<'m> From<(usize, &'m Attachment)> for AttachmentBody<'m> {
    fn from((number, attachment): (usize, &'m Attachment)) -> Self {
        Self {
            n: number,
            name: &attachment.name,
            content_type: &attachment.content_type,
            size: attachment.content.len(),
        }
    }
}

impl MessagesApi {
    /// Creates the API of a store.
    pub fn new(store: MessageStore) -> Self {
        Self { store }
    }

    /// Answers one request; `path_below` is what follows `…/messages` in its path, `query` follows the `?`.
    pub async fn answer(&self, method: &Method, path_below: &str, query: &str) -> Response {
        let segments: Vec<&str> = path_below.split('/').filter(|segment| !segment.is_empty()).collect();
        let answered = match &*segments {
            [] => self.answer_list(method, query).await,
            [id, rest @ ..] => self.answer_message(method, id, rest, query).await,
        };
        answered.unwrap_or_else(ApiError::into_response)
    }

    async fn answer_list(&self, method: &Method, query: &str) -> Result<Response, ApiError> {
        match *method {
            Method::GET | Method::HEAD => {
                let messages = self.store.list(&query::parse_list(query)?).await?;
                let list = MessageList { messages: messages.iter().map(MessageBody::from).collect() };
                Ok(response::json(StatusCode::OK, &json!(list)))
            }
            Method::DELETE => {
                self.store.delete(&query::parse_deletion(query)?).await?;
                Ok(response::no_content())
            }
            _ => Err(wrong_method("GET lists messages, DELETE deletes them")),
        }
    }

    async fn answer_message(
        &self,
        method: &Method,
        id: &str,
        rest: &[&str],
        query: &str,
    ) -> Result<Response, ApiError> {
        query::parse_none(query)?;
        let id: Uuid = id.parse().map_err(|_| ApiError::unknown_message())?;
        match (method, rest) {
            (&Method::DELETE, []) => match self.store.delete_by_id(&[id]).await? {
                0 => Err(ApiError::unknown_message()),
                _ => Ok(response::no_content()),
            },
            (&Method::GET | &Method::HEAD, _) => {
                let message = self.store.get(id).await?.ok_or_else(ApiError::unknown_message)?;
                self.answer_part(&message, rest).await
            }
            (_, []) => Err(wrong_method("GET returns a message, DELETE deletes it")),
            _ => Err(wrong_method("GET returns a part of a message")),
        }
    }

    async fn answer_part(&self, message: &Message, rest: &[&str]) -> Result<Response, ApiError> {
        match rest {
            [] => {
                let attachments = self.store.parse(message).await?.attachments;
                let listed = attachments.iter().enumerate().map(AttachmentBody::from).collect();
                let body = MessageBody { attachments: Some(listed), ..MessageBody::from(message) };
                Ok(response::json(StatusCode::OK, &json!(body)))
            }
            ["raw"] => Ok(response::bytes(StatusCode::OK, "message/rfc822", self.store.raw(message).await?)),
            ["headers"] => {
                Ok(response::json(StatusCode::OK, &headers_json(&self.store.parse(message).await?, str::to_owned)))
            }
            ["attachments", number] => {
                let attachments = self.store.parse(message).await?.attachments;
                let found = number.parse().ok().and_then(|number: usize| attachments.into_iter().nth(number));
                found.map(attachment_response).ok_or_else(|| {
                    ApiError::new(
                        StatusCode::NOT_FOUND,
                        "attachment_not_found",
                        "the message has no attachment of this number",
                        "attachments are numbered from 0; GET the message for the list",
                    )
                })
            }
            _ => Err(ApiError::new(
                StatusCode::NOT_FOUND,
                "not_found",
                "a message has no such part",
                "the parts are /raw, /headers and /attachments/{n}",
            )),
        }
    }
}

fn wrong_method(hint: &str) -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this method is not allowed here", hint)
}

/// Returns an object with a list of values for each header name.
pub(crate) fn headers_json(mail: &ParsedMail, spell: impl Fn(&str) -> String) -> Value {
    let mut headers = Map::new();
    for (name, value) in &mail.headers {
        if let Value::Array(values) = headers.entry(spell(name)).or_insert_with(|| json!([])) {
            values.push(json!(value));
        }
    }
    Value::Object(headers)
}

/// Spells the name of a header as Mailpit and Inbucket do: `Message-Id`.
pub(crate) fn canonical_name(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let mut characters = word.chars();
        let first = characters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(characters.map(|c| c.to_ascii_lowercase())).collect::<String>()
    });
    words.collect::<Vec<_>>().join("-")
}

/// Returns an attachment as a download: a browser never opens it as a page of this server.
pub(crate) fn attachment_response(attachment: Attachment) -> Response {
    let mut answer = response::bytes(StatusCode::OK, &attachment.content_type, attachment.content);
    let name: String = attachment
        .name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || ".-_ ".contains(c) { c } else { '_' })
        .collect();
    if let Ok(disposition) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        answer.headers_mut().insert(CONTENT_DISPOSITION, disposition);
    }
    answer
}
