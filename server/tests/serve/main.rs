//! The real binary with a database of its own.

mod command_line;
mod database;
mod database_url;
mod development_pages;
mod disconnects;
mod door;
mod drop_in;
mod edge;
mod ending;
mod faults;
mod files;
mod operator;
mod reload;
mod shipped_config;
mod support;
mod timing;
mod users;
