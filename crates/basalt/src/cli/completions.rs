//! `basalt completions` and `basalt manual`: files for shells and for `man`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

const EXAMPLES: &str = "Examples:
  basalt completions bash > ~/.local/share/bash-completion/completions/basalt
  basalt completions zsh > ~/.zfunc/_basalt                 with fpath+=(~/.zfunc) before compinit
  basalt completions fish > ~/.config/fish/completions/basalt.fish";

const MANUAL_EXAMPLES: &str = "Examples:
  basalt manual ~/.local/share/man/man1
  basalt manual man1 && man -l man1/basalt-users-import.1";

/// The arguments of `basalt completions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CompletionArguments {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// The arguments of `basalt manual`.
#[derive(Debug, Args)]
#[command(after_help = MANUAL_EXAMPLES)]
pub(super) struct ManualArguments {
    /// The folder, which is created if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Prints the completions for a shell.
pub(super) fn run(arguments: &CompletionArguments, mut program: Command) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "basalt", &mut script);
    Ok(std::io::stdout().lock().write_all(&script)?)
}

/// Writes a page for each command.
pub(super) fn run_manual(arguments: &ManualArguments, mut program: Command) -> anyhow::Result<()> {
    let folder = &arguments.folder;
    fs::create_dir_all(folder).with_context(|| format!("making the folder {}", folder.display()))?;
    program.build();
    write_pages(&program, "basalt", folder)
}

fn write_pages(command: &Command, name: &str, folder: &Path) -> anyhow::Result<()> {
    let mut page = Vec::new();
    // A page of a command below another one has the full name, as `git-commit.1` has.
    Man::new(command.clone().display_name(name)).title(name).render(&mut page).context("writing a page")?;
    let path = folder.join(format!("{name}.1"));
    fs::write(&path, page).with_context(|| format!("writing {}", path.display()))?;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        write_pages(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    Ok(())
}
