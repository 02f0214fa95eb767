//! Answers of the data API over HTTP: large ones from files, none for clients that have left.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use http_edge::ClientPresence;
use postgrest_rs::response;
use postgrest_rs::service::DataApi;

/// How long a statement goes on after its client has left.
///
/// Cancelling costs a connection to the database, which clients that leave at once could cause over and over.
const GRACE_PERIOD: Duration = Duration::from_millis(250);

/// Answers a request. When its client leaves, its statement is cancelled.
pub(crate) async fn answer(api: &DataApi, parts: &Parts, body: Bytes) -> Response {
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
