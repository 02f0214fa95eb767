//! Settings read again while requests are served, as the reference does it with `--config-dir`: when its files change, or
//! at a signal. What does not check changes nothing.

#[cfg(target_os = "linux")]
mod notified;
mod polled;
mod watching;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use gotrue_rs::app::App;
use gotrue_rs::config::{Config, Notice, Problem, Vars, load};
use tokio::sync::watch;

use self::watching::Watching;
use crate::{gotrue, logging, profiles};
use http_edge::Closing;

/// Where settings come from.
pub struct Source {
    /// The variables in force.
    pub vars: Vars,
    /// The folder whose files overlay them.
    pub folder: PathBuf,
}

/// Puts another application into `current` whenever the settings of `source` have changed, until `closing` says so.
pub async fn run(mut source: Source, mut config: Config, current: watch::Sender<Arc<App>>, mut closing: Closing) {
    let Some(watching) = Watching::start(&source.folder, &config.reloading) else {
        let why = "GOTRUE_RELOADING_NOTIFY_ENABLED and GOTRUE_RELOADING_SIGNAL_ENABLED are false";
        return tracing::info!(folder = %source.folder.display(), "its files are not read again: {why}");
    };
    loop {
        tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => return,
            () = watching.settled() => {}
        }
        let folder = source.folder.display().to_string();
        match tokio::task::block_in_place(|| again(&mut source, &mut config, &current)) {
            Ok(()) => tracing::info!(folder, "the settings were read again and hold from now on"),
            Err(error) => {
                tracing::error!(folder, "the settings in force stay, for the new ones cannot be used: {error:#}");
            }
        }
    }
}

/// Reads, checks and puts in force, or changes nothing.
fn again(source: &mut Source, config: &mut Config, current: &watch::Sender<Arc<App>>) -> anyhow::Result<()> {
    let vars = source.vars.again(&source.folder)?;
    let mut new = load(&vars).map_err(|problems| anyhow::Error::msg(told(&problems)))?;
    profiles::gotrue(&mut new.policy);
    let before = Arc::clone(&current.borrow());
    let app = gotrue::rebuild(&before, &new, new.outbound == config.outbound).context("building")?;
    let unheard: Vec<Notice> = new.notices.iter().filter(|it| !config.notices.contains(it)).cloned().collect();
    logging::tell(&unheard);
    for what in only_at_start(config, &new) {
        tracing::warn!("{what} changed; that takes effect at the next start");
    }
    current.send_replace(Arc::new(app));
    source.vars = vars;
    // What takes effect at the start alone is told of once for each change.
    *config = new;
    Ok(())
}

/// What changed that a running server cannot change any more.
fn only_at_start(before: &Config, now: &Config) -> Vec<&'static str> {
    let deadline = |config: &Config| config.policy.api.max_request_duration;
    [
        ("GOTRUE_API_HOST or PORT", before.listen != now.listen),
        ("DATABASE_URL or another setting of the database", before.database != now.database),
        ("the time limit of statements (GOTRUE_API_MAX_REQUEST_DURATION)", deadline(before) != deadline(now)),
        ("a setting of the log", before.log != now.log),
        ("a setting of the metrics", before.metrics != now.metrics),
        ("a setting of reloading (GOTRUE_RELOADING_…)", before.reloading != now.reloading),
    ]
    .into_iter()
    .filter_map(|(what, is_changed)| is_changed.then_some(what))
    .collect()
}

/// All problems, a line each.
pub fn told(problems: &[Problem]) -> String {
    let mut text = String::from("these settings cannot be used:");
    for problem in problems {
        let _ = write!(text, "\n  {problem}");
    }
    text
}
