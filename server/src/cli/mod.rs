//! The command line: what can be asked, and which part of the program answers.

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
    AddArguments, BanArguments, DeleteArguments, ExportArguments, Format, ImportArguments, ListArguments,
    PlaceArguments, ShowArguments,
};

/// Supabase-compatible auth and functions in one program, with a database of its own.
#[derive(Debug, Parser)]
#[command(name = "basalt", version, propagate_version = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const SERVE: &str = "Serve auth, functions and the shop as config.toml says

Without DATABASE_URL a PostgreSQL of its own is started: from PG_BIN_DIR, the npm package below server/postgres, or the
system's packages (15 or newer). It listens on no port and ends with this program.";

const EXAMPLES: &str = "Examples:
  basalt serve                              auth, functions and the shop on http://127.0.0.1:54321
  basalt serve --port 0 --ephemeral --json  a fresh one for a test suite; prints where it is
  basalt status                             the URLs and keys again
  basalt users import people.jsonl          accounts from elsewhere, with their password hashes
  basalt gotrue                             the auth server alone, configured by GOTRUE_* variables";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve auth, functions and the shop as config.toml says
    ///
    #[command(long_about = SERVE)]
    Serve(ServeArguments),
    /// Print the URLs and keys of this project
    Status(StatusArguments),
    /// Read config.toml and report everything that is wrong with it
    Check(ProjectArguments),
    /// Take the place of the auth server of Supabase: GOTRUE_* variables, auth API at the root path
    ///
    /// Without a command: migrates, then serves.
    Gotrue(GotrueArguments),
    /// Make, find, ban and delete accounts; import and export them
    Users(users::UsersArguments),
}

/// Where a project is.
#[derive(Debug, Clone, Args)]
pub struct ProjectArguments {
    /// The configuration [default: config.toml, else supabase/config.toml, else the defaults of Supabase's CLI]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where keys and database are kept [default: .basalt beside the configuration]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct ServeArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// The port, in the place of [api] port; 0 takes any that is free
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Keep nothing: a folder and a database of its own that are removed at the end. `DATABASE_URL` does not count
    #[arg(long, conflicts_with = "data")]
    ephemeral: bool,
    /// The database, in the place of `DATABASE_URL` (which keeps the password out of the list of processes)
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Print one line of JSON with URLs and keys when ready, and nothing else, on standard output
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
    /// A file of variables, NAME=value a line [default: .env where it exists]
    #[arg(short, long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// A folder of such files, *.env; they come last and win
    #[arg(short = 'd', long, value_name = "DIR", global = true)]
    config_dir: Option<PathBuf>,
    #[command(subcommand)]
    action: Option<GotrueAction>,
}

#[derive(Debug, Clone, Subcommand)]
enum GotrueAction {
    /// Serve without looking at the schema
    Serve,
    /// Make the schema where there is none, or say what differs
    Migrate,
    /// Print the version
    Version,
    /// Make and delete accounts
    Admin(AdminArguments),
}

#[derive(Debug, Clone, Args)]
struct AdminArguments {
    /// The audience of the account [default: that of the settings]
    #[arg(short = 'a', long, value_name = "AUD", global = true)]
    aud: Option<String>,
    #[command(subcommand)]
    action: AdminAction,
}

#[derive(Debug, Clone, Subcommand)]
enum AdminAction {
    /// Make an account: its email, its password and perhaps its role
    Createuser {
        /// Email, password and perhaps the role
        #[arg(value_name = "EMAIL PASSWORD [ROLE]")]
        arguments: Vec<String>,
        /// The email counts as confirmed
        #[arg(long)]
        confirm: bool,
        /// The account gets the administrators' role, if none is given
        #[arg(long)]
        admin: bool,
    },
    /// Delete an account, with all that belongs to it
    Deleteuser {
        /// Its id or email
        #[arg(value_name = "ID|EMAIL")]
        arguments: Vec<String>,
    },
}

/// Runs what the arguments ask for.
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
        // Whoever read what we print has read enough.
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

/// A runtime with a thread per core.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_holds_together() {
        super::Cli::command().debug_assert();
    }
}
