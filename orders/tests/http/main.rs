//! Tests of orders on a database.

mod events;
mod fixture;
mod statements;
