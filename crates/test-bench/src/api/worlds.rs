//! Calls about worlds and snapshots.

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::call::{InWorld, Json, WorldPath};
use super::document::Refusal;
use super::response;
use super::state::ApiState;
use crate::TestApiError;
use crate::worlds::{NewFork, NewWorld, SnapshotList, World, WorldDescription};

#[derive(Serialize, ToSchema)]
pub(super) struct WorldList<'a> {
    worlds: Vec<WorldDescription<'a>>,
}

/// The part of a path that names a snapshot.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct SnapshotPath {
    /// The name of a snapshot.
    #[serde(default)]
    name: String,
}

/// Lists the worlds.
#[utoipa::path(
    get, path = "/worlds", tag = "worlds",
    responses((status = 200, description = "The worlds", body = WorldList), Refusal)
)]
pub(super) async fn list_worlds(State(state): State<ApiState>) -> Result<Response, TestApiError> {
    let listed = state.worlds.list();
    let mut worlds = Vec::new();
    for world in &listed {
        // One that is deleted meanwhile is left out.
        if let Ok(description) = describe(&state, world).await {
            worlds.push(description);
        }
    }
    response::json(StatusCode::OK, &WorldList { worlds })
}

/// Creates a world.
#[utoipa::path(
    post, path = "/worlds", tag = "worlds", request_body = NewWorld,
    responses((status = 201, description = "The new world", body = WorldDescription), Refusal)
)]
pub(super) async fn create_world(
    State(state): State<ApiState>,
    Json(wanted): Json<NewWorld>,
) -> Result<Response, TestApiError> {
    let world = state.worlds.create(wanted).await?;
    response::json(StatusCode::CREATED, &describe(&state, &world).await?)
}

/// Returns a world.
#[utoipa::path(
    get, path = "/worlds/{id}", tag = "worlds", params(WorldPath),
    responses((status = 200, description = "The world", body = WorldDescription), Refusal)
)]
pub(super) async fn get_world(
    State(state): State<ApiState>,
    InWorld(world): InWorld,
) -> Result<Response, TestApiError> {
    response::json(StatusCode::OK, &describe(&state, &world).await?)
}

/// Deletes a world and everything in it.
#[utoipa::path(
    delete, path = "/worlds/{id}", tag = "worlds", params(WorldPath),
    responses((status = 204, description = "It is deleted"), Refusal)
)]
pub(super) async fn delete_world(
    State(state): State<ApiState>,
    InWorld(world): InWorld,
) -> Result<Response, TestApiError> {
    state.worlds.delete(&world.id).await?;
    Ok(response::empty())
}

/// Returns a world to the state after its creation: data, settings and clock.
#[utoipa::path(
    post, path = "/worlds/{id}/reset", tag = "worlds", params(WorldPath),
    responses((status = 200, description = "The world", body = WorldDescription), Refusal)
)]
pub(super) async fn reset_world(
    State(state): State<ApiState>,
    InWorld(world): InWorld,
) -> Result<Response, TestApiError> {
    state.worlds.reset(&world).await?;
    response::json(StatusCode::OK, &describe(&state, &world).await?)
}

/// Creates a copy of a world with its complete state: rows, keys, settings and clock.
#[utoipa::path(
    post, path = "/worlds/{id}/fork", tag = "worlds", params(WorldPath), request_body = NewFork,
    responses((status = 201, description = "The new world", body = WorldDescription), Refusal)
)]
pub(super) async fn fork_world(
    State(state): State<ApiState>,
    InWorld(world): InWorld,
    Json(wanted): Json<NewFork>,
) -> Result<Response, TestApiError> {
    let fork = state.worlds.fork(&world, wanted).await?;
    response::json(StatusCode::CREATED, &describe(&state, &fork).await?)
}

/// Lists the snapshots of a world.
#[utoipa::path(
    get, path = "/worlds/{id}/snapshots", tag = "snapshots", params(WorldPath),
    responses((status = 200, description = "The names of the snapshots", body = SnapshotList), Refusal)
)]
pub(super) async fn list_snapshots(
    State(state): State<ApiState>,
    InWorld(world): InWorld,
) -> Result<Response, TestApiError> {
    response::json(StatusCode::OK, &state.worlds.list_snapshots(&world))
}

/// Stores the state of a world under a name; a snapshot of that name is replaced.
#[utoipa::path(
    post, path = "/worlds/{id}/snapshots/{name}", tag = "snapshots", params(WorldPath, SnapshotPath),
    responses((status = 200, description = "The world", body = WorldDescription), Refusal)
)]
pub(super) async fn store_snapshot(
    State(state): State<ApiState>,
    InWorld(world): InWorld,
    Path(SnapshotPath { name }): Path<SnapshotPath>,
) -> Result<Response, TestApiError> {
    state.worlds.store_snapshot(&world, &name).await?;
    response::json(StatusCode::OK, &describe(&state, &world).await?)
}

/// Returns a world to the state of a snapshot.
#[utoipa::path(
    post, path = "/worlds/{id}/snapshots/{name}/restore", tag = "snapshots", params(WorldPath, SnapshotPath),
    responses((status = 200, description = "The world", body = WorldDescription), Refusal)
)]
pub(super) async fn restore_snapshot(
    State(state): State<ApiState>,
    InWorld(world): InWorld,
    Path(SnapshotPath { name }): Path<SnapshotPath>,
) -> Result<Response, TestApiError> {
    state.worlds.restore_snapshot(&world, &name).await?;
    response::json(StatusCode::OK, &describe(&state, &world).await?)
}

/// Deletes a snapshot. Worlds that were created from it can no longer be reset.
#[utoipa::path(
    delete, path = "/worlds/{id}/snapshots/{name}", tag = "snapshots", params(WorldPath, SnapshotPath),
    responses((status = 204, description = "It is deleted"), Refusal)
)]
pub(super) async fn delete_snapshot(
    State(state): State<ApiState>,
    InWorld(_): InWorld,
    Path(SnapshotPath { name }): Path<SnapshotPath>,
) -> Result<Response, TestApiError> {
    state.worlds.delete_snapshot(&name)?;
    Ok(response::empty())
}

/// Describes a world that was not deleted meanwhile.
async fn describe<'w>(state: &ApiState, world: &'w World) -> Result<WorldDescription<'w>, TestApiError> {
    let profile = world.enter().await?.settings.profile;
    let database = state.worlds.builder().database_urls(&world.database);
    Ok(world.describe(profile, database))
}
