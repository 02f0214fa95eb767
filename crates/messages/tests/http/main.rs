//! Tests of the kept messages on a real table.

mod api;
mod fixture;
mod mailbox_apis;
mod mime;
mod smtp;
mod websockets;
