//! Tests of orders on a database.

mod events;
mod fixture;
mod provider_server;
mod providers;
mod statements;
