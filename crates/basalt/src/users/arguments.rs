//! Arguments of the account commands.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::anonymisation_options::AnonymisationArguments;
use crate::project::ProjectArguments;

/// The database of the accounts.
#[derive(Debug, Args)]
pub(crate) struct DatabaseArguments {
    #[command(flatten)]
    pub project: ProjectArguments,
    /// The database [default: the project's own, or `DATABASE_URL`]
    #[arg(long, value_name = "URL", global = true, hide_env_values = true)]
    pub database_url: Option<String>,
}

/// Arguments of `add`.
#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// An e-mail address, or a phone number with a leading +
    #[arg(value_name = "CONTACT")]
    pub contact: String,
    /// Read the password from standard input; without one the account signs in by mail or SMS
    #[arg(long)]
    pub password_stdin: bool,
    /// Mark the address or number as confirmed
    #[arg(long)]
    pub confirmed: bool,
    /// The account's user metadata, an object such as '{"name": "Ann"}'
    #[arg(long, value_name = "JSON")]
    pub metadata: Option<String>,
    /// Print the account as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
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
pub(crate) struct ShowArguments {
    /// An e-mail address, a phone number or an id
    #[arg(value_name = "WHO")]
    pub who: String,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `ban`.
#[derive(Debug, Args)]
pub(crate) struct BanArguments {
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
pub(crate) struct DeleteArguments {
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
pub(crate) struct ImportArguments {
    /// The files, plain or gzipped; - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The format of the files [default: detected from their beginnings]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ImportFormat>,
    /// Report what an import would do, without storing anything
    #[arg(long)]
    pub dry_run: bool,
    /// Print the counts as JSON; lines with problems are still reported on standard error
    #[arg(long)]
    pub json: bool,
    /// Import also accounts with more rights than others: another role than `authenticated`, owners of the shop
    #[arg(long)]
    pub allow_privileged: bool,
    /// The provider here that another service's provider becomes: `oidc.okta=custom:okta`; can be repeated
    #[arg(long = "provider", value_name = "THEIRS=OURS")]
    pub providers: Vec<String>,
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
pub(crate) enum ImportFormat {
    /// `basalt users export`: one account per line, as JSON
    Basalt,
    /// A dump of a Supabase project's data: `pg_dump` or `supabase db dump --data-only`, as SQL
    Supabase,
    /// `firebase auth:export`, as JSON or CSV, or an export of the emulator
    Firebase,
    /// The export job of Auth0, as JSON or CSV, a bulk import file, or the password hashes from its support
    Auth0,
    /// The export of users of Clerk, as CSV
    Clerk,
    /// Records of `PocketBase`, as JSON
    Pocketbase,
    /// CSV with the usual names of columns, such as that of the Supabase dashboard
    Csv,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The file, created readable by its owner only; - for standard output
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
    /// Replace personal data by pseudonyms, and remove tokens and secrets
    #[arg(long)]
    pub anonymise: bool,
    #[command(flatten, next_help_heading = "Options of --anonymise")]
    pub anonymisation: AnonymisationArguments,
}
