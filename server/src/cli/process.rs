//! The process of a command: its runtime and its exit status.

use std::io::{Error, ErrorKind};
use std::process::ExitCode;

use tokio::runtime::{Builder, Runtime};

/// Builds a multi-threaded runtime with one thread per core.
pub(super) fn build_runtime() -> anyhow::Result<Runtime> {
    Ok(Builder::new_multi_thread().enable_all().build()?)
}

/// Reports a failure on standard error and returns the exit status of the command.
pub(crate) fn report_outcome(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    match outcome {
        Ok(status) => status,
        // Standard output was closed by its reader, as by `head`.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("basalt: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
