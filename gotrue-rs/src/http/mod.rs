//! HTTP without knowledge of flows: request data, bodies, replies, route matching, layers.

pub mod body;
pub mod layers;
pub mod reply;
pub mod request_info;
pub mod request_labels;
mod response_time;
pub mod router;
pub mod security_headers;
