//! An embedded PostgreSQL: finds its binaries, creates the cluster, runs the server, makes and restores backups, copies the
//! database to another release, and does the work of `pg_cron` and `pg_net` where they are not installed.
//!
//! The server is a private child process that listens on a Unix socket, and on a port of 127.0.0.1 if that is wanted. It
//! ends with this process, even after `kill -9`.
//!
//! Its start and stop are not async: the child is tied to the thread that starts it, so a dedicated thread lives as long as
//! the child.
//!
//! Roles, schemas and migrations are the caller's. Of the tables, backups count the users, and jobs are read from `cron` and
//! `net`.

mod account;
pub mod backup;
mod binaries;
mod cluster;
mod command;
pub mod database_copy;
pub mod database_jobs;
mod dump_tools;
mod guard;
mod links;
mod port;
mod postmaster;
mod prepared;
mod program_copies;
mod replacement;
mod restore_folder;
mod server;
mod start_error;
mod supervisor;
mod system_folder;
mod upgrade;

pub use binaries::BinarySearch;
pub use cluster::{ConnectionAddress, WalSegments};
pub use dump_tools::DumpTools;
pub use guard::{GUARD_ARGUMENT as GUARD_COMMAND, run as run_guard};
pub use port::TcpPort;
pub use prepared::PreparedClusters;
pub use server::{EmbeddedOptions, EmbeddedPostgres};
pub use start_error::StartError;
pub use upgrade::{ClusterUpgrade, NewServer, PlannedUpgrade};
