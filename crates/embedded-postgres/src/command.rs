//! Commands that run PostgreSQL's programs, directly or behind the guard.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::account::Account;
use crate::guard::GUARD_ARGUMENT;
use crate::start_error::StartError;

/// Creates a PostgreSQL command without the caller's `PG…` variables, which would change its behaviour.
pub(crate) fn clean_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    command.env("LC_ALL", "C").current_dir("/");
    command
}

/// Creates a command that runs `program` as `account` behind the guard; the caller adds its arguments.
pub(crate) fn guarded_command(program: &Path, account: Option<&Account>) -> Result<Command, StartError> {
    // /proc/self/exe works even if the executable was replaced, or is in a folder that the account cannot traverse.
    let executable = if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().map_err(StartError::io("finding our own program"))?
    };
    let mut command = clean_command(&executable);
    command.arg(GUARD_ARGUMENT).arg(std::process::id().to_string()).arg(program);
    // A process group of its own: Ctrl-C in a terminal must not reach PostgreSQL, which is stopped last.
    command.process_group(0);
    if let Some(account) = account {
        account.apply(&mut command);
    }
    Ok(command)
}
