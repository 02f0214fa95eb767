//! Basalt: one binary with the auth API, the functions and the shop, and an embedded PostgreSQL.

mod announce;
mod anonymisation_options;
mod api_keys;
mod app;
mod assets;
mod backup;
mod catalogue;
mod cli;
mod clock_steps;
mod config_file;
mod confirmation;
mod content_digest;
mod data_answer;
mod database;
mod database_source;
mod database_tls;
mod database_upgrade;
mod dev;
mod gotrue;
mod key_commands;
mod keys;
mod logging;
mod mailed_links;
mod metrics;
mod operator;
mod order_commands;
mod otlp;
mod outbound;
mod parity;
mod plural;
mod postgrest;
mod problem;
mod product;
mod profiles;
mod progress;
mod project;
mod project_database;
mod project_layout;
mod project_schema;
mod readiness;
mod reload;
mod replicas;
mod router;
mod row_security;
mod schema_difference;
mod scratch_database;
mod seller;
mod serve;
mod served_apis;
mod shutdown;
mod statements;
mod storage;
mod submissions;
mod upkeep;
mod users;

use std::ffi::OsStr;
use std::process::ExitCode;

/// A request allocates a hundred times; this allocator needs less time for it (decision 0136).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() == Some(OsStr::new(embedded_postgres::GUARD_COMMAND)) {
        return embedded_postgres::run_guard(arguments);
    }
    // The whole process uses one cryptographic library; it is installed before the first connection is made.
    if rustls::crypto::aws_lc_rs::default_provider().install_default().is_err() {
        eprintln!("basalt: another cryptographic provider is installed already");
    }
    cli::run()
}
