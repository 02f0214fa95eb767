//! Calls about what is in a world.

use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use messages::api::{MessageBody, MessageList};
use platform::clock::Clock;
use provider_simulator::{NextSignIn, NextSignInError};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::IntoParams;

use super::call::{InWorld, Json, MessageCall, WorldPath};
use super::document::Refusal;
use super::state::ApiState;
use super::{response, schemas};
use crate::clock::ClockReading;
use crate::worlds::{World, parse};
use crate::{TestApiError, authenticators, sessions, users};

/// The part of a path that names a fault.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct FaultPath {
    /// The id of a fault.
    #[serde(default)]
    fault: String,
}

/// The part of a path that names a provider.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct ProviderPath {
    /// The name of a provider, such as `google`.
    #[serde(default)]
    name: String,
}

/// Returns the time of a world and how it passes.
#[utoipa::path(
    get, path = "/worlds/{id}/clock", tag = "clock", params(WorldPath),
    responses((status = 200, description = "The clock", body = ClockReading), Refusal)
)]
pub(super) async fn get_clock(InWorld(world): InWorld) -> Result<Response, TestApiError> {
    read_clock(&world)
}

/// Moves, stops or speeds up the clock of a world.
#[utoipa::path(
    post, path = "/worlds/{id}/clock", tag = "clock", params(WorldPath), request_body = schemas::ClockChanges,
    responses((status = 200, description = "The clock", body = ClockReading), Refusal)
)]
pub(super) async fn change_clock(
    InWorld(world): InWorld,
    Json(change): Json<Map<String, Value>>,
) -> Result<Response, TestApiError> {
    world.clock.apply(&Value::Object(change))?;
    read_clock(&world)
}

/// Returns the clock of a world to real time.
#[utoipa::path(
    delete, path = "/worlds/{id}/clock", tag = "clock", params(WorldPath),
    responses((status = 200, description = "The clock", body = ClockReading), Refusal)
)]
pub(super) async fn reset_clock(InWorld(world): InWorld) -> Result<Response, TestApiError> {
    world.clock.reset();
    read_clock(&world)
}

fn read_clock(world: &World) -> Result<Response, TestApiError> {
    world.touch();
    response::json(StatusCode::OK, &world.clock.reading())
}

/// Lists messages, oldest first, and waits for the first one.
#[utoipa::path(
    get, path = "/worlds/{id}/messages", tag = "messages", params(WorldPath, schemas::MessageParameters),
    responses((status = 200, description = "The messages", body = MessageList), Refusal)
)]
pub(super) async fn list_messages(call: MessageCall) -> Response {
    call.answer().await
}

/// Deletes messages.
#[utoipa::path(
    delete, path = "/worlds/{id}/messages", tag = "messages", params(WorldPath, schemas::DeletionParameters),
    responses((status = 204, description = "They are deleted"), Refusal)
)]
pub(super) async fn delete_messages(call: MessageCall) -> Response {
    call.answer().await
}

/// Returns a message with the list of its attachments.
#[utoipa::path(
    get, path = "/worlds/{id}/messages/{message}", tag = "messages", params(WorldPath, schemas::MessagePath),
    responses((status = 200, description = "The message", body = MessageBody), Refusal)
)]
pub(super) async fn get_message(call: MessageCall) -> Response {
    call.answer().await
}

/// Deletes a message.
#[utoipa::path(
    delete, path = "/worlds/{id}/messages/{message}", tag = "messages", params(WorldPath, schemas::MessagePath),
    responses((status = 204, description = "It is deleted"), Refusal)
)]
pub(super) async fn delete_message(call: MessageCall) -> Response {
    call.answer().await
}

/// Returns a mail as it was sent (RFC 5322).
#[utoipa::path(
    get, path = "/worlds/{id}/messages/{message}/raw", tag = "messages", params(WorldPath, schemas::MessagePath),
    responses((status = 200, description = "The mail", body = String, content_type = "message/rfc822"), Refusal)
)]
pub(super) async fn get_raw_message(call: MessageCall) -> Response {
    call.answer().await
}

/// Returns the headers of a mail: a list of values for each name.
#[utoipa::path(
    get, path = "/worlds/{id}/messages/{message}/headers", tag = "messages", params(WorldPath, schemas::MessagePath),
    responses((status = 200, description = "The headers", body = schemas::MessageHeaders), Refusal)
)]
pub(super) async fn get_message_headers(call: MessageCall) -> Response {
    call.answer().await
}

/// Returns an attachment.
#[utoipa::path(
    get, path = "/worlds/{id}/messages/{message}/attachments/{n}", tag = "messages",
    params(WorldPath, schemas::MessagePath, schemas::AttachmentPath),
    responses((status = 200, description = "Its content, with its own type", content_type = "*/*"), Refusal)
)]
pub(super) async fn get_attachment(call: MessageCall) -> Response {
    call.answer().await
}

/// Creates users: all of a list or none.
#[utoipa::path(
    post, path = "/worlds/{id}/users", tag = "accounts", params(WorldPath), request_body = Vec<schemas::NewUser>,
    responses(
        (
            status = 201, body = Vec<Object>,
            description = "The users as the admin API shows them, with the secrets of their factors"
        ),
        Refusal
    )
)]
pub(super) async fn create_users(InWorld(world): InWorld, body: Bytes) -> Result<Response, TestApiError> {
    let state = world.enter().await?;
    response::json(StatusCode::CREATED, &users::create(world.app(&state)?, &body).await?)
}

/// Creates a session of a user without a sign-in.
#[utoipa::path(
    post, path = "/worlds/{id}/sessions", tag = "accounts", params(WorldPath), request_body = schemas::NewSession,
    responses((status = 201, description = "The session", body = schemas::CreatedSession), Refusal)
)]
pub(super) async fn create_session(InWorld(world): InWorld, body: Bytes) -> Result<Response, TestApiError> {
    let state = world.enter().await?;
    let created = sessions::create(world.app(&state)?, &body, &world.storage_key()).await?;
    response::json(StatusCode::CREATED, &with_session_members(created))
}

/// Returns the one-time password of a secret at the time of the world.
#[utoipa::path(
    post, path = "/worlds/{id}/authenticators/totp", tag = "accounts", params(WorldPath),
    request_body = schemas::TotpSecret,
    responses((status = 200, description = "The one-time password", body = schemas::TotpCode), Refusal)
)]
pub(super) async fn generate_totp(InWorld(world): InWorld, body: Bytes) -> Result<Response, TestApiError> {
    response::json(StatusCode::OK, &authenticators::totp(world.clock.now(), &body)?)
}

/// Answers the options of a registration or of an authentication with a passkey as a browser does.
#[utoipa::path(
    post, path = "/worlds/{id}/authenticators/passkeys", tag = "accounts", params(WorldPath),
    request_body = schemas::PasskeyOptions,
    responses((status = 200, description = "The answer of the browser", body = schemas::PasskeyAnswer), Refusal)
)]
pub(super) async fn answer_passkey_options(InWorld(world): InWorld, body: Bytes) -> Result<Response, TestApiError> {
    let state = world.enter().await?;
    response::json(StatusCode::OK, &authenticators::passkeys(world.app(&state)?, &body)?)
}

/// Lists the faults of a world, oldest first.
#[utoipa::path(
    get, path = "/worlds/{id}/faults", tag = "faults", params(WorldPath),
    responses((status = 200, description = "The faults", body = schemas::FaultList), Refusal)
)]
pub(super) async fn list_faults(InWorld(world): InWorld) -> Result<Response, TestApiError> {
    response::json(StatusCode::OK, &world.faults.list())
}

/// Adds a fault.
#[utoipa::path(
    post, path = "/worlds/{id}/faults", tag = "faults", params(WorldPath), request_body = schemas::NewFault,
    responses((status = 201, description = "The id of the fault", body = schemas::AddedFault), Refusal)
)]
pub(super) async fn add_fault(InWorld(world): InWorld, body: Bytes) -> Result<Response, TestApiError> {
    response::json(StatusCode::CREATED, &world.faults.add(&body)?)
}

/// Deletes the faults of a world.
#[utoipa::path(
    delete, path = "/worlds/{id}/faults", tag = "faults", params(WorldPath),
    responses((status = 204, description = "They are deleted"), Refusal)
)]
pub(super) async fn delete_faults(InWorld(world): InWorld) -> Result<Response, TestApiError> {
    world.faults.clear(None)?;
    Ok(response::empty())
}

/// Deletes a fault.
#[utoipa::path(
    delete, path = "/worlds/{id}/faults/{fault}", tag = "faults", params(WorldPath, FaultPath),
    responses((status = 204, description = "It is deleted"), Refusal)
)]
pub(super) async fn delete_fault(
    InWorld(world): InWorld,
    Path(FaultPath { fault }): Path<FaultPath>,
) -> Result<Response, TestApiError> {
    world.faults.clear(Some(&fault))?;
    Ok(response::empty())
}

/// Determines the next sign-in at a simulated provider.
#[utoipa::path(
    post, path = "/worlds/{id}/providers/{name}/next", tag = "providers", params(WorldPath, ProviderPath),
    request_body = schemas::NextSignIn, responses((status = 204, description = "It is determined"), Refusal)
)]
pub(super) async fn set_next_sign_in(
    InWorld(world): InWorld,
    Path(ProviderPath { name }): Path<ProviderPath>,
    body: Bytes,
) -> Result<Response, TestApiError> {
    let state = world.enter().await?;
    let simulator = state.backend.as_ref().and_then(|backend| backend.providers.as_ref()).ok_or_else(|| {
        TestApiError::conflict("the profile gotrue has no simulated providers", "create a world of the profile serve")
    })?;
    let invalid = |error: NextSignInError| {
        TestApiError::bad_request(error.to_string(), "docs/testing lists the members and scenarios")
    };
    let next = NextSignIn::parse(&Value::Object(parse::<Map<String, Value>>(&body)?)).map_err(invalid)?;
    simulator.set_next(&name, next).map_err(invalid)?;
    Ok(response::empty())
}

/// Returns the settings of a world: the shape of `config.toml`, or the variables of the profile `gotrue`.
#[utoipa::path(
    get, path = "/worlds/{id}/config", tag = "settings", params(WorldPath),
    responses((status = 200, description = "The settings", body = Object), Refusal)
)]
pub(super) async fn get_settings(
    State(state): State<ApiState>,
    InWorld(world): InWorld,
) -> Result<Response, TestApiError> {
    read_settings(&state, &world).await
}

/// Changes settings of a world by a JSON merge patch (RFC 7396); users and sessions stay.
#[utoipa::path(
    patch, path = "/worlds/{id}/config", tag = "settings", params(WorldPath), request_body = Object,
    responses((status = 200, description = "The settings", body = Object), Refusal)
)]
pub(super) async fn change_settings(
    State(state): State<ApiState>,
    InWorld(world): InWorld,
    Json(change): Json<Map<String, Value>>,
) -> Result<Response, TestApiError> {
    state.worlds.change_settings(&world, &change).await?;
    read_settings(&state, &world).await
}

async fn read_settings(state: &ApiState, world: &World) -> Result<Response, TestApiError> {
    let entered = world.enter().await?;
    response::json(StatusCode::OK, &state.worlds.builder().describe_settings(&entered.settings))
}

/// Adds the members of the session to those around it, as in the answer to a sign-in.
fn with_session_members(mut answer: Value) -> Value {
    let session = answer["session"].as_object().cloned().unwrap_or_default();
    for (name, value) in session {
        if answer.get(&name).is_none() {
            answer[name] = value;
        }
    }
    answer
}
