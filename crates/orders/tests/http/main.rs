//! Tests of orders on a database.

mod addresses;
mod certificates;
mod downloads;
mod events;
mod fixture;
mod held;
mod provider_server;
mod providers;
mod routes;
mod statements;
