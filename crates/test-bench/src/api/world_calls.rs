//! Calls about what is in a world.

use axum::response::Response;
use http::{Method, StatusCode};
use messages::api::MessagesApi;
use platform::clock::Clock;
use provider_simulator::{NextSignIn, NextSignInError};
use serde_json::{Map, Value};

use super::{Call, TestApi, events, response, unknown_call};
use crate::worlds::{World, parse};
use crate::{TestApiError, authenticators, sessions, users};

impl TestApi {
    /// Answers a call below `…/worlds/{id}`.
    pub(super) async fn answer_world(&self, world: &World, call: &Call<'_>) -> Result<Response, TestApiError> {
        match (&call.method, &call.segments[2..]) {
            (_, ["clock"]) => answer_clock(world, call),
            (_, ["messages", rest @ ..]) => answer_messages(world, call, &rest.join("/")).await,
            (&Method::POST, ["users"]) => {
                let state = world.enter().await?;
                created(&users::create(world.app(&state)?, &call.body).await?)
            }
            (&Method::POST, ["sessions"]) => {
                let state = world.enter().await?;
                let created = sessions::create(world.app(&state)?, &call.body, &world.storage_key()).await?;
                Ok(response::json(StatusCode::CREATED, &with_session_members(created)))
            }
            (&Method::POST, ["authenticators", "totp"]) => {
                Ok(response::json(StatusCode::OK, &authenticators::totp(world.clock.now(), &call.body)?))
            }
            (&Method::POST, ["authenticators", "passkeys"]) => {
                let state = world.enter().await?;
                Ok(response::json(StatusCode::OK, &authenticators::passkeys(world.app(&state)?, &call.body)?))
            }
            (&Method::POST, ["providers", name, "next"]) => {
                set_next_sign_in(world, name, &call.body).await?;
                Ok(response::empty())
            }
            (&Method::GET, ["events"]) => events::answer(&world.events, &call.query, call.accepts_stream).await,
            (_, ["faults", rest @ ..]) => answer_faults(world, call, rest),
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

/// Determines the next sign-in at a provider of the world.
async fn set_next_sign_in(world: &World, name: &str, body: &[u8]) -> Result<(), TestApiError> {
    let state = world.enter().await?;
    let simulator = state.backend.as_ref().and_then(|backend| backend.providers.as_ref()).ok_or_else(|| {
        TestApiError::conflict("the profile gotrue has no simulated providers", "create a world of the profile serve")
    })?;
    let invalid = |error: NextSignInError| {
        TestApiError::bad_request(error.to_string(), "docs/testing lists the members and scenarios")
    };
    let next = NextSignIn::parse(&Value::Object(parse::<Map<String, Value>>(body)?)).map_err(invalid)?;
    simulator.set_next(name, next).map_err(invalid)
}

/// Answers a call about messages. A waiting one does not keep the world from being changed.
async fn answer_messages(world: &World, call: &Call<'_>, path: &str) -> Result<Response, TestApiError> {
    let messages = {
        let state = world.enter().await?;
        let backend = state.backend.as_ref().ok_or_else(|| world.gone())?;
        MessagesApi::new(backend.messages.clone())
    };
    world.touch();
    Ok(messages.answer(&call.method, path, &call.query).await)
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

fn answer_faults(world: &World, call: &Call<'_>, rest: &[&str]) -> Result<Response, TestApiError> {
    match (&call.method, rest) {
        (&Method::GET, []) => Ok(response::json(StatusCode::OK, &world.faults.list())),
        (&Method::POST, []) => created(&world.faults.add(&call.body)?),
        (&Method::DELETE, [] | [_]) => {
            world.faults.clear(rest.first().copied())?;
            Ok(response::empty())
        }
        _ => Err(unknown_call(call)),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the result of a call")]
fn created(value: &Value) -> Result<Response, TestApiError> {
    Ok(response::json(StatusCode::CREATED, value))
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
