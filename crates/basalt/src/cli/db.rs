//! `basalt db`: commands for whole databases.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::db_anonymise::{self, ANONYMISE_HELP};
use super::db_diff::{self, DIFF_HELP};
use super::db_extensions::{self, EXTENSIONS_HELP};
use super::db_migrate::{self, MIGRATE_HELP};
use super::db_reset::{self, RESET_HELP};
use super::db_upgrade::{self, UPGRADE_HELP};

/// The arguments of `basalt db`.
#[derive(Debug, Args)]
pub(super) struct DbArguments {
    #[command(subcommand)]
    action: DbAction,
}

#[derive(Debug, Subcommand)]
enum DbAction {
    /// Apply the migrations and seed files that have not run yet
    #[command(long_about = MIGRATE_HELP)]
    Migrate(db_migrate::MigrateArguments),
    /// Print the SQL that makes the migrations equal to the database
    #[command(long_about = DIFF_HELP)]
    Diff(db_diff::DiffArguments),
    /// Delete the embedded database with all its data, and create it again from migrations and seed files
    #[command(long_about = RESET_HELP)]
    Reset(db_reset::ResetArguments),
    /// Move the embedded database to the newest major release of PostgreSQL on this machine
    #[command(long_about = UPGRADE_HELP)]
    Upgrade(db_upgrade::UpgradeArguments),
    /// List the extensions that the project uses, and install those that are missing
    #[command(long_about = EXTENSIONS_HELP)]
    Extensions(db_extensions::ExtensionsArguments),
    /// Replace personal data in a copy of a database by pseudonyms, and remove tokens and secrets
    #[command(long_about = ANONYMISE_HELP)]
    Anonymise(db_anonymise::AnonymiseArguments),
}

/// Runs a command for a database.
pub(super) fn run(arguments: &DbArguments) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        DbAction::Migrate(arguments) => db_migrate::run(arguments),
        DbAction::Diff(arguments) => db_diff::run(arguments),
        DbAction::Reset(arguments) => db_reset::run(arguments),
        DbAction::Upgrade(arguments) => db_upgrade::run(arguments).map(|()| ExitCode::SUCCESS),
        DbAction::Extensions(arguments) => db_extensions::run(arguments),
        DbAction::Anonymise(arguments) => db_anonymise::run(arguments).map(|()| ExitCode::SUCCESS),
    }
}
