//! The process of a command: its runtime and its exit status.

use std::io::{Error, ErrorKind};
use std::process::ExitCode;

use tokio::runtime::{Builder, Runtime};

/// Builds a multi-threaded runtime with one thread per core.
pub(super) fn build_runtime() -> anyhow::Result<Runtime> {
    Ok(Builder::new_multi_thread().enable_all().build()?)
}

/// Reports a failure on standard error and returns the exit status of the command.
///
/// `rename` changes the names of settings in the message.
pub(crate) fn report_outcome(outcome: anyhow::Result<ExitCode>, rename: fn(&str) -> String) -> ExitCode {
    match outcome {
        Ok(status) => status,
        // Standard output was closed by its reader, as by `head`.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("basalt: {}", rename(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
