//! One request at the edge: its form, its body, and whether the connection goes on after it.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::header::{CONNECTION, EXPECT};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body as _, Incoming};
use tokio::time::timeout;

use super::HttpLimits;
use super::body::{ResponseBody, Returned, TimedBody, Unread};
use super::checks;
use super::state::{ConnectionState, Phase};

/// An unread rest of a request's body up to this size is read before the response, so that the connection can go on.
const SMALL_REST: u64 = 64 << 10;
/// How long that may take; one that has arrived already takes no time.
const SMALL_REST_WITHIN: Duration = Duration::from_millis(500);

/// Answers one request of the connection.
pub async fn answer<A, F>(
    request: hyper::Request<Incoming>,
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
    let returned = Returned::default();
    let refused = checks::refusal(&request);
    let is_refused = refused.is_some();
    let request = request.map(|body| TimedBody::wrap(body, limits.body_timeout, &returned));
    let mut response = match refused {
        Some(refusal) => {
            drop(request);
            refusal
        }
        None => answer(request).await,
    };
    let is_read = is_read(&returned, waits_for_leave).await;
    if !is_read {
        state.linger();
    }
    if !is_read || is_last || is_refused {
        response.headers_mut().insert(CONNECTION, http::HeaderValue::from_static("close"));
    }
    response.map(|body| Body::new(ResponseBody::new(body, state)))
}

/// Whether all of the request has been read; a small rest is read now, unless the client waits for leave to send it.
async fn is_read(returned: &Returned, waits_for_leave: bool) -> bool {
    let unread = std::mem::take(&mut *returned.lock().unwrap_or_else(PoisonError::into_inner));
    match unread {
        Unread::Nothing => true,
        Unread::Held | Unread::Lost => false,
        Unread::Rest(rest) => {
            let is_small = rest.size_hint().upper().is_some_and(|size| size <= SMALL_REST);
            let most = usize::try_from(SMALL_REST).unwrap_or(usize::MAX);
            is_small
                && !waits_for_leave
                && matches!(timeout(SMALL_REST_WITHIN, Limited::new(rest, most).collect()).await, Ok(Ok(_)))
        }
    }
}
