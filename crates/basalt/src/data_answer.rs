//! Answers of the data API over HTTP: large ones from files, none for clients that have left.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use http_edge::ClientPresence;
use http_edge::request::{BODY_DEADLINE, BodyError, read_body};
use postgrest_rs::error::Error;
use postgrest_rs::response;
use postgrest_rs::service::DataApi;

/// How long a statement goes on after its client has left.
///
/// Cancelling costs a connection to the database, which clients that leave at once could cause over and over.
const GRACE_PERIOD: Duration = Duration::from_millis(250);

/// The time that a body may take to arrive: large inserts take longer than requests to the auth API.
const BODY_LIMIT: Duration = BODY_DEADLINE.saturating_mul(6);

/// Answers a request. When its client leaves, its statement is cancelled.
pub(crate) async fn answer(api: &DataApi, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let maximum = api.config().server_max_body_size;
    match read_body(body, maximum, BODY_LIMIT).await {
        Ok(body) => answer_whole(api, &parts, body).await,
        Err(error) => refuse_body(error, maximum),
    }
}

/// The answer to a body that did not arrive whole, or has more than `maximum` bytes.
fn refuse_body(error: BodyError, maximum: usize) -> Response {
    let mut refused = match error {
        BodyError::TooLarge => Error::body_too_large(maximum),
        BodyError::TooSlow => Error::invalid_body("The body did not arrive in time"),
        BodyError::Incomplete => Error::invalid_body("The body is incomplete"),
    };
    refused.status = error.status().as_u16();
    into_http(refused.into_reply().into_response())
}

async fn answer_whole(api: &DataApi, parts: &Parts, body: Bytes) -> Response {
    let presence = parts.extensions.get::<ClientPresence>().cloned();
    let gone = async {
        match presence {
            Some(presence) => presence.wait_until_gone().await,
            None => std::future::pending().await,
        }
        tokio::time::sleep(GRACE_PERIOD).await;
    };
    tokio::select! {
        biased;
        response = api.handle(parts, body) => into_http(response),
        () = gone => {
            // No client receives it.
            let mut response = Response::default();
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            response
        }
    }
}

fn into_http(response: http::Response<response::Body>) -> Response {
    let (mut parts, body) = response.into_parts();
    let body = match body {
        response::Body::Whole(bytes) => Body::from(bytes),
        response::Body::Spooled(spool) => {
            parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(spool.length()));
            Body::from_stream(spool.into_stream())
        }
    };
    Response::from_parts(parts, body)
}
