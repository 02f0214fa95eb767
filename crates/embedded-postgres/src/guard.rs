//! The last step before PostgreSQL runs: ties its process to the parent, then becomes PostgreSQL.
//!
//! The standard library offers a hook between fork and exec only as unsafe code. Therefore the process runs this
//! executable again with a hidden argument, and that becomes `postgres` by exec. The process id stays the same, and
//! none of this executable's memory remains.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The hidden first argument.
/// After it: the parent's process id, the program, its arguments.
pub const GUARD_ARGUMENT: &str = "__postgres-guard";

/// Becomes the program named by the arguments; returns only on failure.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = arguments.next().and_then(|text| text.to_str()?.parse::<i32>().ok());
    let (Some(parent), Some(program)) = (parent, arguments.next()) else {
        print_error("it is started by basalt itself, with a process id and a program");
        return ExitCode::from(2);
    };
    if let Err(error) = tie_to_parent() {
        print_error(&format!("the system does not tie this process to its parent: {error}"));
        return ExitCode::FAILURE;
    }
    // The parent may have ended before the signal was set.
    if rustix::process::getppid().map(rustix::process::Pid::as_raw_nonzero).map(std::num::NonZeroI32::get)
        != Some(parent)
    {
        return ExitCode::FAILURE;
    }
    let error = Command::new(&program).args(arguments).exec();
    print_error(&format!("{} does not run: {error}", PathBuf::from(program).display()));
    ExitCode::FAILURE
}

/// Requests a fast shutdown of PostgreSQL when the parent thread ends, even after `kill -9`.
#[cfg(target_os = "linux")]
fn tie_to_parent() -> std::io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::INT))?)
}

/// Other systems have no equivalent: a leftover process is ended at the next start.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as on Linux")]
fn tie_to_parent() -> std::io::Result<()> {
    Ok(())
}

/// Standard error is the log of PostgreSQL here.
fn print_error(text: &str) {
    eprintln!("{GUARD_ARGUMENT}: {text}");
}
