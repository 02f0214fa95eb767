//! JSON shapes and how bodies are read.

pub mod error;
pub mod go_json;
pub mod requests;
