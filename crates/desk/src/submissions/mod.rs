//! `/_desk/api/submissions`: list, search, status, notes, replies, export and deletion.
//!
//! The handlers parse and answer; `functions_rs::submissions` does the work.

mod call;
mod errors;
mod export;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::response::Response;
use functions_rs::submissions::Submissions;
use functions_rs::submissions::input::{ReplyInput, read_ids, read_note, read_status};
use futures::future::BoxFuture;
use http::StatusCode;
use serde_json::json;
use uuid::Uuid;

use crate::http::body::JsonBody;
use crate::http::error::DeskError;
use crate::http::respond;
use crate::section::{OwnerCall, Section};
use call::SubmissionsCall;

/// The section `submissions` of the API.
#[derive(Debug)]
pub struct SubmissionsSection(Arc<Submissions>);

impl SubmissionsSection {
    /// Creates the section for these submissions.
    pub fn new(submissions: Arc<Submissions>) -> Self {
        Self(submissions)
    }

    async fn handle(&self, call: SubmissionsCall) -> Result<Response, DeskError> {
        let segments: Vec<&str> = call.segments.iter().map(String::as_str).collect();
        match (call.method.as_str(), segments.as_slice()) {
            ("GET", []) => Ok(respond::ok(&self.0.list_json(&call.page()?).await?)),
            ("GET", ["export"]) => export::answer(&self.0, &call).await,
            ("POST", ["delete"]) => {
                let deleted = self.0.delete(&read_ids(|name| call.body.get(name))?).await?;
                Ok(respond::ok(&json!({ "deleted": deleted })))
            }
            (_, [] | ["export" | "delete"]) => Err(wrong_method()),
            (method, [id, rest @ ..]) => self.handle_one(method, parse_id(id)?, rest, &call).await,
        }
    }

    /// Answers a request for one submission.
    async fn handle_one(
        &self,
        method: &str,
        id: Uuid,
        rest: &[&str],
        call: &SubmissionsCall,
    ) -> Result<Response, DeskError> {
        let find = |name: &str| call.body.get(name);
        match (method, rest) {
            ("GET", []) => self.answer_details(id).await,
            ("PATCH", []) => {
                self.0.set_status(id, read_status(find)?).await?;
                self.answer_details(id).await
            }
            ("DELETE", []) => match self.0.delete(&[id]).await? {
                0 => Err(DeskError::not_found("The submission")),
                _ => Ok(respond::no_content()),
            },
            ("POST", ["notes"]) => {
                let note = self.0.add_note(id, &read_note(find)?, &call.author).await?;
                Ok(respond::json(StatusCode::CREATED, &note.to_json()))
            }
            ("DELETE", ["notes", note]) => {
                self.0.delete_note(id, parse_id(note)?).await?;
                Ok(respond::no_content())
            }
            ("POST", ["reply"]) => {
                let message = self.0.reply(id, &ReplyInput::read(find)?, &call.author).await?;
                Ok(respond::json(StatusCode::ACCEPTED, &json!({ "message": message.to_json() })))
            }
            ("POST", ["messages", message, "resend"]) => {
                let message = self.0.resend(id, parse_id(message)?).await?;
                Ok(respond::json(StatusCode::ACCEPTED, &json!({ "message": message.to_json() })))
            }
            (_, [] | ["notes" | "reply"] | ["notes", _] | ["messages", _, "resend"]) => Err(wrong_method()),
            _ => Err(DeskError::not_found("The path")),
        }
    }

    async fn answer_details(&self, id: Uuid) -> Result<Response, DeskError> {
        Ok(respond::ok(&self.0.find(id).await?.to_json(self.0.titles())))
    }
}

impl Section for SubmissionsSection {
    fn answer(&self, call: OwnerCall) -> BoxFuture<'_, Result<Response, DeskError>> {
        let OwnerCall { method, segments, query, body, owner, visit } = call;
        let action = find_recorded_action(method.as_str(), &segments);
        let subject = find_subject(&segments, &body);
        Box::pin(async move {
            let response = self.handle(SubmissionsCall { method, segments, query, body, author: owner.email }).await?;
            if let Some(action) = action {
                visit.record_done(owner.id, action, subject.as_deref()).await;
            }
            Ok(response)
        })
    }
}

/// Returns the id of the submission, or the ids of those that are deleted at once.
fn find_subject(segments: &[String], body: &JsonBody) -> Option<String> {
    match segments.first().map(String::as_str) {
        Some("delete") => {
            let ids = body.get("ids").and_then(serde_json::Value::as_array).map_or(&[][..], Vec::as_slice);
            Some(ids.iter().filter_map(serde_json::Value::as_str).collect::<Vec<_>>().join(" "))
        }
        first => first.filter(|text| Uuid::try_parse(text).is_ok()).map(str::to_owned),
    }
}

/// Returns the name of an action that is recorded with its submission.
fn find_recorded_action(method: &str, segments: &[String]) -> Option<&'static str> {
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match (method, segments.as_slice()) {
        ("GET", ["export"]) => Some("submission.export"),
        ("POST", ["delete"]) | ("DELETE", [_]) => Some("submission.delete"),
        ("PATCH", [_]) => Some("submission.status"),
        ("POST" | "DELETE", [_, "notes", ..]) => Some("submission.note"),
        ("POST", [_, "reply"]) => Some("submission.reply"),
        ("POST", [_, "messages", _, "resend"]) => Some("submission.resend"),
        _ => None,
    }
}

fn parse_id(text: &str) -> Result<Uuid, DeskError> {
    Uuid::try_parse(text).map_err(|_| DeskError::not_found("The submission"))
}

fn wrong_method() -> DeskError {
    DeskError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "The path has other methods.")
}
