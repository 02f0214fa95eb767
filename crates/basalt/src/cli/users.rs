//! `basalt users`: definitions of the account commands.

use clap::{Args, Subcommand};

use super::process::build_runtime;
use crate::logging;
use crate::users::{
    self, AddArguments, BanArguments, DatabaseArguments, DeleteArguments, ExportArguments, ImportArguments,
    ListArguments, ShowArguments, UserDatabase,
};

const EXAMPLES: &str = "Examples:
  basalt users add ann@example.com --confirmed --password-stdin < password.txt
  basalt users list --filter example.com
  basalt users show ann@example.com
  basalt users ban ann@example.com --for 24h
  basalt users export users.jsonl
  basalt users export users.jsonl --anonymise
  basalt users import users.jsonl --dry-run
  basalt users import auth-export.json --firebase-signer-key KEY --firebase-salt-separator Bw==
  basalt users import export.jsonl hashes.jsonl
  basalt users import firebase.json --provider oidc.okta=custom:okta

These commands work with and without a running `basalt serve`. --database-url selects another database, such as that of
a Supabase project.";

const IMPORT_HELP: &str = "Import accounts from files

Exports of Supabase, Firebase, Auth0, Clerk and PocketBase are recognised, as JSON, CSV or a dump as SQL, also gzipped or in
UTF-16. Auth0's accounts and hashes are joined, in any order: basalt users import export.jsonl hashes.jsonl

The native format has one account per line, as JSON: the columns of auth.users with identities, factors,
passkeys and recovery_codes nested. An address or a number is enough; everything else is optional:

  {\"email\": \"ann@example.com\", \"email_verified\": true, \"password_hash\": \"$2b$10$…\", \"user_metadata\": {\"name\": \"Ann\"}}

Password hashes: bcrypt, Argon2, and Firebase's scrypt. A line that cannot be stored is reported with its number and
skipped. An import can be repeated: existing accounts are left unchanged, except that accounts of other services get what an
earlier import did not have. Accounts are stored in batches of 1000.";

/// The arguments of `basalt users`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct UsersArguments {
    #[command(flatten)]
    database: DatabaseArguments,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create an account
    Add(AddArguments),
    /// List accounts, newest first
    List(ListArguments),
    /// Show everything about an account except its password hash
    Show(ShowArguments),
    /// Ban an account from signing in, or lift the ban
    Ban(BanArguments),
    /// Delete an account and all its data
    Delete(DeleteArguments),
    /// Import accounts from files
    #[command(long_about = IMPORT_HELP)]
    Import(ImportArguments),
    /// Export all accounts to a file, with their password hashes: one per line, as JSON
    ///
    /// Values that the server has encrypted with an operator's key stay encrypted; importing them requires that key.
    Export(ExportArguments),
}

/// Runs an account command.
pub(super) fn run(arguments: UsersArguments) -> anyhow::Result<()> {
    logging::start("warn", crate::config_file::LogFormat::Text, None)?;
    build_runtime()?.block_on(async {
        let database = UserDatabase::connect(&arguments.database).await?;
        let outcome = match arguments.action {
            Action::Add(arguments) => users::add(&database, &arguments).await,
            Action::List(arguments) => users::list(&database, &arguments).await,
            Action::Show(arguments) => users::show(&database, &arguments).await,
            Action::Ban(arguments) => users::ban(&database, &arguments).await,
            Action::Delete(arguments) => users::delete(&database, &arguments).await,
            Action::Import(arguments) => users::import(&database, &arguments).await,
            Action::Export(arguments) => users::export(&database, &arguments).await,
        };
        database.close().await?;
        outcome
    })
}
