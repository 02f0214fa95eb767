//! REST API over the tables, views and functions of a PostgreSQL database, as `PostgREST` 14 answers.
//!
//! A request passes through pure steps, then one statement: URL grammar ([`request`]), plan against the schema cache,
//! SQL, execution, response.

pub mod admin;
pub mod config;
pub mod error;
pub mod execute;
pub mod jwt;
pub mod plan;
pub mod request;
pub mod response;
pub mod schema_cache;
pub mod service;
pub mod sql;
pub mod types;
pub mod upkeep;
