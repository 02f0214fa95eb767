//! HTTP without knowledge of handlers: replies, route matching, layers.

pub mod layers;
pub mod reply;
pub mod request_labels;
mod response_time;
pub mod route_handler;
pub mod router;
pub mod security_headers;
