//! Calls about what is in a world: clock and settings.

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::{Map, Value};

use super::{Call, TestApi, response, unknown_call};
use crate::TestApiError;
use crate::worlds::{World, parse};

impl TestApi {
    /// Answers a call below `…/worlds/{id}`.
    pub(super) async fn answer_world(&self, world: &World, call: &Call<'_>) -> Result<Response, TestApiError> {
        match (&call.method, &call.segments[2..]) {
            (_, ["clock"]) => answer_clock(world, call),
            (&Method::GET, ["config"]) => self.describe_settings(world).await,
            (&Method::PATCH, ["config"]) => {
                self.worlds.change_settings(world, &parse::<Map<String, Value>>(&call.body)?).await?;
                self.describe_settings(world).await
            }
            _ => Err(unknown_call(call)),
        }
    }

    async fn describe_settings(&self, world: &World) -> Result<Response, TestApiError> {
        let state = world.enter().await?;
        let settings = self.worlds.builder().describe_settings(&state.settings);
        Ok(response::json(StatusCode::OK, &Value::Object(settings)))
    }
}

fn answer_clock(world: &World, call: &Call<'_>) -> Result<Response, TestApiError> {
    match call.method {
        Method::GET => {}
        Method::POST => world.clock.apply(&Value::Object(parse::<Map<String, Value>>(&call.body)?))?,
        Method::DELETE => world.clock.reset(),
        _ => return Err(unknown_call(call)),
    }
    world.touch();
    Ok(response::json(StatusCode::OK, &world.clock.to_json()))
}
