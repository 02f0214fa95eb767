//! The command line: definitions of the commands and their dispatch.

mod check;
mod gotrue;
mod project;
mod serve;
mod status;
mod users;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

pub use project::Project;
pub use users::{
    AddArguments, BanArguments, DatabaseArguments, DeleteArguments, ExportArguments, ImportArguments, ImportFormat,
    ListArguments, ShowArguments,
};

/// Supabase-compatible auth and functions in one binary, with an embedded database.
#[derive(Debug, Parser)]
#[command(name = "basalt", version, propagate_version = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const SERVE_HELP: &str = "Serve auth, functions and the shop as configured in config.toml

Without DATABASE_URL an embedded PostgreSQL is started: from PG_BIN_DIR, the npm package below server/postgres, or the
system's packages (15 or newer). It listens on no port and stops with this process.";

const EXAMPLES: &str = "Examples:
  basalt serve                              auth, functions and the shop on http://127.0.0.1:54321
  basalt serve --port 0 --ephemeral --json  a new instance for a test suite; prints its URLs and keys
  basalt status                             print the URLs and keys again
  basalt users import people.jsonl          import accounts with their password hashes
  basalt gotrue                             the auth server alone, configured by GOTRUE_* variables";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve auth, functions and the shop as configured in config.toml
    ///
    #[command(long_about = SERVE_HELP)]
    Serve(ServeArguments),
    /// Print the URLs and keys of this project
    Status(StatusArguments),
    /// Read config.toml and report everything that is wrong with it
    Check(ProjectArguments),
    /// Run as a drop-in replacement for GoTrue: GOTRUE_* variables, auth API at the root path
    ///
    /// Without a command: migrate, then serve.
    Gotrue(GotrueArguments),
    /// Create, find, ban and delete accounts; import and export them
    Users(users::UsersArguments),
}

/// Location of a project.
#[derive(Debug, Clone, Args)]
pub struct ProjectArguments {
    /// The configuration [default: config.toml, else supabase/config.toml, else the CLI's defaults]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The folder of keys and database [default: .basalt beside the configuration]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct ServeArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// The port; overrides `[api] port`; 0 selects a free one
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Use a temporary folder and database that are removed at the end; `DATABASE_URL` is ignored
    #[arg(long, conflicts_with = "data")]
    ephemeral: bool,
    /// The database; overrides `DATABASE_URL`, which keeps the password out of the process list
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Print exactly one line of JSON with URLs and keys on standard output when ready
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct StatusArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct GotrueArguments {
    /// A file of variables, one NAME=value per line [default: .env if it exists]
    #[arg(short, long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// A folder of such files, *.env; they take precedence
    #[arg(short = 'd', long, value_name = "DIR", global = true)]
    config_dir: Option<PathBuf>,
    #[command(subcommand)]
    action: Option<GotrueAction>,
}

#[derive(Debug, Clone, Subcommand)]
enum GotrueAction {
    /// Serve without checking the schema
    Serve,
    /// Create the schema if there is none, or report the differences
    Migrate,
    /// Print the version
    Version,
    /// Create and delete accounts
    Admin(AdminArguments),
}

#[derive(Debug, Clone, Args)]
struct AdminArguments {
    /// The audience of the account [default: the configured one]
    #[arg(short = 'a', long, value_name = "AUD", global = true)]
    aud: Option<String>,
    #[command(subcommand)]
    action: AdminAction,
}

#[derive(Debug, Clone, Subcommand)]
enum AdminAction {
    /// Create an account from an email, a password and optionally a role
    Createuser {
        /// Email, password and optionally the role
        #[arg(value_name = "EMAIL PASSWORD [ROLE]")]
        arguments: Vec<String>,
        /// Mark the email as confirmed
        #[arg(long)]
        confirm: bool,
        /// Use the administrators' role if none is given
        #[arg(long)]
        admin: bool,
    },
    /// Delete an account and all its data
    Deleteuser {
        /// Its id or email
        #[arg(value_name = "ID|EMAIL")]
        arguments: Vec<String>,
    },
}

/// Runs the command of the arguments.
pub fn run() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Gotrue(arguments) => gotrue::run(&arguments),
        Command::Users(arguments) => users::run(arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Standard output was closed by its reader, as by `head`.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("basalt: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Builds a multi-threaded runtime with one thread per core.
fn build_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn command_definition_is_valid() {
        super::Cli::command().debug_assert();
    }
}
