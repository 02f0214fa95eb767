//! Physical backups of a cluster: start and end of a copy, and the log that it needs.

use std::sync::Arc;

use foundation::time::Time;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::pool::Pool;
use platform::store::statement::Connection;

statements! {
    DESCRIBE = "base_backup.describe": "
        SELECT current_setting('data_directory') AS folder,
               current_setting('server_version_num')::integer / 10000 AS major,
               (SELECT setting::bigint FROM pg_settings WHERE name = 'wal_segment_size') AS segment_size,
               (SELECT system_identifier::text FROM pg_control_system()) AS system,
               EXISTS (SELECT FROM pg_tablespace WHERE oid >= 16384) AS has_tablespaces";

    RESERVE_LOG = "base_backup.reserve_log":
        "SELECT slot_name::text AS name FROM pg_create_physical_replication_slot(:slot, true, true)";

    START = "base_backup.start":
        "SELECT pg_backup_start(:label, true)::text AS position, clock_timestamp() AS started_at";

    #[repeatable]
    COUNT_USERS = "base_backup.count_users":
        "SELECT count(*) AS users, clock_timestamp() AS counted_at FROM users";

    STOP = "base_backup.stop": "
        SELECT labelfile AS label, pg_walfile_name(lsn) AS last_segment
        FROM pg_backup_stop(false)";

    FIND_SLOT = "base_backup.find_slot": "
        SELECT restart_lsn::text AS position
        FROM pg_replication_slots
        WHERE slot_name = :slot
          AND wal_status IS DISTINCT FROM 'lost'";

    CREATE_SLOT = "base_backup.create_slot":
        "SELECT lsn::text AS position FROM pg_create_physical_replication_slot(:slot, true, false)";

    DROP_SLOT = "base_backup.drop_slot":
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = :slot";

    READ_LOG = "base_backup.read_log": "
        SELECT pg_current_wal_flush_lsn()::text AS position,
               pg_snapshot_xmax(pg_current_snapshot())::text AS next_transaction";

    SWITCH_SEGMENT = "base_backup.switch_segment": "SELECT pg_switch_wal()::text AS position";

    ADVANCE_SLOT = "base_backup.advance_slot":
        "SELECT end_lsn::text AS position FROM pg_replication_slot_advance(:slot, :position::text::pg_lsn)";
}

/// The cluster of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClusterDescription {
    /// The data folder of PostgreSQL.
    pub folder: String,
    /// The major release.
    pub major: i32,
    /// Bytes of a segment of the write-ahead log.
    pub segment_size: i64,
    /// The identifier that restored copies share.
    pub system: String,
    /// Whether there are files outside of the data folder.
    pub has_tablespaces: bool,
}

/// The end of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BackupEnd {
    /// The content of `backup_label`, with the first segment that is needed.
    pub label: String,
    /// The last segment that is needed.
    pub last_segment: String,
    /// Transactions that committed before this time are in the copy.
    pub ended_at: Time,
    /// The number of users at that time.
    pub users: i64,
}

/// A session of a superuser for backups.
///
/// Its pool has one connection: start and end of a copy are in one session of the database. If that is lost meanwhile,
/// the end fails.
#[derive(Debug, Clone)]
pub struct BackupSession {
    pool: Pool,
}

impl BackupSession {
    /// Uses a pool of one connection, which is neither closed nor replaced while it is idle.
    pub fn new(pool: Pool) -> Self {
        Self { pool }
    }

    /// Describes the cluster.
    pub(crate) async fn describe(&self) -> Result<ClusterDescription> {
        let (folder, major, segment_size, system, has_tablespaces) =
            self.connection().fetch_one::<(String, i32, i64, String, bool)>(bind!(DESCRIBE)).await?;
        Ok(ClusterDescription { folder, major, segment_size, system, has_tablespaces })
    }

    /// Keeps the write-ahead log from now on while the session lasts, and begins a copy with a checkpoint.
    pub(crate) async fn start(&self, slot: &str) -> Result<Time> {
        let _: (String,) = self.connection().fetch_one(bind!(RESERVE_LOG, slot)).await?;
        let label = "basalt";
        let started: (String, Time) = self.connection().fetch_one(bind!(START, label)).await?;
        Ok(started.1)
    }

    /// Ends the copy. Its log is kept until the session ends.
    pub(crate) async fn stop(&self) -> Result<BackupEnd> {
        let (users, ended_at): (i64, Time) = self.connection().fetch_one(bind!(COUNT_USERS)).await?;
        let (label, last_segment): (String, String) = self.connection().fetch_one(bind!(STOP)).await?;
        Ok(BackupEnd { label, last_segment, ended_at, users })
    }

    /// Counts the users, which reads the whole table.
    pub async fn count_users(&self) -> Result<i64> {
        Ok(self.connection().fetch_one::<(i64, Time)>(bind!(COUNT_USERS)).await?.0)
    }

    /// Returns the position from which the slot keeps the log; creates the slot if it is missing.
    ///
    /// A slot whose log was removed is replaced; the second value says that there was none to continue.
    pub(crate) async fn find_or_create_slot(&self, slot: &str) -> Result<(String, bool)> {
        let found: Option<(String,)> = self.connection().fetch_optional(bind!(FIND_SLOT, slot)).await?;
        if let Some((position,)) = found {
            return Ok((position, false));
        }
        self.drop_slot(slot).await?;
        Ok((self.connection().fetch_one::<(String,)>(bind!(CREATE_SLOT, slot)).await?.0, true))
    }

    /// Drops the slot if there is one, so that the log is no longer kept for it.
    pub(crate) async fn drop_slot(&self, slot: &str) -> Result<()> {
        self.connection().fetch_all::<()>(bind!(DROP_SLOT, slot)).await.map(drop)
    }

    /// Returns the position up to which the log is on disk, and the number of the next transaction.
    pub(crate) async fn read_log(&self) -> Result<(String, String)> {
        self.connection().fetch_one(bind!(READ_LOG)).await
    }

    /// Ends the current segment of the log.
    pub(crate) async fn switch_segment(&self) -> Result<()> {
        self.connection().fetch_one::<(String,)>(bind!(SWITCH_SEGMENT)).await.map(drop)
    }

    /// Lets the database remove the log before this position.
    pub(crate) async fn advance_slot(&self, slot: &str, position: &str) -> Result<()> {
        self.connection().fetch_one::<(String,)>(bind!(ADVANCE_SLOT, slot, position)).await.map(drop)
    }

    /// Ends the session.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    fn connection(&self) -> Connection {
        Connection::pooled(self.pool.clone(), Arc::default())
    }
}
