//! Reloads settings at run time, as GoTrue does with `--config-dir`: on file changes or a signal.
//! Invalid settings change nothing.

mod notified;
mod polling;
mod source;
mod watcher;

use std::fmt::{Display, Write as _};
use std::sync::Arc;

use anyhow::Context;
use foundation::error_chain::ErrorChain;
use gotrue_rs::app::{App, EmailDelivery};
use gotrue_rs::config::{Config, DatabaseSettings, Notice, load};
use gotrue_rs::store::migrate;
use tokio::runtime::Handle;
use tokio::sync::watch;

pub(crate) use self::source::{ConfigSource, FileFilter, SettingsFiles};
pub(crate) use self::watcher::SettingsWatcher;

use crate::{app, database, logging, outbound, profiles};
use http_edge::ShutdownSignal;

/// Replaces the application in `current` when the settings of `source` change, until shutdown.
pub(crate) async fn run(
    mut source: ConfigSource,
    mut config: Config,
    current: watch::Sender<Arc<App>>,
    mut closing: ShutdownSignal,
) {
    let Some(watching) = SettingsWatcher::start(&source.files, &config.reloading) else {
        return tracing::info!(
            folder = %source.folder.display(),
            "reloading is off: GOTRUE_RELOADING_NOTIFY_ENABLED and GOTRUE_RELOADING_SIGNAL_ENABLED are false"
        );
    };
    loop {
        tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => return,
            () = watching.wait_for_change() => {}
        }
        let folder = source.folder.display().to_string();
        match tokio::task::block_in_place(|| reload(&mut source, &mut config, &current)) {
            Ok(()) => tracing::info!(folder, "settings reloaded"),
            Err(error) => {
                tracing::error!(folder, error = %ErrorChain(error.as_ref()), "settings are invalid, keeping the current ones");
            }
        }
    }
}

/// Reads, validates and applies the settings; on an error nothing changes.
fn reload(source: &mut ConfigSource, config: &mut Config, current: &watch::Sender<Arc<App>>) -> anyhow::Result<()> {
    let vars = source.vars.reload(&source.folder)?;
    let mut new = load(&vars).map_err(|problems| anyhow::Error::msg(format_problems(&problems)))?;
    profiles::apply_gotrue_profile(&mut new.policy);
    create_needed_tables(config, &new, &config.database)?;
    let before = Arc::clone(&current.borrow());
    let delivery = EmailDelivery::Synchronous(outbound::build_mailer_or_discard(&new)?);
    let app = app::rebuild(&before, &new, delivery, new.outbound == config.outbound).context("building")?;
    let unheard: Vec<Notice> = new.notices.iter().filter(|notice| !config.notices.contains(notice)).cloned().collect();
    logging::log_notices(&unheard);
    for what in settings_requiring_restart(config, &new) {
        tracing::warn!(setting = what, "a changed setting takes effect at the next start");
    }
    current.send_replace(Arc::new(app));
    source.vars = vars;
    // Each change of a setting that needs a restart is logged once.
    *config = new;
    Ok(())
}

/// Creates the tables that the new settings need and those before did not: those of recovery codes.
///
/// It blocks, and must run where the runtime allows that.
///
/// # Errors
/// The tables cannot be created in this database; the settings cannot take effect then.
pub(crate) fn create_needed_tables(before: &Config, new: &Config, database: &DatabaseSettings) -> anyhow::Result<()> {
    let has_recovery_codes = |config: &Config| config.policy.mfa.recovery_codes.is_enabled();
    if has_recovery_codes(before) || !has_recovery_codes(new) {
        return Ok(());
    }
    Handle::current().block_on(async {
        let pool = database::build_migration_pool(database).await?;
        let created = migrate::migrate_recovery_codes(&pool, &database.namespace).await;
        pool.close().await;
        created.map(drop).context("preparing schema auth for recovery codes")
    })
}

/// Returns the changed settings that take effect only after a restart.
fn settings_requiring_restart(before: &Config, now: &Config) -> Vec<&'static str> {
    let deadline = |config: &Config| config.policy.api.max_request_duration;
    [
        ("GOTRUE_API_HOST or PORT", before.listen != now.listen),
        ("DATABASE_URL or another setting of the database", before.database != now.database),
        ("the time limit of statements (GOTRUE_API_MAX_REQUEST_DURATION)", deadline(before) != deadline(now)),
        ("a setting of the log", before.log != now.log),
        ("a setting of the store of limits (GOTRUE_RATE_LIMIT_STORE_…)", before.limit_store != now.limit_store),
        ("a setting of the metrics", before.metrics != now.metrics),
        ("a setting of the export of traces and metrics", before.telemetry != now.telemetry),
        ("a setting of reloading (GOTRUE_RELOADING_…)", before.reloading != now.reloading),
    ]
    .into_iter()
    .filter_map(|(what, is_changed)| is_changed.then_some(what))
    .collect()
}

/// Formats problems, one per line.
pub(crate) fn format_problems(problems: &[impl Display]) -> String {
    let mut text = String::from("these settings cannot be used:");
    for problem in problems {
        let _ = write!(text, "\n  {problem}");
    }
    text
}
