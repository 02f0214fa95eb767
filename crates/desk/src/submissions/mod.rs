//! `/_desk/api/submissions`: list, search, status, notes, replies, export and deletion.
//!
//! The handlers parse and answer; `functions_rs::submissions` does the work.

mod errors;
mod export;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::{Path, RawPathParams, State};
use axum::response::Response;
use functions_rs::submissions::Submissions;
use functions_rs::submissions::filter::SubmissionPage;
use functions_rs::submissions::input::{ReplyInput, read_ids, read_note, read_status};
use http::{StatusCode, Uri};
use serde_json::json;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::document::Refusal;
use crate::http::error::DeskError;
use crate::http::path;
use crate::http::respond;
use crate::schemas;
use crate::section::{OwnerCall, OwnerRoutes, Section};

/// What a path names, for errors.
const SUBMISSION: &str = "The submission";

type SectionState = State<Arc<SubmissionsSection>>;

/// The section `submissions` of the API.
#[derive(Debug)]
pub struct SubmissionsSection(Arc<Submissions>);

impl SubmissionsSection {
    /// Creates the section for these submissions.
    pub fn new(submissions: Arc<Submissions>) -> Self {
        Self(submissions)
    }

    async fn answer_details(&self, id: Uuid) -> Result<Response, DeskError> {
        Ok(respond::ok(&self.0.find(id).await?.to_json(self.0.titles())))
    }
}

impl Section for SubmissionsSection {
    const NAME: &'static str = "submissions";

    fn routes() -> OwnerRoutes<Self> {
        OwnerRoutes::new(unknown_path)
            .other_methods(wrong_method)
            .calls(routes!(list_submissions))
            .calls(routes!(export_submissions))
            .calls(routes!(delete_submissions))
            .calls(routes!(show_submission, change_status, delete_submission))
            .calls(routes!(add_note))
            .calls(routes!(delete_note))
            .calls(routes!(reply))
            .calls(routes!(resend_message))
    }
}

/// Lists submissions, the latest first.
#[utoipa::path(
    get, path = "/", tag = "submissions", params(schemas::SubmissionParameters),
    responses((status = 200, description = "The submissions", body = Object), Refusal)
)]
async fn list_submissions(State(section): SectionState, call: OwnerCall) -> Result<Response, DeskError> {
    Ok(respond::ok(&section.0.list_json(&SubmissionPage::parse(call.query.list())?).await?))
}

/// Returns the submissions of a list as a file.
#[utoipa::path(
    get, path = "/export", tag = "submissions",
    params(schemas::SubmissionParameters, schemas::ExportParameters),
    responses(
        (
            status = 200, description = "The submissions",
            content((String = "text/csv"), (Vec<Object> = "application/json"))
        ),
        Refusal
    )
)]
async fn export_submissions(State(section): SectionState, call: OwnerCall) -> Result<Response, DeskError> {
    let response = export::answer(&section.0, &call.query).await?;
    call.visit.record_done(call.owner.id, "submission.export", None).await;
    Ok(response)
}

/// Deletes several submissions.
#[utoipa::path(
    post, path = "/delete", tag = "submissions", request_body = schemas::SubmissionIds,
    responses((status = 200, description = "How many there were", body = Object), Refusal)
)]
async fn delete_submissions(State(section): SectionState, call: OwnerCall) -> Result<Response, DeskError> {
    let deleted = section.0.delete(&read_ids(|name| call.body.get(name))?).await?;
    let ids = call.body.get("ids").and_then(serde_json::Value::as_array).map_or(&[][..], Vec::as_slice);
    let ids: Vec<&str> = ids.iter().filter_map(serde_json::Value::as_str).collect();
    call.record_done("submission.delete", &ids.join(" ")).await;
    Ok(respond::ok(&json!({ "deleted": deleted })))
}

/// Returns a submission.
#[utoipa::path(
    get, path = "/{id}", tag = "submissions", params(("id" = Uuid, Path, description = "The id of the submission")),
    responses((status = 200, description = "The submission", body = Object), Refusal)
)]
async fn show_submission(
    State(section): SectionState,
    Path(id): Path<String>,
    _: OwnerCall,
) -> Result<Response, DeskError> {
    section.answer_details(parse_id(&id)?).await
}

/// Says what was done about a submission.
#[utoipa::path(
    patch, path = "/{id}", tag = "submissions", params(("id" = Uuid, Path, description = "The id of the submission")),
    request_body = schemas::SubmissionState,
    responses((status = 200, description = "The submission", body = Object), Refusal)
)]
async fn change_status(
    State(section): SectionState,
    Path(text): Path<String>,
    call: OwnerCall,
) -> Result<Response, DeskError> {
    let id = parse_id(&text)?;
    section.0.set_status(id, read_status(|name| call.body.get(name))?).await?;
    let response = section.answer_details(id).await?;
    call.record_done("submission.status", &text).await;
    Ok(response)
}

/// Deletes a submission.
#[utoipa::path(
    delete, path = "/{id}", tag = "submissions", params(("id" = Uuid, Path, description = "The id of the submission")),
    responses((status = 204, description = "It is deleted"), Refusal)
)]
async fn delete_submission(
    State(section): SectionState,
    Path(text): Path<String>,
    call: OwnerCall,
) -> Result<Response, DeskError> {
    if section.0.delete(&[parse_id(&text)?]).await? == 0 {
        return Err(DeskError::not_found(SUBMISSION));
    }
    call.record_done("submission.delete", &text).await;
    Ok(respond::no_content())
}

/// Adds a note to a submission.
#[utoipa::path(
    post, path = "/{id}/notes", tag = "submissions",
    params(("id" = Uuid, Path, description = "The id of the submission")), request_body = schemas::NewNote,
    responses((status = 201, description = "The note", body = Object), Refusal)
)]
async fn add_note(
    State(section): SectionState,
    Path(text): Path<String>,
    call: OwnerCall,
) -> Result<Response, DeskError> {
    let id = parse_id(&text)?;
    let note = section.0.add_note(id, &read_note(|name| call.body.get(name))?, &call.owner.email).await?;
    call.record_done("submission.note", &text).await;
    Ok(respond::json(StatusCode::CREATED, &note.to_json()))
}

/// Deletes a note.
#[utoipa::path(
    delete, path = "/{id}/notes/{note}", tag = "submissions",
    params(
        ("id" = Uuid, Path, description = "The id of the submission"),
        ("note" = Uuid, Path, description = "The id of the note")
    ),
    responses((status = 204, description = "It is deleted"), Refusal)
)]
async fn delete_note(
    State(section): SectionState,
    Path((text, note)): Path<(String, String)>,
    call: OwnerCall,
) -> Result<Response, DeskError> {
    section.0.delete_note(parse_id(&text)?, parse_id(&note)?).await?;
    call.record_done("submission.note", &text).await;
    Ok(respond::no_content())
}

/// Sends a reply.
#[utoipa::path(
    post, path = "/{id}/reply", tag = "submissions",
    params(("id" = Uuid, Path, description = "The id of the submission")), request_body = schemas::Reply,
    responses((status = 202, description = "The message", body = Object), Refusal)
)]
async fn reply(State(section): SectionState, Path(text): Path<String>, call: OwnerCall) -> Result<Response, DeskError> {
    let id = parse_id(&text)?;
    let message = section.0.reply(id, &ReplyInput::read(|name| call.body.get(name))?, &call.owner.email).await?;
    call.record_done("submission.reply", &text).await;
    Ok(respond::json(StatusCode::ACCEPTED, &json!({ "message": message.to_json() })))
}

/// Sends a message again.
#[utoipa::path(
    post, path = "/{id}/messages/{message}/resend", tag = "submissions",
    params(
        ("id" = Uuid, Path, description = "The id of the submission"),
        ("message" = Uuid, Path, description = "The id of the message")
    ),
    responses((status = 202, description = "The message", body = Object), Refusal)
)]
async fn resend_message(
    State(section): SectionState,
    Path((text, message)): Path<(String, String)>,
    call: OwnerCall,
) -> Result<Response, DeskError> {
    let message = section.0.resend(parse_id(&text)?, parse_id(&message)?).await?;
    call.record_done("submission.resend", &text).await;
    Ok(respond::json(StatusCode::ACCEPTED, &json!({ "message": message.to_json() })))
}

/// Answers other methods of a path. An id that is none is named first.
async fn wrong_method(params: RawPathParams, _: OwnerCall) -> Result<Response, DeskError> {
    let id = params.iter().find(|(name, _)| *name == "id").map(|(_, id)| parse_id(id));
    id.transpose()?;
    Err(DeskError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "The path has other methods."))
}

/// Answers a path that no call has. An id that is none is named first.
async fn unknown_path(uri: Uri, _: OwnerCall) -> Result<Response, DeskError> {
    parse_id(uri.path().split('/').nth(1).unwrap_or_default())?;
    Err(DeskError::not_found("The path"))
}

fn parse_id(text: &str) -> Result<Uuid, DeskError> {
    path::parse_id(text, SUBMISSION)
}
