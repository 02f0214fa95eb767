//! The functions over HTTP: requests in, answers out.

mod gateway;
mod submission_cases;
mod support;
