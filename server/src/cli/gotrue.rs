//! `basalt gotrue`: the commands of the reference's server.

use std::fmt::Write as _;
use std::io::Write as _;

use gotrue_rs::config::{Config, Vars, load};

use super::{GotrueAction, GotrueArguments, runtime};
use crate::config_file::LogFormat;
use crate::{gotrue, logging};

/// Migrates and serves, or one of them.
pub fn run(arguments: &GotrueArguments) -> anyhow::Result<()> {
    if let Some(GotrueAction::Version) = arguments.action {
        writeln!(std::io::stdout(), "basalt {}", env!("CARGO_PKG_VERSION"))?;
        return Ok(());
    }
    let vars = Vars::from_process(arguments.config.as_deref(), arguments.config_dir.as_deref())?;
    let config = checked(&vars)?;
    start_log(&config)?;
    runtime()?.block_on(async {
        if !matches!(arguments.action, Some(GotrueAction::Serve)) {
            gotrue::migrate(&config).await?;
        }
        if !matches!(arguments.action, Some(GotrueAction::Migrate)) {
            gotrue::serve(config).await?;
        }
        Ok(())
    })
}

fn checked(vars: &Vars) -> anyhow::Result<Config> {
    load(vars).map_err(|problems| {
        let mut text = String::from("these settings cannot be used:");
        for problem in problems {
            let _ = write!(text, "\n  {problem}");
        }
        anyhow::Error::msg(text)
    })
}

fn start_log(config: &Config) -> anyhow::Result<()> {
    let format = match config.log.format {
        gotrue_rs::config::LogFormat::Json => LogFormat::Json,
        gotrue_rs::config::LogFormat::Text => LogFormat::Text,
    };
    logging::start(config.log.level.as_str(), format, config.log.file.as_deref())?;
    logging::tell(&config.notices);
    Ok(())
}
