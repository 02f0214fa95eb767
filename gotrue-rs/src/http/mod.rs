//! HTTP without knowledge of handlers: replies, route matching, layers.

pub mod layers;
pub mod reply;
pub mod request_labels;
mod response_time;
pub mod router;
pub mod security_headers;
