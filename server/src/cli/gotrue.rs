//! `basalt gotrue`: the commands of the reference's server.

use std::io::Write as _;

use anyhow::bail;
use gotrue_rs::config::{Config, Vars, load};
use gotrue_rs::store::SQL_LOG;

use super::{AdminAction, AdminArguments, GotrueAction, GotrueArguments, runtime};
use crate::config_file::LogFormat;
use crate::reload::{self, Source};
use crate::{gotrue, logging, operator};

/// Migrates and serves, or one of them.
pub fn run(arguments: &GotrueArguments) -> anyhow::Result<()> {
    if let Some(GotrueAction::Version) = arguments.action {
        writeln!(std::io::stdout(), "basalt {}", env!("CARGO_PKG_VERSION"))?;
        return Ok(());
    }
    if let Some(GotrueAction::Admin(admin)) = &arguments.action {
        return run_admin(arguments, admin);
    }
    let vars = Vars::from_process(arguments.config.as_deref(), arguments.config_dir.as_deref())?;
    let config = checked(&vars)?;
    start_log(&config)?;
    runtime()?.block_on(async {
        if matches!(arguments.action, Some(GotrueAction::Migrate)) {
            return gotrue::migrate(&config).await;
        }
        // The port first: that somebody else has it is told before anything is done, and nobody takes it meanwhile.
        let listener = gotrue::bind(&config.listen).await?;
        if !matches!(arguments.action, Some(GotrueAction::Serve)) {
            gotrue::migrate(&config).await?;
        }
        let source = arguments.config_dir.clone().map(|folder| Source { vars, folder });
        gotrue::serve(listener, config, source).await
    })
}

/// One account made or deleted. That an argument is missing is told before a setting is.
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
    let config = checked(&Vars::from_process(arguments.config.as_deref(), arguments.config_dir.as_deref())?)?;
    start_log(&config)?;
    let audience = admin.aud.as_deref();
    runtime()?.block_on(async {
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

fn checked(vars: &Vars) -> anyhow::Result<Config> {
    load(vars).map_err(|problems| anyhow::Error::msg(reload::told(&problems)))
}

fn start_log(config: &Config) -> anyhow::Result<()> {
    let format = match config.log.format {
        gotrue_rs::config::LogFormat::Json => LogFormat::Json,
        gotrue_rs::config::LogFormat::Text => LogFormat::Text,
    };
    let level = config.log.level.as_str();
    let filter = if config.log.sql { format!("{level},{SQL_LOG}=debug") } else { format!("{level},{SQL_LOG}=off") };
    logging::start(&filter, format, config.log.file.as_deref())?;
    logging::tell(&config.notices);
    Ok(())
}
