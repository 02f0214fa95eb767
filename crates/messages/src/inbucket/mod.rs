//! Inbucket's REST API, version 1, and its WebSockets.
//!
//! <https://github.com/inbucket/inbucket/wiki/REST-API>

mod monitor;
mod shapes;

use http::StatusCode;
use md5::{Digest, Md5};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::api::{canonical_name, headers_json};
use crate::mailbox_request::{Answer, AnswerError, MailboxRequest};
use crate::message::{Channel, Message};
use crate::response;
use crate::store::MessageStore;

pub(crate) use self::monitor::MailboxMonitor;
use self::shapes::{decode_name, is_mailbox, list_item};

/// Inbucket's API.
#[derive(Debug, Clone)]
pub(crate) struct InbucketApi {
    store: MessageStore,
}

impl InbucketApi {
    pub(crate) fn new(store: MessageStore) -> Self {
        Self { store }
    }

    /// Answers a request; `name` and `path` are what follows `/api/v1/mailbox/`.
    pub(crate) async fn answer(&self, request: MailboxRequest<'_>, name: &str, path: &[&str]) -> Answer {
        let name = decode_name(name);
        match (request.method.as_str(), path) {
            ("GET" | "HEAD", []) => {
                let messages = self.list(&name).await?;
                let mut items = Vec::new();
                for message in messages.iter().rev() {
                    items.push(list_item(&self.store, &name, message).await?);
                }
                Ok(response::json(StatusCode::OK, &json!(items)))
            }
            ("DELETE", []) => {
                let ids: Vec<Uuid> = self.list(&name).await?.iter().map(|message| message.id).collect();
                self.store.delete_by_id(&ids).await?;
                Ok(ok())
            }
            ("GET" | "HEAD", [id]) => self.message(&name, id).await,
            ("GET" | "HEAD", [id, "source"]) => {
                let raw = self.store.raw(&self.find(&name, id).await?).await?;
                Ok(response::bytes(StatusCode::OK, "text/plain; charset=utf-8", raw))
            }
            ("PATCH", [id]) => {
                let body: Value = serde_json::from_slice(request.body).unwrap_or_default();
                let Some(is_read) = body["seen"].as_bool() else {
                    return Err(AnswerError::bad_request("the body is {\"seen\": true} or {\"seen\": false}"));
                };
                self.store.mark_read(Some(&[self.find(&name, id).await?.id]), is_read).await?;
                Ok(ok())
            }
            ("DELETE", [id]) => {
                self.store.delete_by_id(&[self.find(&name, id).await?.id]).await?;
                Ok(ok())
            }
            _ => Err(AnswerError::Refused(StatusCode::METHOD_NOT_ALLOWED, "there is no such call".to_owned())),
        }
    }

    async fn message(&self, name: &str, id: &str) -> Answer {
        let message = self.find(name, id).await?;
        let mut body = list_item(&self.store, name, &message).await?;
        let mail = self.store.parse(&message).await?;
        body["body"] = json!({"text": message.text, "html": message.html});
        body["header"] = headers_json(&mail, canonical_name);
        body["attachments"] = mail
            .attachments
            .iter()
            .enumerate()
            .map(|(index, file)| {
                let link = format!("/api/v1/message/{}/part/{}", message.id, index + 1);
                json!({
                    "filename": file.name,
                    "content-type": file.content_type,
                    "download-link": link,
                    "view-link": link,
                    "md5": hex::encode(Md5::digest(&file.content)),
                })
            })
            .collect();
        Ok(response::json(StatusCode::OK, &body))
    }

    /// Returns the message of an id in a mailbox; `latest` is that of the latest one.
    async fn find(&self, name: &str, id: &str) -> Result<Message, AnswerError> {
        let wanted: Option<Uuid> = id.parse().ok();
        let found = if id == "latest" {
            self.list(name).await?.into_iter().next()
        } else {
            self.list(name).await?.into_iter().find(|message| Some(message.id) == wanted)
        };
        found.ok_or_else(|| AnswerError::not_found("there is no such message in this mailbox"))
    }

    /// Returns the messages of a mailbox, newest first.
    async fn list(&self, name: &str) -> Result<Vec<Message>, AnswerError> {
        let all = self.store.list_latest(Some(Channel::Email)).await?;
        Ok(all.into_iter().filter(|message| message.recipients().any(|to| is_mailbox(name, to))).collect())
    }
}

fn ok() -> axum::response::Response {
    response::json(StatusCode::OK, &json!("OK"))
}
