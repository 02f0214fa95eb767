//! `basalt users`: definitions of the account commands.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{ProjectArguments, build_runtime};
use crate::logging;
use crate::users::{self, UserDatabase};

const EXAMPLES: &str = "Examples:
  basalt users add ann@example.com --confirmed --password-stdin < password.txt
  basalt users list --filter example.com
  basalt users show ann@example.com
  basalt users ban ann@example.com --for 24h
  basalt users export people.jsonl
  basalt users import people.jsonl --dry-run
  basalt users import auth-export.json --format firebase --firebase-signer-key KEY --firebase-salt-separator Bw==

These commands work with and without a running `basalt serve`. --database-url selects another database, such as that of
a Supabase project.";

const IMPORT_HELP: &str = "Import accounts from a file

The native format has one account per line, as JSON: the columns of auth.users with identities, factors and passkeys
nested. An address or a number is enough; everything else is optional:

  {\"email\": \"ann@example.com\", \"email_verified\": true, \"password_hash\": \"$2b$10$…\", \"user_metadata\": {\"name\": \"Ann\"}}

Password hashes: bcrypt, Argon2, and Firebase's scrypt. A line that cannot be stored is reported with its number and
skipped; existing accounts are left unchanged, so an import can be repeated. Accounts are stored in batches of 1000.";

/// The arguments of `basalt users`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct UsersArguments {
    #[command(flatten)]
    database: DatabaseArguments,
    #[command(subcommand)]
    action: Action,
}

/// The database of the accounts.
#[derive(Debug, Args)]
pub struct DatabaseArguments {
    #[command(flatten)]
    pub project: ProjectArguments,
    /// The database [default: the project's own, or `DATABASE_URL`]
    #[arg(long, value_name = "URL", global = true, hide_env_values = true)]
    pub database_url: Option<String>,
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
    /// Import accounts from a file
    #[command(long_about = IMPORT_HELP)]
    Import(ImportArguments),
    /// Export all accounts to a file, with their password hashes: one per line, as JSON
    ///
    /// Values that the server has encrypted with an operator's key stay encrypted; importing them requires that key.
    Export(ExportArguments),
}

/// Arguments of `add`.
#[derive(Debug, Args)]
pub struct AddArguments {
    /// An e-mail address, or a phone number with a leading +
    #[arg(value_name = "CONTACT")]
    pub contact: String,
    /// Read the password from standard input; without one the account signs in by mail or SMS
    #[arg(long)]
    pub password_stdin: bool,
    /// Mark the address or number as confirmed
    #[arg(long)]
    pub confirmed: bool,
    /// The account's user metadata
    #[arg(long, value_name = "JSON")]
    pub data: Option<String>,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Only accounts whose address or name contains this text
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub filter: String,
    /// Maximum number of accounts to list
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: u32,
    /// Print one account per line, as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// An e-mail address, a phone number or an id
    #[arg(value_name = "WHO")]
    pub who: String,
}

/// Arguments of `ban`.
#[derive(Debug, Args)]
pub struct BanArguments {
    /// An e-mail address, a phone number or an id
    #[arg(value_name = "WHO")]
    pub who: String,
    /// Duration of the ban: 30m, 24h, 720h …
    #[arg(long = "for", value_name = "TIME", default_value = "876000h", hide_default_value = true)]
    pub duration: String,
    /// Lift the ban
    #[arg(long, conflicts_with = "duration")]
    pub lift: bool,
}

/// Arguments of `delete`.
#[derive(Debug, Args)]
pub struct DeleteArguments {
    /// An e-mail address, a phone number or an id
    #[arg(value_name = "WHO")]
    pub who: String,
    /// Keep the row without any personal data
    #[arg(long)]
    pub soft: bool,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
}

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// The file, plain or gzipped; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The format of the file [default: detected from its beginning]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ImportFormat>,
    /// Report what an import would do, without storing anything
    #[arg(long)]
    pub dry_run: bool,
    /// Firebase's `base64_signer_key`
    #[arg(long, value_name = "BASE64", hide_env_values = true, env = "FIREBASE_SIGNER_KEY")]
    pub firebase_signer_key: Option<String>,
    /// Firebase's `base64_salt_separator`
    #[arg(long, value_name = "BASE64", default_value = "Bw==")]
    pub firebase_salt_separator: String,
    /// Firebase's rounds
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub firebase_rounds: u32,
    /// Firebase's `mem_cost`
    #[arg(long, value_name = "N", default_value_t = 14)]
    pub firebase_mem_cost: u32,
}

/// The format of an import file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// `basalt users export`: one account per line, as JSON
    Basalt,
    /// A dump of a Supabase project's data: `pg_dump` or `supabase db dump --data-only`, as SQL
    Supabase,
    /// `firebase auth:export --format=json`
    Firebase,
    /// The export job of Auth0, or the password hashes from its support: one account per line, as JSON
    Auth0,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The file, created readable by its owner only; - for standard output
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

/// Runs an account command.
pub fn run(arguments: UsersArguments) -> anyhow::Result<()> {
    logging::start("warn", crate::config_file::LogFormat::Text, None)?;
    build_runtime()?.block_on(async {
        let database = UserDatabase::connect(&arguments.database).await?;
        let outcome = match arguments.action {
            Action::Add(it) => users::add(&database, &it).await,
            Action::List(it) => users::list(&database, &it).await,
            Action::Show(it) => users::show(&database, &it).await,
            Action::Ban(it) => users::ban(&database, &it).await,
            Action::Delete(it) => users::delete(&database, &it).await,
            Action::Import(it) => users::import(&database, &it).await,
            Action::Export(it) => users::export(&database, &it).await,
        };
        database.close().await?;
        outcome
    })
}
