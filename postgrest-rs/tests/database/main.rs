//! The API over a real database.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail the test")]

mod api;
mod calls;
mod cluster;
mod connections;
mod details;
mod differential;
mod geojson;
mod hostile;
mod large;
mod limits;
mod poolers;
mod recordings;
mod reload;
mod robustness;
mod schema_size;
mod tls;
mod types;
mod writes;
