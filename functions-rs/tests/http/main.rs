//! Tests of the functions over HTTP.

mod gateway;
mod observability;
mod shop;
mod submission_cancelled;
mod submission_cases;
mod submission_faults;
mod submission_handling;
mod submission_jobs;
mod submission_limits;
mod submission_spam;
mod submissions;
mod support;
mod tokens;
