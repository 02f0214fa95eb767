//! The API over a real database and a real folder.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail the test")]

mod anonymise;
mod answers;
mod api;
#[path = "../../../postgrest-rs/tests/database/cluster.rs"]
mod cluster;
mod concurrency;
mod first_list;
mod fuzz;
mod leftovers;
mod limits;
mod lists;
mod moves;
mod multipart;
mod normalisation;
mod policies;
mod recordings;
mod remote;
mod s3_lists;
mod seeds;
mod signature;
mod signed_requests;
mod statements;
mod steps;
mod sub_resources;
