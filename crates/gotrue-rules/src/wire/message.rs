//! Response of requests that send a message.

use serde::Serialize;

/// An empty object, or the id of the message.
#[derive(Debug, Default, Serialize)]
pub struct MessageSentJson {
    /// The id of an SMS; only for numbers with a fixed code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
}
