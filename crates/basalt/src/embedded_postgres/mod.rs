//! An embedded PostgreSQL: finds its binaries, creates the cluster, runs the server.
//! The server is a private child process that listens on a Unix socket, and on a port of 127.0.0.1 if that is wanted. It
//! ends with this process, even after `kill -9`.
//!
//! This module is not async: the child is tied to the thread that starts it, so a dedicated thread lives as long as the
//! child.

mod account;
mod binaries;
mod cluster;
mod command;
mod dump_tools;
mod guard;
mod links;
mod port;
mod postmaster;
mod prepared;
mod program_copies;
mod replacement;
mod restore;
mod server;
mod start_error;
mod supervisor;
mod system_folder;
mod upgrade;

pub(crate) use binaries::BinarySearch;
pub(crate) use cluster::{ConnectionAddress, WalSegments};
pub(crate) use dump_tools::DumpTools;
pub(crate) use guard::{GUARD_ARGUMENT as GUARD_COMMAND, run as run_guard};
pub(crate) use port::TcpPort;
pub(crate) use prepared::PreparedClusters;
pub(crate) use restore::RestoreFolder;
pub(crate) use server::{EmbeddedOptions, EmbeddedPostgres};
pub(crate) use start_error::StartError;
pub(crate) use upgrade::{ClusterUpgrade, NewServer, PlannedUpgrade};
