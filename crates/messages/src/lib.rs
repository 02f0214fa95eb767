//! Messages kept for development and tests: their API, Mailpit's and Inbucket's, and the inbox page.
//!
//! [`MessageStore`] reads the messages of one backend: rows of the outbox in its database. Everything else answers
//! requests with it. The server that mounts them authorizes the requests.

mod addresses;
pub mod api;
mod api_error;
mod content;
mod inbucket;
mod kind;
mod mail_feed;
pub mod mailbox_apis;
mod mailbox_request;
mod mailpit;
mod message;
pub mod mime;
mod monitors;
mod query;
mod received;
mod response;
pub mod smtp;
mod store;
pub mod websocket;

pub use self::message::{Channel, Message};
pub use self::store::{Cursor, MessageQuery, MessageSender, MessageStore, StoreError};
