//! Tracing spans of requests, statements and outbound calls, and the log of failures.

mod outbound;
mod requests;
mod secrets;
mod statements;
