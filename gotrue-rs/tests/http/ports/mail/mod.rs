//! Mail: links, texts, bytes, and the way to a server.

mod addresses;
mod branded;
mod compose;
mod delivery;
mod link;
mod plain;
pub(crate) mod server;
mod smtp;
mod template;
mod template_check;
