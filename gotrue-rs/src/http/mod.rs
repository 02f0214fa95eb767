//! HTTP without any knowledge of flows: requests as facts, bodies, replies, the walk through the route table, layers.

pub mod body;
pub mod cors;
pub mod layers;
pub mod reply;
pub mod request_info;
pub mod router;
pub mod security_headers;
