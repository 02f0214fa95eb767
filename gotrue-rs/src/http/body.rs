//! The body of a request, read once, when it is first needed, and never more than a mebibyte of it.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use gotrue_rules::domain::error::{Error, Result};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::Mutex;

/// The largest body: 1 MiB (`endpoints.md` §1.1).
pub const LIMIT: usize = 1 << 20;

/// A body that has been read or not.
#[derive(Debug)]
pub struct RequestBody(Mutex<State>);

#[derive(Debug)]
enum State {
    Unread(Body),
    Read(Bytes),
    TooLarge,
    Broken,
}

impl RequestBody {
    /// A body to be read later.
    pub fn new(body: Body) -> Self {
        Self(Mutex::new(State::Unread(body)))
    }

    /// A body without bytes: what is left of a form that the access log has read.
    pub fn empty() -> Self {
        Self(Mutex::new(State::Read(Bytes::new())))
    }

    /// The first [`LIMIT`] bytes, and whether more came; refused when the body was read before and found too large.
    pub async fn beginning(&self) -> Result<(Bytes, bool)> {
        let mut state = self.0.lock().await;
        let State::Unread(body) = &mut *state else {
            drop(state);
            return Ok((self.bytes().await?, false));
        };
        let mut body = std::mem::take(body);
        let mut read = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                *state = State::Broken;
                return Err(broken_off());
            };
            let Ok(data) = frame.into_data() else { continue };
            let fits = data.len().min(LIMIT - read.len());
            read.extend_from_slice(&data[..fits]);
            if fits < data.len() {
                *state = State::TooLarge;
                return Ok((read.freeze(), true));
            }
        }
        let read = read.freeze();
        *state = State::Read(read.clone());
        Ok((read, false))
    }

    /// All bytes; refused when there are more than [`LIMIT`].
    pub async fn bytes(&self) -> Result<Bytes> {
        let mut state = self.0.lock().await;
        if let State::Unread(body) = &mut *state {
            let body = std::mem::take(body);
            *state = read(body).await;
        }
        match &*state {
            State::Read(bytes) => Ok(bytes.clone()),
            State::TooLarge => Err(too_large()),
            State::Unread(_) | State::Broken => Err(broken_off()),
        }
    }
}

async fn read(body: Body) -> State {
    match Limited::new(body, LIMIT).collect().await {
        Ok(collected) => State::Read(collected.to_bytes()),
        Err(cause) if cause.is::<LengthLimitError>() => State::TooLarge,
        Err(_) => State::Broken,
    }
}

fn broken_off() -> Error {
    Error::bad_request("bad_json", "Could not read the request body: the connection broke off")
}

fn too_large() -> Error {
    Error::http(413, "request_entity_too_large", "Request body too large (max 1048576 bytes)")
}
