//! One event of a backend and its forms on the wire.

use foundation::time::{Time, format_microseconds};
use serde_json::{Value, json};
use uuid::Uuid;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A request was answered.
    Request,
    /// A request was refused, or went on with another value than the requested one.
    Decision,
    /// An audit entry was written.
    Audit,
    /// A message was queued or sent.
    Message,
}

impl EventKind {
    pub const ALL: [Self; 4] = [Self::Request, Self::Decision, Self::Audit, Self::Message];

    /// Returns the word of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Decision => "decision",
            Self::Audit => "audit",
            Self::Message => "message",
        }
    }

    /// Parses a word of the API; `None` if it is unknown.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Something that happened, without its id.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    pub kind: EventKind,
    /// The time by the clock of the backend.
    pub at: Time,
    pub request_id: String,
    /// The user, if one is known.
    pub user_id: Option<Uuid>,
    /// The members of this kind.
    pub data: Value,
}

/// An event with its id.
///
/// It is kept as text, which takes less memory than its members do.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The id; later events have greater ones.
    pub id: u64,
    pub kind: EventKind,
    /// The user, if one is known.
    pub user_id: Option<Uuid>,
    json: Box<str>,
}

impl Event {
    /// Adds the id to an event.
    pub(super) fn new(id: u64, event: &NewEvent) -> Self {
        let NewEvent { kind, at, request_id, user_id, data } = event;
        let json = json!({
            "id": id,
            "kind": kind.as_str(),
            "at": format_microseconds(*at),
            "request_id": request_id,
            "user_id": user_id,
            "data": data,
        });
        Self { id, kind: *kind, user_id: *user_id, json: json.to_string().into() }
    }

    /// Returns the JSON of the API.
    pub fn as_json(&self) -> &str {
        &self.json
    }

    /// Returns the message of an event stream (`text/event-stream`).
    pub fn to_stream_message(&self) -> String {
        format!("id: {}\nevent: {}\ndata: {}\n\n", self.id, self.kind.as_str(), self.json)
    }
}
