//! `basalt init`: writes a first configuration.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;

use crate::project_layout::SUPABASE_FOLDER;

/// The folder of keys and database, beside the configuration.
const DATA_FOLDER: &str = ".basalt";

/// The configuration, in which `PROJECT` is the name of the project.
const TEMPLATE: &str = include_str!("init.toml");
/// The site of an application beside the server, and that of the shop, which is the server itself.
const APPLICATION_SITE: &str = "\nsite_url = \"http://127.0.0.1:3000\"\n";
const SHOP_SITE: &str =
    " By default it is this server, where the shop is.\n# site_url = \"https://shop.example.com\"\n";
/// The tables that ask for the shop.
const SHOP: &str = "
# The shop at the root path. The Supabase CLI does not know these tables.
[basalt.shop]
# Recipient of a mail about every submission.
# owner = \"owner@example.com\"

[functions.send-submission]
# Visitors without an account may send submissions.
verify_jwt = false
";

/// The arguments of `basalt init`.
#[derive(Debug, Args)]
pub(super) struct InitArguments {
    /// Serve the shop
    #[arg(long)]
    shop: bool,
    /// The file [default: supabase/config.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Writes the configuration; refuses to replace one.
pub(super) fn run(arguments: &InitArguments) -> anyhow::Result<()> {
    let default = Path::new(SUPABASE_FOLDER).join("config.toml");
    let path = arguments.config.as_deref().unwrap_or(&default);
    // A config.toml of the current folder has precedence over the new file.
    if arguments.config.is_none() && Path::new("config.toml").exists() {
        bail!("this folder has a config.toml already: --config FILE writes another file");
    }
    let absolute = std::path::absolute(path).context("finding the folder of the configuration")?;
    if let Some(folder) = absolute.parent() {
        fs::create_dir_all(folder).with_context(|| format!("making the folder {}", folder.display()))?;
    }
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{} exists already and is left as it is", path.display())
        }
        Err(error) => return Err(error).with_context(|| format!("writing {}", path.display())),
    };
    let mut text = TEMPLATE.replace("PROJECT", &project_name(&absolute));
    if arguments.shop {
        text = text.replace(APPLICATION_SITE, SHOP_SITE) + SHOP;
    }
    file.write_all(text.as_bytes()).with_context(|| format!("writing {}", path.display()))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "Wrote {}. `basalt serve` starts the server.", path.display())?;
    if let Some(line) = describe_other_data_folder(path) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Describes what to do with the keys and the database of a server that was started here without a configuration.
fn describe_other_data_folder(config: &Path) -> Option<String> {
    let own = config.with_file_name(DATA_FOLDER);
    let is_left_behind = Path::new(DATA_FOLDER).is_dir() && !own.exists();
    is_left_behind.then(|| {
        let own = own.display();
        format!(
            "{DATA_FOLDER} has the database and keys of earlier starts, and from now on they are in {own}, which is new. To keep those of \
             {DATA_FOLDER}, stop the server and move the folder before the next start: mv {DATA_FOLDER} {own}"
        )
    })
}

/// Returns the name of the project's folder with the characters that the CLI allows.
fn project_name(config: &Path) -> String {
    let mut folders = config.ancestors().skip(1).filter_map(|folder| folder.file_name()?.to_str());
    let name = folders.find(|name| *name != SUPABASE_FOLDER).unwrap_or_default();
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    let name: String = name.chars().map(|character| if is_allowed(character) { character } else { '_' }).collect();
    let name = name.trim_start_matches(|first: char| !first.is_ascii_alphanumeric());
    if name.is_empty() { "project".to_owned() } else { name.chars().take(40).collect() }
}
