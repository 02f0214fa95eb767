//! The request body, read once on first use, up to 1 MiB.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use foundation::error::{Error, ErrorCode, Result};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::Mutex;

/// The maximum size of a body: 1 MiB.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// The maximum size of a form that the reference reads before it limits the body: 10 MiB.
pub const MAX_EARLY_FORM_BYTES: usize = 10 << 20;

/// A request body that is read on first use.
#[derive(Debug)]
pub struct RequestBody(Mutex<BodyState>);

#[derive(Debug)]
enum BodyState {
    Unread(Body),
    Read(Bytes),
    /// The first bytes of a body that has more.
    Cut(Bytes),
    TooLarge,
    Broken,
}

impl RequestBody {
    /// Wraps a body that has not been read.
    pub fn new(body: Body) -> Self {
        Self(Mutex::new(BodyState::Unread(body)))
    }

    /// An empty body: a form's body, which was consumed when the form was parsed.
    pub fn empty() -> Self {
        Self(Mutex::new(BodyState::Read(Bytes::new())))
    }

    /// Reads the first [`MAX_BODY_BYTES`] bytes; the flag tells whether there are more.
    ///
    /// # Errors
    ///
    /// 413 if an earlier read found the body too large, 400 if the connection was lost.
    pub async fn read_prefix(&self) -> Result<(Bytes, bool)> {
        let mut state = self.0.lock().await;
        if let BodyState::Cut(bytes) = &*state {
            return Ok((bytes.clone(), true));
        }
        let BodyState::Unread(body) = &mut *state else {
            drop(state);
            return Ok((self.read_all().await?, false));
        };
        let mut body = std::mem::take(body);
        let mut read = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                *state = BodyState::Broken;
                return Err(connection_lost_error());
            };
            let Ok(data) = frame.into_data() else { continue };
            let fits = data.len().min(MAX_BODY_BYTES - read.len());
            read.extend_from_slice(&data[..fits]);
            if fits < data.len() {
                let read = read.freeze();
                *state = BodyState::Cut(read.clone());
                return Ok((read, true));
            }
        }
        let read = read.freeze();
        *state = BodyState::Read(read.clone());
        Ok((read, false))
    }

    /// Reads the whole body.
    ///
    /// # Errors
    ///
    /// 413 if it exceeds [`MAX_BODY_BYTES`], 400 if the connection was lost.
    pub async fn read_all(&self) -> Result<Bytes> {
        self.read_up_to(MAX_BODY_BYTES).await
    }

    /// Reads the whole body of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// 413 if it exceeds the limit, 400 if the connection was lost.
    pub async fn read_up_to(&self, limit: usize) -> Result<Bytes> {
        let mut state = self.0.lock().await;
        if let BodyState::Unread(body) = &mut *state {
            let body = std::mem::take(body);
            *state = read_limited(body, limit).await;
        }
        match &*state {
            BodyState::Read(bytes) => Ok(bytes.clone()),
            BodyState::Cut(_) | BodyState::TooLarge => Err(too_large_error()),
            BodyState::Unread(_) | BodyState::Broken => Err(connection_lost_error()),
        }
    }
}

async fn read_limited(body: Body, limit: usize) -> BodyState {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => BodyState::Read(collected.to_bytes()),
        Err(cause) if cause.is::<LengthLimitError>() => BodyState::TooLarge,
        Err(_) => BodyState::Broken,
    }
}

fn connection_lost_error() -> Error {
    Error::new(ErrorCode::BadJson, "Could not read the request body: the connection broke off")
}

fn too_large_error() -> Error {
    Error::new(ErrorCode::RequestEntityTooLarge, "Request body too large (max 1048576 bytes)")
}
