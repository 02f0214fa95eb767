//! `basalt db anonymise`: pseudonyms in place of the personal data of a copy of a database.

use std::io::Write;
use std::time::Duration;

use anonymisation::{AnonymisationSummary, anonymise_database, count_other_clients};
use anyhow::{Context, bail};
use clap::Args;
use data_folder::DataFolder;
use embedded_postgres::TcpPort;
use foundation::secret::Secret;
use gotrue_rs::config::DatabaseSettings;
use platform::clock::{Clock, SystemClock};
use platform::entropy::Entropy;
use platform::store::acquire_connection;
use sqlx::PgConnection;

use super::process::build_runtime;
use crate::anonymisation_options::{AnonymisationArguments, PreparedAnonymisation};
use crate::config_file::LogFormat;
use crate::database_source::{DatabaseOptions, find_database};
use crate::plural::format_count;
use crate::progress::progress_bar;
use crate::project::{Project, ProjectArguments};
use crate::{api_keys, database, logging};

/// The long help of the command.
pub(super) const ANONYMISE_HELP: &str =
    "Replace personal data in a copy of a database by pseudonyms, and remove tokens and secrets

For tests with data of the shape of production. Make a copy first, and never run this on the original: nothing can be
undone. All tables of the schemas auth and basalt are covered; those of other schemas are listed and not changed.

E-mail addresses, phone numbers, names, URLs, IP addresses and user agents get pseudonyms in ranges that are reserved
for examples. The same value has the same pseudonym everywhere, also in metadata and audit entries, and with the same
--seed also in another copy. Passwords become one that is known; sessions end. Each page of rows is a transaction: if
it is interrupted, the same command with the same seed continues.";

/// How often clients that are just leaving are waited for.
const LEAVING_CHECKS: usize = 10;
/// The interval between two checks.
const LEAVING_INTERVAL: Duration = Duration::from_millis(100);

/// The arguments of `basalt db anonymise`.
#[derive(Debug, Args)]
pub(super) struct AnonymiseArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// The database, as a role that owns the tables and may create a schema [default: the embedded one]
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Confirm that the data of this database are replaced for good
    #[arg(long)]
    yes: bool,
    /// Do it although other clients are connected, such as a running server
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    anonymisation: AnonymisationArguments,
}

/// Anonymises the database and prints what was done.
pub(super) fn run(arguments: &AnonymiseArguments) -> anyhow::Result<()> {
    if !arguments.yes {
        bail!(
            "nothing was changed: this replaces the data for good, so use a copy of the database and confirm with --yes"
        );
    }
    logging::start("warn", LogFormat::Text, None)?;
    let summary = build_runtime()?.block_on(async {
        let prepared = PreparedAnonymisation::prepare(&arguments.anonymisation).await?;
        match &arguments.database_url {
            Some(url) => anonymise_at(url, prepared, arguments.force).await,
            None => Box::pin(anonymise_embedded(prepared, arguments)).await,
        }
    })?;
    print_summary(&summary, arguments)
}

/// Starts the embedded database, and stops it afterwards.
async fn anonymise_embedded(
    prepared: PreparedAnonymisation,
    arguments: &AnonymiseArguments,
) -> anyhow::Result<AnonymisationSummary> {
    let project = Project::load(&arguments.project)?;
    if project.database_url()?.is_some() {
        bail!("nothing was changed: DATABASE_URL names an external database; name its copy with --database-url");
    }
    let keys = api_keys::combine(None, &project.configured_keys(), &Entropy::from_system(), SystemClock.now())?;
    let mut config = project.settings(&project.local_url(project.file.port()), &keys)?;
    // The lock of the folder is held by a running server.
    let folder = DataFolder::open(&project.data)?;
    let wanted = DatabaseOptions { ephemeral: false, url: None, port: TcpPort::None };
    let source = tokio::task::spawn_blocking(find_database(&project, &folder, wanted));
    let source = source.await.context("starting the database")??;
    let outcome = match source.open(&mut config, None).await {
        Ok(pool) => {
            pool.close().await;
            anonymise_at(&source.operator_url(), prepared, arguments.force).await
        }
        Err(error) => Err(error),
    };
    tokio::task::spawn_blocking(move || source.stop()).await.context("stopping the database")?;
    outcome
}

/// Anonymises the database of a URL.
async fn anonymise_at(
    url: &str,
    mut prepared: PreparedAnonymisation,
    is_forced: bool,
) -> anyhow::Result<AnonymisationSummary> {
    let settings = DatabaseSettings { url: Secret::from(url), ..DatabaseSettings::default() };
    let pool = database::build_migration_pool(&settings).await?;
    let mut connection = acquire_connection(&pool).await.context("connecting to the database")?;
    let others = wait_for_other_clients(&mut connection).await?;
    if others > 0 && !is_forced {
        bail!(
            "nothing was changed: {others} other clients are connected to the database. Stop its servers; --force does it \
             although they may write at the same time"
        );
    }
    if let Some(seed) = &prepared.new_seed {
        eprintln!("The seed is {seed}: --seed continues with it, or makes the same pseudonyms again.");
    }
    let summary = anonymise_database(&mut connection, &mut prepared.anonymisation, &progress_bar(0, false)).await;
    // The connection may be in a transaction that failed.
    drop(connection.close().await);
    pool.close().await;
    summary
}

/// Returns the number of other clients; those that are just leaving are waited for.
async fn wait_for_other_clients(connection: &mut PgConnection) -> anyhow::Result<i64> {
    let mut others = 0;
    for _ in 0..LEAVING_CHECKS {
        others = count_other_clients(connection).await.context("counting the clients of the database")?;
        if others == 0 {
            break;
        }
        tokio::time::sleep(LEAVING_INTERVAL).await;
    }
    Ok(others)
}

fn print_summary(summary: &AnonymisationSummary, arguments: &AnonymiseArguments) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let (mut replaced, mut deleted) = (0, 0);
    for (table, of_table, gone) in &summary.tables {
        writeln!(out, "{table}: {} changed, {gone} deleted", format_count(of_table, "row"))?;
        replaced += of_table;
        deleted += gone;
    }
    writeln!(out, "Changed {}, deleted {deleted}.", format_count(replaced, "row"))?;
    if !arguments.anonymisation.remove_passwords {
        writeln!(out, "The password of all users that had one is {:?}.", arguments.anonymisation.password)?;
    }
    if !summary.untouched.is_empty() {
        writeln!(out, "Not changed, because they are in other schemas: {}", summary.untouched.join(", "))?;
        if summary.untouched.iter().any(|table| table == "storage.objects") {
            writeln!(out, "`basalt storage anonymise` replaces the names and the files of storage.objects.")?;
        }
    }
    Ok(())
}
