//! The archive of the write-ahead log, while a server runs.

use embedded_postgres::backup::{WalArchive, end_archiving};

use crate::backup::connect;
use crate::database_source::DatabaseSource;
use crate::project::Project;

/// Archives the write-ahead log of the embedded database if the configuration names an archive.
///
/// Without one, log that was kept for an earlier archive is released.
pub(super) async fn start_archive(
    source: &DatabaseSource,
    project: &Project,
    is_ephemeral: bool,
) -> anyhow::Result<Option<WalArchive>> {
    let settings = project.file.basalt.archive.as_ref();
    if let DatabaseSource::External(_) = source {
        if settings.is_some() {
            tracing::warn!("[basalt.database] archive has no effect: the database is an external one");
        }
        return Ok(None);
    }
    if is_ephemeral {
        return Ok(None);
    }
    let Some(settings) = settings else {
        return end_archiving(connect(&source.operator_url())?).await.map(|()| None);
    };
    let folder = project.layout.folder.join(&settings.folder);
    WalArchive::start(folder, settings.interval, connect(&source.operator_url())?).await.map(Some)
}
