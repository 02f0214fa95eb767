//! Positions in the write-ahead log, by which the lag of a replica is measured.

use super::binding::{bind, statements};
use super::error::Result;
use super::statement::Connection;

statements! {
    WRITTEN = "replication.written": "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint";

    REPLAYED = "replication.replayed":
        "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END
                 - '0/0'::pg_lsn)::bigint";
}

/// Returns the position up to which the primary has written.
pub async fn find_written_position(db: &mut Connection) -> Result<i64> {
    Ok(db.fetch_one::<(i64,)>(bind!(WRITTEN)).await?.0)
}

/// Returns the position up to which the replica has replayed; `None` before it has received anything.
pub async fn find_replayed_position(db: &mut Connection) -> Result<Option<i64>> {
    Ok(db.fetch_one::<(Option<i64>,)>(bind!(REPLAYED)).await?.0)
}
