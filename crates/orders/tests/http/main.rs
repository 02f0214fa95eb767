//! Tests of orders on a database.

mod certificates;
mod downloads;
mod events;
mod fixture;
mod held;
mod provider_server;
mod providers;
mod statements;
