//! Access to PostgreSQL: connections, named statements, errors, migrations, and the tables that every service uses.
//!
//! Times are parameters, never `now()`. `statements!` lists the modules with statements.

pub mod binding;
pub mod error;
mod hosts;
mod injected_rejection;
mod lease;
pub mod leases;
pub mod limit_counters;
mod literal;
pub mod migrate;
mod opening;
mod outage;
pub mod outbox;
pub mod parts;
pub mod placeholders;
pub mod pool;
mod pool_options;
mod pool_state;
pub mod pooler;
pub mod quoting;
pub mod replica;
pub mod replicas;
pub mod replication;
mod span;
pub mod statement;
pub mod stored_time;
mod values;

pub use binding::{BoundStatement, Statement};
pub use error::{Error, OrInternalError, Result};
pub use opening::{acquire_connection, open_connection};
pub use pool::{PausedPool, Pool, PoolOptions, is_temporary};
pub use pooler::{SessionSettings, StatementMode};
pub use replica::{AdminChange, Replica};
pub use span::SQL_LOG;
/// Address, role and session settings of a PostgreSQL connection.
pub use sqlx::postgres::PgConnectOptions;
pub use statement::Connection;

binding::statements! {
    modules: leases, limit_counters, outbox, replicas, replication;
}

/// Returns all statements of this crate, for the tests that prepare each and check its plan.
pub fn list_statements() -> impl Iterator<Item = &'static Statement> {
    STATEMENTS.list().into_iter()
}
