//! The command line: definitions of the commands and their dispatch.

mod backup;
mod check;
mod check_space;
mod commands;
mod completions;
mod db;
mod db_anonymise;
mod db_diff;
mod db_extensions;
mod db_migrate;
mod db_reset;
mod db_upgrade;
mod definition;
mod desk;
mod examples;
mod exec;
mod gen_types;
mod gotrue;
mod healthcheck;
mod init;
mod keys;
mod migration;
mod orders;
mod other_names;
mod parity;
mod postgrest;
mod process;
mod record;
mod replay;
mod replay_project;
mod serve;
mod status;
mod storage;
mod submissions;
mod users;

use std::process::ExitCode;

use crate::config_file::replace_setting_names;
use commands::Command;

/// Runs the command of the arguments.
pub(crate) fn run() -> ExitCode {
    let command = definition::parse().command;
    // Only the drop-in replacement is configured by the variables of the auth server.
    let rename = if matches!(
        command,
        Command::Gotrue(_) | Command::Postgrest(_) | Command::Storage(_) | Command::Keys(_) | Command::Parity(_)
    ) {
        str::to_owned
    } else {
        replace_setting_names
    };
    let outcome = match command {
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Exec(arguments) => exec::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Healthcheck(arguments) => healthcheck::run(&arguments),
        Command::Init(arguments) => init::run(&arguments).map(succeed),
        Command::Gen(arguments) => gen_types::run(&arguments).map(succeed),
        Command::Db(arguments) => db::run(&arguments),
        Command::Migration(arguments) => migration::run(&arguments).map(succeed),
        Command::Backup(arguments) => backup::run(&arguments).map(succeed),
        Command::Restore(arguments) => backup::run_restore(arguments).map(succeed),
        Command::Gotrue(arguments) => gotrue::run(&arguments).map(succeed),
        Command::Postgrest(arguments) => postgrest::run(&arguments),
        Command::Storage(arguments) => storage::run(arguments),
        Command::Desk(arguments) => desk::run(&arguments).map(succeed),
        Command::Keys(arguments) => keys::run(&arguments).map(succeed),
        Command::Parity(arguments) => parity::run(&arguments),
        Command::Record(arguments) => record::run(&arguments).map(succeed),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Submissions(arguments) => submissions::run(arguments).map(succeed),
        Command::Users(arguments) => users::run(arguments).map(succeed),
        Command::Orders(arguments) => orders::run(arguments).map(succeed),
        Command::Completions(arguments) => completions::run(&arguments, definition::build()).map(succeed),
        Command::Manual(arguments) => completions::run_manual(&arguments, definition::build()).map(succeed),
    };
    process::report_outcome(outcome, rename)
}

/// Returns the exit status of a command that has no other than success.
fn succeed((): ()) -> ExitCode {
    ExitCode::SUCCESS
}
