//! The events of a world, as a list or as a stream.

use std::time::Duration;

use axum::body::Body;
use axum::extract::RawQuery;
use axum::response::Response;
use bytes::Bytes;
use futures::stream;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_edge::request::single_header;
use platform::events::{EventFilter, EventKind, EventLog, EventSubscriber};
use platform::nearest::format_suggestion;
use platform::request_info::parse_pairs;

use super::call::{InWorld, WorldPath};
use super::document::Refusal;
use super::{response, schemas};
use crate::TestApiError;

/// The longest time that a call waits.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// After so long without an event a stream sends a comment, which keeps the connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const HINT: &str = "the parameters are after, kind, user and wait";

/// The query of a call.
#[derive(Debug, Default)]
struct EventQuery {
    after: u64,
    filter: EventFilter,
    wait: Duration,
}

/// Lists events, oldest first; as `text/event-stream` they are a stream.
#[utoipa::path(
    get, path = "/worlds/{id}/events", tag = "events", params(WorldPath, schemas::EventParameters),
    responses(
        (
            status = 200, description = "The events",
            content((schemas::EventList = "application/json"), (String = "text/event-stream"))
        ),
        Refusal
    )
)]
pub(super) async fn list_events(
    InWorld(world): InWorld,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, TestApiError> {
    let log = &world.events;
    let EventQuery { after, filter, wait } = EventQuery::parse(query.as_deref().unwrap_or_default(), log)?;
    if single_header(&headers, &ACCEPT).present().is_some_and(|accepts| accepts.contains("text/event-stream")) {
        return Ok(stream_response(log.subscribe(after, filter)));
    }
    let found = log.wait(after, filter, wait).await;
    let events: Vec<&str> = found.iter().map(|event| event.as_json()).collect();
    Ok(response::json_text(StatusCode::OK, format!("{{\"events\":[{}]}}", events.join(","))))
}

impl EventQuery {
    fn parse(query: &str, log: &EventLog) -> Result<Self, TestApiError> {
        let invalid = |name: &str, wanted: &str| TestApiError::bad_request(format!("{name}: {wanted}"), HINT);
        let mut parsed = Self::default();
        for (name, value) in parse_pairs(query) {
            match name.as_str() {
                "after" if value == "now" => parsed.after = log.latest_id(),
                "after" => {
                    parsed.after =
                        value.parse().map_err(|_| invalid("after", "the id of an event, or now, is wanted"))?;
                }
                "kind" => {
                    let kinds = EventKind::ALL.map(EventKind::as_str);
                    let kind = EventKind::parse(&value).ok_or_else(|| {
                        let suggestion = format_suggestion(&value, kinds);
                        invalid("kind", &format!("one of {} is wanted{suggestion}", kinds.join(", ")))
                    })?;
                    parsed.filter.kind = Some(kind);
                }
                "user" => {
                    let id = value.parse().map_err(|_| invalid("user", "the id of a user is wanted"))?;
                    parsed.filter.user_id = Some(id);
                }
                "wait" => {
                    let seconds = value.parse().map_err(|_| invalid("wait", "a whole number of seconds is wanted"))?;
                    parsed.wait = Duration::from_secs(seconds).min(MAX_WAIT);
                }
                _ => {
                    let suggestion = format_suggestion(&name, ["after", "kind", "user", "wait"]);
                    return Err(invalid("query", &format!("there is no such parameter{suggestion}")));
                }
            }
        }
        Ok(parsed)
    }
}

fn stream_response(subscriber: EventSubscriber) -> Response {
    let parts = stream::unfold(subscriber, |mut subscriber| async {
        let part = match subscriber.next(KEEP_ALIVE).await {
            Some(event) => event.to_stream_message(),
            None => ":\n\n".to_owned(),
        };
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(part)), subscriber))
    });
    let mut response = Response::new(Body::from_stream(parts));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}
