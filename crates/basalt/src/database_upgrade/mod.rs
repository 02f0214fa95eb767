//! Upgrades the embedded database to another major release of PostgreSQL.
//!
//! Roles, objects and rows are copied from a server of the old release to one of the new release, compared, and the new
//! files replace the old ones (`docs/decisions/0129-major-upgrades-copy-the-database.md`).

mod contents;
mod definitions;
mod session;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use data_folder::DataFolder;
use embedded_postgres::{ClusterUpgrade, EmbeddedPostgres, NewServer, PlannedUpgrade, database_copy};
use platform::store::migrate::read_project_versions;

use crate::database_source::find_binaries;
use crate::plural::format_count;
use crate::progress::progress_bar;
use crate::project::Project;
use contents::{Comparison, ContentSummary};
use definitions::define_objects;
use session::{UpgradeSession, run_blocking};

/// What an upgrade did.
#[derive(Debug)]
pub(crate) enum UpgradeOutcome {
    /// The database is of this major release, and there is no newer one on this machine.
    Current(u32),
    /// The database was upgraded.
    Upgraded {
        /// The new release and where it is.
        release: String,
        /// What was copied.
        summary: ContentSummary,
        /// Where the old cluster is kept.
        kept: PathBuf,
    },
}

/// The old database in the transaction that reads it.
struct OldDatabase<'a> {
    session: &'a mut UpgradeSession,
    /// The name of its snapshot.
    snapshot: String,
    /// The migrations of the project that ran; `None` if no file of a project ever did.
    versions: Option<Vec<String>>,
}

/// Upgrades the embedded database of the project to the newest release on this machine.
///
/// # Errors
/// A server uses the database, programs or space are missing, or the copy failed or differs. The database is then the
/// old one, as it was.
pub(crate) async fn upgrade(project: &Project, old_binaries: Option<PathBuf>) -> anyhow::Result<UpgradeOutcome> {
    refuse_others(project)?;
    let folder = DataFolder::open(&project.data)?;
    let (data, search) = (folder.path().to_owned(), find_binaries(project));
    let planned = run_blocking(move || ClusterUpgrade::plan(&data, &search, old_binaries.as_deref())).await?;
    let clusters = match planned {
        PlannedUpgrade::Current(major) => return Ok(UpgradeOutcome::Current(major)),
        PlannedUpgrade::Needed(clusters) => Arc::<ClusterUpgrade>::from(clusters),
    };
    clusters.check_space()?;
    eprintln!("Upgrading from {} to {} …", clusters.describe_old(), clusters.describe_new());
    let copied = Box::pin(copy_and_compare(project, &clusters)).await;
    let (last, is_copied) = (Arc::clone(&clusters), copied.is_ok());
    let replaced =
        run_blocking(move || if is_copied { last.complete().map(Some) } else { last.discard().map(|()| None) });
    let kept = replaced.await;
    let summary = copied.context("the database was not upgraded, and is as it was")?;
    let kept = kept?.context("the old database was not kept")?;
    Ok(UpgradeOutcome::Upgraded { release: clusters.describe_new(), summary, kept })
}

fn refuse_others(project: &Project) -> anyhow::Result<()> {
    if project.database_url()?.is_some() {
        bail!(
            "DATABASE_URL names an external database, which its own tools upgrade: unset it to upgrade the embedded database"
        );
    }
    if EmbeddedPostgres::find_cluster(&project.data).is_none() {
        bail!("{} has no embedded database: name its folder with --data DIR", project.data.display());
    }
    Ok(())
}

/// Starts the servers and copies everything; stops them in any case.
async fn copy_and_compare(project: &Project, clusters: &Arc<ClusterUpgrade>) -> anyhow::Result<ContentSummary> {
    let starting = Arc::clone(clusters);
    let mut old = UpgradeSession::open(run_blocking(move || starting.start_old()).await?).await?;
    let outcome = Box::pin(copy_from(project, clusters, &mut old)).await;
    old.close().await?;
    outcome
}

async fn copy_from(
    project: &Project,
    clusters: &Arc<ClusterUpgrade>,
    old: &mut UpgradeSession,
) -> anyhow::Result<ContentSummary> {
    let others = database_copy::list_other_databases(&mut old.connection).await.context("listing the databases")?;
    if !others.is_empty() {
        bail!(
            "the cluster has databases that Basalt did not create and this command does not copy: {}. Copy them with pg_dump \
             elsewhere, and drop them",
            others.join(", ")
        );
    }
    // As a server of this version does at its start; the old database remains usable for both.
    old.migrate().await?;
    database_copy::prepare_session(&mut old.connection).await?;
    let versions = read_project_versions(&mut old.connection).await.context("reading the project's migrations")?;
    let snapshot =
        database_copy::begin_snapshot(&mut old.connection).await.context("beginning to read the old database")?;
    let mut source = OldDatabase { session: old, snapshot, versions };
    let start = |server: NewServer| {
        let clusters = Arc::clone(clusters);
        async move { UpgradeSession::open(run_blocking(move || clusters.start_new(server)).await?).await }
    };
    let mut new = start(NewServer::Filling).await?;
    let filled = fill(project, clusters, &mut source, &mut new).await;
    new.close().await?;
    let comparison = filled?;
    let flushing = Arc::clone(clusters);
    run_blocking(move || flushing.flush()).await?;
    let mut new = start(NewServer::Usual).await?;
    database_copy::prepare_session(&mut new.connection).await?;
    let compared = comparison.compare(&mut source.session.connection, &mut new.connection).await;
    new.close().await?;
    let flushing = Arc::clone(clusters);
    run_blocking(move || flushing.flush()).await?;
    compared
}

/// Fills the empty new database; returns how it is to be compared.
async fn fill(
    project: &Project,
    clusters: &Arc<ClusterUpgrade>,
    source: &mut OldDatabase<'_>,
    new: &mut UpgradeSession,
) -> anyhow::Result<Comparison> {
    let OldDatabase { session: old, snapshot, versions } = source;
    database_copy::prepare_session(&mut new.connection).await?;
    let missing = database_copy::list_missing_extensions(&mut old.connection, &mut new.connection).await?;
    if !missing.is_empty() {
        bail!(
            "the new PostgreSQL does not have the extensions {}: install them, name another PostgreSQL with PG_BIN_DIR, or \
             drop them from the database with the old PostgreSQL if nothing needs them",
            missing.join(", ")
        );
    }
    let statements = database_copy::list_role_statements(&mut old.connection).await.context("reading the roles")?;
    database_copy::run_statements(&mut new.connection, &statements.roles).await.context("creating the roles")?;
    let others = define_objects(project, versions.as_deref(), old, new).await?;
    let comparison = if others.is_empty() {
        copy_rows(old, new).await?;
        Comparison::Definitions
    } else {
        let Some(tools) = clusters.find_dump_tools() else {
            bail!(definitions::explain_tools(&others, clusters.new_major()))
        };
        eprintln!("Copying objects that are not Basalt's with {} …", tools.describe());
        new.recreate_database().await?;
        new.copy_by_tools(old, snapshot, &tools).await?;
        Comparison::Names
    };
    database_copy::run_statements(&mut new.connection, &statements.settings)
        .await
        .context("copying settings of roles")?;
    database_copy::analyze_and_flush(&mut new.connection).await.context("collecting statistics")?;
    Ok(comparison)
}

/// Copies the rows of all tables, in one transaction.
async fn copy_rows(old: &mut UpgradeSession, new: &mut UpgradeSession) -> anyhow::Result<()> {
    let tables = database_copy::list_tables(&mut old.connection).await.context("listing the tables")?;
    let bytes = tables.iter().map(|table| table.bytes).sum();
    eprintln!("Copying {} ({} MB) …", format_count(tables.len(), "table"), bytes >> 20);
    database_copy::begin_load(&mut new.connection).await?;
    database_copy::truncate(&mut new.connection, &tables).await.context("emptying the new tables")?;
    let bar = progress_bar(bytes, true);
    for table in &tables {
        bar.set_message(table.name.clone());
        let copied = database_copy::copy_rows(&mut old.connection, &mut new.connection, table).await;
        copied.with_context(|| format!("copying {}", table.name))?;
        bar.inc(table.bytes);
    }
    bar.finish_and_clear();
    let sequences = database_copy::list_sequences(&mut old.connection).await.context("reading sequences")?;
    database_copy::set_sequences(&mut new.connection, &sequences).await.context("setting sequences")?;
    database_copy::commit(&mut new.connection).await.context("committing the rows")
}
