//! Tests of the binary with an embedded database.

mod bench;
mod check;
mod command_line;
mod configured_limits;
mod database;
mod database_port;
mod database_url;
mod development_pages;
mod disconnects;
mod drop_in;
mod edge;
mod faults;
mod files;
mod operator;
mod project_files;
mod project_schema;
mod reload;
mod router;
mod shipped_config;
mod shutdown;
mod social;
mod support;
mod test_mode;
mod timing;
mod users;
mod worlds;
