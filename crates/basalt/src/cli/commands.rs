//! The commands of the command line.

use clap::{Parser, Subcommand};

use super::{
    backup, check, completions, db, desk, exec, gen_types, gotrue, healthcheck, init, keys, migration, orders, parity,
    postgrest, record, replay, serve, status, storage, submissions, users,
};

/// Supabase-compatible auth, data, storage and functions APIs in one binary, with an embedded database.
#[derive(Debug, Parser)]
#[command(name = "basalt", version, propagate_version = true, after_help = EXAMPLES)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const SERVE_HELP: &str = "Serve auth, data, storage and functions APIs and the shop, as configured in config.toml

Without DATABASE_URL an embedded PostgreSQL is started: from PG_BIN_DIR, the npm package below crates/basalt/postgres, or the
system's packages (15 or newer). In development it listens on [db] port of 127.0.0.1, by default 54322, otherwise on no port. It
stops with this process. Migrations and seed files of the project are applied to it, each once. The shop is served if the
configuration has the table [basalt.shop].";

const EXEC_HELP: &str = "Run a command, such as a test suite, with a test server of its own

The server starts on free ports with an empty database, and ends with the command, whose exit status is returned. The
command finds it by SUPABASE_URL, SUPABASE_ANON_KEY, SUPABASE_PUBLISHABLE_KEY, SUPABASE_SERVICE_ROLE_KEY, SUPABASE_SECRET_KEY,
SUPABASE_JWT_SECRET and DATABASE_URL, and the test API by BASALT_TEST_URL and BASALT_TEST_KEY. Public values of Supabase are
also there with the prefixes VITE_ and NEXT_PUBLIC_.";

const EXAMPLES: &str = "Examples:
  basalt init                               write a first supabase/config.toml
  basalt serve                              all APIs on http://127.0.0.1:54321
  basalt exec -- npm test                   run a test suite with a server of its own
  basalt serve --test --port 0 --json       a server for a test suite; prints its URLs and keys
  basalt status                             print the URLs and keys again
  basalt backup shop.tar.gz                 back up the embedded database while it is in use
  basalt restore shop.tar.gz --data DIR     restore it into a new folder
  basalt migration new create_notes         create an empty migration
  basalt db migrate                         apply new migrations to the database
  basalt db diff                            print what was changed in the database without a migration
  basalt db extensions                      list the extensions of the project, and what installs missing ones
  basalt db reset                           recreate the embedded database from migrations and seed files
  basalt db upgrade                         move the embedded database to a newer PostgreSQL
  basalt submissions list --status new      list what visitors of the shop sent
  basalt users import users.jsonl           import users with their password hashes
  basalt orders list                        list the orders of the shop
  basalt desk link                          print the link that makes the owner of the shop's desk
  basalt record --upstream URL --out flows  record the requests of an application
  basalt replay flows                       replay them and report every difference
  basalt keys add signing                   begin the rotation of the signing key
  basalt gen types > database.types.ts      types of tables and functions for supabase-js
  basalt gotrue                             the auth server alone, configured by GOTRUE_* variables
  basalt postgrest postgrest.conf           the data API alone, configured as PostgREST is
  basalt storage                            the storage API alone, configured as Supabase Storage is
  basalt storage seed                       create the buckets of config.toml and upload their objects
  basalt parity --compose FILE              what becomes of a self-hosted Supabase
  basalt completions bash                   completions of commands and options for a shell

--config, --data, --database-url and --json may be given before or after the command. A command that cannot use one of them
refuses it; its help lists those that it uses.";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Serve auth, data, storage and functions APIs and the shop, as configured in config.toml
    ///
    #[command(long_about = SERVE_HELP)]
    Serve(serve::ServeArguments),
    /// Run a command, such as a test suite, with a test server of its own
    #[command(long_about = EXEC_HELP)]
    Exec(exec::ExecArguments),
    /// Print the URLs and keys of this project; exit status 3 if no server runs
    Status(status::StatusArguments),
    /// Read config.toml and report everything that is wrong with it or will fail later
    Check(check::ConfigCheckArguments),
    /// Ask a running server whether it is ready; exit status 0 or 1
    Healthcheck(healthcheck::HealthcheckArguments),
    /// Write a first supabase/config.toml
    Init(init::InitArguments),
    /// Generate types for tables and functions of the database
    Gen(gen_types::GenArguments),
    /// Migrate, compare, recreate or upgrade the database, list its extensions, or anonymise a copy of it
    Db(db::DbArguments),
    /// Create files of migrations
    Migration(migration::MigrationArguments),
    /// Back up the embedded database and the data folder into one file, while the server runs
    #[command(long_about = backup::BACKUP_HELP)]
    Backup(backup::BackupArguments),
    /// Restore a backup into a new data folder
    #[command(long_about = backup::RESTORE_HELP)]
    Restore(backup::RestoreArguments),
    /// Run as a drop-in replacement for GoTrue: GOTRUE_* variables, auth API at the root path
    ///
    /// Without a command: migrate, then serve.
    Gotrue(gotrue::GotrueArguments),
    /// Run as a drop-in replacement for PostgREST: PGRST_* variables, data API at the root path
    #[command(long_about = postgrest::POSTGREST_HELP)]
    Postgrest(postgrest::PostgrestArguments),
    /// Run as a drop-in replacement for Supabase Storage: its variables, storage API at the root path
    #[command(long_about = storage::STORAGE_HELP)]
    Storage(storage::StorageArguments),
    /// Print the link that makes the owner of the shop's desk
    Desk(desk::DeskArguments),
    /// Add, rotate and retire signing keys and API keys while servers run
    Keys(keys::KeysArguments),
    /// Report what becomes of the settings and data of an installation of Supabase
    #[command(long_about = parity::PARITY_HELP)]
    Parity(parity::ParityArguments),
    /// Record the requests of an application as flows that can be replayed
    #[command(long_about = record::RECORD_HELP)]
    Record(record::RecordArguments),
    /// Replay recorded flows and report every difference
    #[command(long_about = replay::REPLAY_HELP)]
    Replay(replay::ReplayArguments),
    /// List, search, show, export and delete what visitors of the shop sent
    Submissions(submissions::SubmissionsArguments),
    /// Create, find, ban and delete accounts; import and export them
    Users(users::UsersArguments),
    /// List orders of the shop, mail new download links, refund
    Orders(orders::OrdersArguments),
    /// Print the completions of commands and options for a shell
    Completions(completions::CompletionArguments),
    /// Write manual pages, one for each command
    Manual(completions::ManualArguments),
}
