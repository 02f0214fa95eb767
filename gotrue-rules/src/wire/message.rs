//! What a request for a message is answered with.

use serde::Serialize;

/// An empty object, or the message's id.
#[derive(Debug, Default, Serialize)]
pub struct SentJson {
    /// The id of a text, told only of numbers with a fixed code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
}
