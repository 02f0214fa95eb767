//! Messages kept for development and tests: their API, Mailpit's and Inbucket's, and the inbox page.
//!
//! [`MessageStore`] reads the messages of one backend: rows of the outbox in its database. Everything else answers
//! requests with it. Whoever serves these answers authorizes the requests.

pub mod api;
mod content;
mod message;
pub mod mime;
mod query;
mod response;
mod store;

pub use self::message::{Channel, Message};
pub use self::store::{Cursor, MessageQuery, MessageSender, MessageStore, StoreError};
