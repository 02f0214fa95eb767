//! `basalt gotrue`: the commands of GoTrue's server.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{bail, ensure};
use clap::{Args, Subcommand};
use gotrue_rs::config::{Config, LogLevel, Vars, load};
use platform::store::SQL_LOG;

use super::process::build_runtime;
use crate::config_file::LogFormat;
use crate::otlp::OtlpExporter;
use crate::reload::{self, ConfigSource, FileFilter, SettingsFiles};
use crate::{gotrue, logging, operator};

/// The arguments of `basalt gotrue`.
#[derive(Debug, Args)]
pub(super) struct GotrueArguments {
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

/// Migrates and serves, or does one of both.
pub(super) fn run(arguments: &GotrueArguments) -> anyhow::Result<()> {
    if let Some(GotrueAction::Version) = arguments.action {
        writeln!(std::io::stdout(), "basalt {}", env!("CARGO_PKG_VERSION"))?;
        return Ok(());
    }
    if let Some(GotrueAction::Admin(admin)) = &arguments.action {
        return run_admin(arguments, admin);
    }
    let files = SettingsFiles::observe(arguments.config_dir.iter().cloned().collect(), FileFilter::Variables);
    let vars = Vars::from_process(arguments.config.as_deref(), arguments.config_dir.as_deref())?;
    let config = load_config(&vars)?;
    let migrates = !matches!(arguments.action, Some(GotrueAction::Serve));
    if migrates {
        check_log_level(&vars)?;
    }
    let telemetry = OtlpExporter::prepare(config.telemetry.as_ref());
    start_logging(&config)?;
    build_runtime()?.block_on(async {
        if matches!(arguments.action, Some(GotrueAction::Migrate)) {
            return gotrue::migrate(&config).await;
        }
        // The port is bound first: a port in use is reported before anything is changed, and stays reserved.
        let listener = gotrue::bind(&config.listen).await?;
        if migrates {
            gotrue::migrate(&config).await?;
        }
        let source = arguments.config_dir.clone().map(|folder| ConfigSource { vars, folder, files });
        gotrue::serve(listener, config, source, telemetry).await
    })
}

/// Creates or deletes an account.
/// Missing arguments are reported before configuration errors.
fn run_admin(arguments: &GotrueArguments, admin: &AdminArguments) -> anyhow::Result<()> {
    let given = match &admin.action {
        AdminAction::Createuser { arguments, .. } if arguments.len() < 2 => {
            bail!("Not enough arguments to createuser command. Expected at least email and password values")
        }
        AdminAction::Deleteuser { arguments } if arguments.is_empty() => {
            bail!("Not enough arguments to deleteuser command. Expected at least ID or email")
        }
        AdminAction::Createuser { arguments, .. } | AdminAction::Deleteuser { arguments } => arguments,
    };
    let config = load_config(&Vars::from_process(arguments.config.as_deref(), arguments.config_dir.as_deref())?)?;
    start_logging(&config)?;
    let audience = admin.aud.as_deref();
    build_runtime()?.block_on(async {
        match &admin.action {
            AdminAction::Createuser { confirm, admin, .. } => {
                let role = given.get(2).map(String::as_str).unwrap_or_default();
                let wanted = operator::NewUser {
                    email: &given[0],
                    password: &given[1],
                    role,
                    is_admin: *admin,
                    is_confirmed: *confirm,
                };
                Box::pin(operator::create_user(config, audience, wanted)).await
            }
            AdminAction::Deleteuser { .. } => Box::pin(operator::delete_user(config, audience, &given[0])).await,
        }
    })
}

/// Refuses an unknown log level, as the migration of GoTrue does; its `serve` ignores one.
fn check_log_level(vars: &Vars) -> anyhow::Result<()> {
    let level = vars.get("GOTRUE_LOG_LEVEL").unwrap_or_default();
    ensure!(LogLevel::parse(level).is_some(), "GOTRUE_LOG_LEVEL: {level:?} is none of error, warn, info, debug, trace");
    Ok(())
}

fn load_config(vars: &Vars) -> anyhow::Result<Config> {
    load(vars).map_err(|problems| anyhow::Error::msg(reload::format_problems(&problems)))
}

fn start_logging(config: &Config) -> anyhow::Result<()> {
    let format = match config.log.format {
        gotrue_rs::config::LogFormat::Json => LogFormat::Json,
        gotrue_rs::config::LogFormat::Text => LogFormat::Text,
    };
    let level = config.log.level.as_str();
    let filter = if config.log.sql { format!("{level},{SQL_LOG}=debug") } else { format!("{level},{SQL_LOG}=off") };
    match &config.log.file {
        Some(file) => logging::start_in_file_if_possible(&filter, format, file)?,
        None => logging::start(&filter, format, None)?,
    }
    logging::log_notices(&config.notices);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_log_level_is_refused_before_a_migration() {
        let check = |level: &str| {
            let vars = Vars::from_map([("GOTRUE_LOG_LEVEL".to_owned(), level.to_owned())].into());
            check_log_level(&vars).map_err(|error| error.to_string())
        };
        for level in ["", "info", "Warning", "panic"] {
            assert_eq!(check(level), Ok(()), "{level}");
        }
        assert_eq!(
            check("loud"),
            Err("GOTRUE_LOG_LEVEL: \"loud\" is none of error, warn, info, debug, trace".to_owned())
        );
        assert!(check_log_level(&Vars::default()).is_ok());
    }
}
