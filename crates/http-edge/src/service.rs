//! Serves one request at the edge: checks its form, limits its body, keeps or closes the connection.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::StatusCode;
use http::header::{CONNECTION, EXPECT};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body as _, Incoming};
use tokio::time::timeout;

use super::body::{ResponseBody, TimedBody, UnreadBody, UnreadSlot};
use super::checks;
use super::limits::HttpLimits;
use super::presence::{ClientPresence, PresenceGuard};
use super::state::{ConnectionState, Phase};
use super::upgrade;

/// An unread remainder up to this size is read before the response, to keep the connection usable.
const DRAIN_LIMIT_BYTES: u64 = 64 << 10;
/// Time limit for that; a remainder that has already arrived takes no time.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Answers one request of a connection.
pub(crate) async fn answer<A, F>(
    mut request: hyper::Request<Incoming>,
    limits: &HttpLimits,
    state: Arc<ConnectionState>,
    answer: A,
) -> Response
where
    A: FnOnce(Request) -> F,
    F: Future<Output = Response>,
{
    state.enter(Phase::Busy);
    let is_last = checks::is_last(&request);
    let waits_for_leave = request.headers().contains_key(EXPECT);
    let returned = UnreadSlot::default();
    let refused = checks::reject_invalid_host(&request, limits.accepts_repeated_host);
    let is_refused = refused.is_some();
    let upgrade = upgrade::offer(&mut request);
    request.extensions_mut().insert(ClientPresence(Arc::clone(&state)));
    let presence = PresenceGuard::new(&state);
    let request = request.map(|body| TimedBody::wrap(body, limits.body_timeout, &returned));
    let mut response = match refused {
        Some(refusal) => {
            drop(request);
            refusal
        }
        None => answer(request).await,
    };
    presence.disarm();
    if response.status() == StatusCode::SWITCHING_PROTOCOLS
        && let Some(sender) = upgrade
    {
        state.set_upgrade(sender);
    }
    let is_read = finish_reading(&returned, waits_for_leave).await;
    if !is_read {
        state.set_linger();
    }
    if !is_read || is_last || is_refused {
        response.headers_mut().insert(CONNECTION, http::HeaderValue::from_static("close"));
    }
    response.map(|body| Body::new(ResponseBody::new(body, state)))
}

/// Returns whether the whole request is read; reads a small remainder now.
/// It does not if the client waits for `100 Continue` before sending the body.
async fn finish_reading(returned: &UnreadSlot, waits_for_leave: bool) -> bool {
    let unread = std::mem::take(&mut *returned.lock().unwrap_or_else(PoisonError::into_inner));
    match unread {
        UnreadBody::Complete => true,
        UnreadBody::InHandler | UnreadBody::Unreadable => false,
        UnreadBody::Remaining(rest) => {
            let is_small = rest.size_hint().upper().is_some_and(|size| size <= DRAIN_LIMIT_BYTES);
            let most = usize::try_from(DRAIN_LIMIT_BYTES).unwrap_or(usize::MAX);
            is_small
                && !waits_for_leave
                && matches!(timeout(DRAIN_TIMEOUT, Limited::new(rest, most).collect()).await, Ok(Ok(_)))
        }
    }
}
