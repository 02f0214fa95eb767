//! `basalt users`: what can be asked of the accounts on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{ProjectArguments, runtime};
use crate::logging;
use crate::users::{self, Place};

const EXAMPLES: &str = "Examples:
  basalt users add ann@example.com --confirmed --password-stdin < password.txt
  basalt users list --filter example.com
  basalt users show ann@example.com
  basalt users ban ann@example.com --for 24h
  basalt users export people.jsonl
  basalt users import people.jsonl --dry-run
  basalt users import auth-export.json --format firebase --firebase-signer-key KEY --firebase-salt-separator Bw==

They work beside a running `basalt serve` and without one. --database-url asks another database, such as that of a
Supabase project.";

const IMPORT: &str = "Bring accounts in from a file

A file of our own has one account a line, as JSON: the columns of auth.users with identities, factors and passkeys
inside. An address or a number is enough; everything else may be left out:

  {\"email\": \"ann@example.com\", \"email_verified\": true, \"password_hash\": \"$2b$10$…\", \"user_metadata\": {\"name\": \"Ann\"}}

Password hashes: bcrypt, Argon2, and Firebase's scrypt. A line that cannot be stored is reported with its number and
skipped; who is there already is left as they are, so an import can be repeated. The rest is stored a thousand at a time.";

/// The arguments of `basalt users`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct UsersArguments {
    #[command(flatten)]
    place: PlaceArguments,
    #[command(subcommand)]
    action: Action,
}

/// Where the accounts are.
#[derive(Debug, Args)]
pub struct PlaceArguments {
    #[command(flatten)]
    pub project: ProjectArguments,
    /// The database to ask [default: the project's own, or `DATABASE_URL`]
    #[arg(long, value_name = "URL", global = true, hide_env_values = true)]
    pub database_url: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make an account
    Add(AddArguments),
    /// List accounts, newest first
    List(ListArguments),
    /// Show everything about an account, its password's hash excepted
    Show(ShowArguments),
    /// Keep an account from signing in, or let it in again
    Ban(BanArguments),
    /// Delete an account and all that belongs to it
    Delete(DeleteArguments),
    /// Bring accounts in from a file
    #[command(long_about = IMPORT)]
    Import(ImportArguments),
    /// Write all accounts to a file, with their password hashes: one a line, as JSON
    ///
    /// What the server has sealed with a key of the operator's stays sealed, and needs that key where it is brought in.
    Export(ExportArguments),
}

/// `add`.
#[derive(Debug, Args)]
pub struct AddArguments {
    /// An e-mail address, or a phone number with + in front
    #[arg(value_name = "CONTACT")]
    pub contact: String,
    /// Read the password from standard input; without one the account signs in by mail or text
    #[arg(long)]
    pub password_stdin: bool,
    /// The address or number counts as confirmed
    #[arg(long)]
    pub confirmed: bool,
    /// What the account's own metadata say
    #[arg(long, value_name = "JSON")]
    pub data: Option<String>,
}

/// `list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Only accounts with this in their address or name
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub filter: String,
    /// Most accounts to list
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: u32,
    /// One account a line, as JSON
    #[arg(long)]
    pub json: bool,
}

/// `show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// An e-mail address, a phone number or an id
    #[arg(value_name = "WHO")]
    pub who: String,
}

/// `ban`.
#[derive(Debug, Args)]
pub struct BanArguments {
    /// An e-mail address, a phone number or an id
    #[arg(value_name = "WHO")]
    pub who: String,
    /// For how long: 30m, 24h, 720h …
    #[arg(long = "for", value_name = "TIME", default_value = "876000h", hide_default_value = true)]
    pub duration: String,
    /// Let the account in again
    #[arg(long, conflicts_with = "duration")]
    pub lift: bool,
}

/// `delete`.
#[derive(Debug, Args)]
pub struct DeleteArguments {
    /// An e-mail address, a phone number or an id
    #[arg(value_name = "WHO")]
    pub who: String,
    /// Keep the row without anything that tells who it was
    #[arg(long)]
    pub soft: bool,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// `import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// The file, plain or gzipped; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What wrote the file [default: found out by its beginning]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Store nothing: tell what an import would do
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

/// Who wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// `basalt users export`: one account a line, as JSON
    Basalt,
    /// A dump of a Supabase project's data: `pg_dump` or `supabase db dump --data-only`, as SQL
    Supabase,
    /// `firebase auth:export --format=json`
    Firebase,
    /// The export job of Auth0, or the password hashes from its support: one account a line, as JSON
    Auth0,
}

/// `export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The file, which only its owner may read; - for standard output
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write over a file that is there
    #[arg(long)]
    pub force: bool,
}

/// Does what is asked.
pub fn run(arguments: UsersArguments) -> anyhow::Result<()> {
    logging::start("warn", crate::config_file::LogFormat::Text, None)?;
    runtime()?.block_on(async {
        let place = Place::open(&arguments.place).await?;
        let outcome = match arguments.action {
            Action::Add(it) => users::add(&place, &it).await,
            Action::List(it) => users::list(&place, &it).await,
            Action::Show(it) => users::show(&place, &it).await,
            Action::Ban(it) => users::ban(&place, &it).await,
            Action::Delete(it) => users::delete(&place, &it).await,
            Action::Import(it) => users::import(&place, &it).await,
            Action::Export(it) => users::export(&place, &it).await,
        };
        place.close().await?;
        outcome
    })
}
