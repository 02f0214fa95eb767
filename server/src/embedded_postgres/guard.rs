//! The last step before PostgreSQL runs, in a process of its own: it asks the system to end it with us, then becomes
//! PostgreSQL.
//!
//! The standard library offers a hook between fork and exec only as unsafe code, so we run our own program again under a
//! hidden name, and that becomes `postgres` by exec. The process stays the same, and nothing of ours stays in memory.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::StartError;
use super::account::Account;

/// The hidden first argument. After it: our process id, the program, its arguments.
pub const COMMAND: &str = "__postgres-guard";

/// Becomes the program named by the arguments; returns only when that fails.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = arguments.next().and_then(|text| text.to_str()?.parse::<i32>().ok());
    let (Some(parent), Some(program)) = (parent, arguments.next()) else {
        complain("it is started by basalt itself, with a process id and a program");
        return ExitCode::from(2);
    };
    if let Err(error) = end_with_parent() {
        complain(&format!("the system does not tie this process to its parent: {error}"));
        return ExitCode::FAILURE;
    }
    // The parent may have ended before the line above took effect.
    if rustix::process::getppid().map(rustix::process::Pid::as_raw_nonzero).map(std::num::NonZeroI32::get)
        != Some(parent)
    {
        return ExitCode::FAILURE;
    }
    let error = Command::new(&program).args(arguments).exec();
    complain(&format!("{} does not run: {error}", PathBuf::from(program).display()));
    ExitCode::FAILURE
}

/// A fast shutdown of PostgreSQL when the thread that started it is gone, also after `kill -9`.
#[cfg(target_os = "linux")]
fn end_with_parent() -> std::io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::INT))?)
}

/// Other systems have nothing like it: there a leftover is ended at the next start.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as on Linux")]
fn end_with_parent() -> std::io::Result<()> {
    Ok(())
}

/// The log of PostgreSQL is our standard error here.
fn complain(text: &str) {
    eprintln!("{COMMAND}: {text}");
}

/// A command that runs `program` as `account` behind the guard; its arguments are added by the caller.
pub fn guarded(program: &Path, account: Option<&Account>) -> Result<Command, StartError> {
    // Through /proc our program is found also when its file was replaced, or lies where the account may not walk.
    let ourselves = if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().map_err(StartError::io("finding our own program"))?
    };
    let mut command = super::clean_command(&ourselves);
    command.arg(COMMAND).arg(std::process::id().to_string()).arg(program);
    // A group of its own: Ctrl-C in a terminal reaches us alone, and we end PostgreSQL last.
    command.process_group(0);
    if let Some(account) = account {
        account.apply(&mut command);
    }
    Ok(command)
}
