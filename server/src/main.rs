//! Basalt: one program for the auth API, the functions and the shop, with a database of its own.

mod announce;
mod api_keys;
mod assets;
mod cli;
mod config_file;
mod data_folder;
mod database;
mod dev;
mod embedded_postgres;
mod front;
mod gotrue;
mod logging;
mod metrics;
mod operator;
mod outside;
mod profiles;
mod reload;
mod serve;
mod shutdown;
mod upkeep;
mod users;

use std::ffi::OsStr;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() == Some(OsStr::new(embedded_postgres::GUARD_COMMAND)) {
        return embedded_postgres::run_guard(arguments);
    }
    // One library for all cryptography, chosen before the first connection is made.
    if rustls::crypto::aws_lc_rs::default_provider().install_default().is_err() {
        eprintln!("basalt: another cryptographic provider is installed already");
    }
    cli::run()
}
