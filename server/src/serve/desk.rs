//! The owner's desk of the shop: its application, its API and its files.

use std::sync::Arc;

use anyhow::Context;
use desk::{Desk, DeskSettings, PageViews, Section, SetupState};
use gotrue_rs::app::{App, EmailDelivery};
use gotrue_rs::config::Config;
use gotrue_rs::ports::clock::SystemClock;
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::mail::outbox::Outbox;
use gotrue_rs::store::Pool;
use tokio::sync::watch;
use url::Url;

use super::submissions::PRODUCT;
use crate::app;
use crate::assets::DeskFiles;
use crate::project::Project;
use crate::router::DeskArea;

/// Replaces the application of the desk, for all later requests.
#[derive(Clone)]
pub(super) struct DeskReplacement {
    app: watch::Sender<Arc<App>>,
    url: String,
    outbox: Arc<Outbox>,
}

impl DeskReplacement {
    /// Builds the application of the desk from that of the auth API.
    fn new(app: &App, config: &Config, url: &str, outbox: Arc<Outbox>) -> anyhow::Result<Self> {
        let first = build_app(app, config, url, Arc::clone(&outbox))?;
        Ok(Self { app: watch::Sender::new(first), url: url.to_owned(), outbox })
    }

    /// Replaces the application by one of the same keys and settings as `app`.
    pub(super) fn replace(&self, app: &App, config: &Config) -> anyhow::Result<()> {
        self.app.send_replace(build_app(app, config, &self.url, Arc::clone(&self.outbox))?);
        Ok(())
    }
}

/// Builds an application with the policy of the desk, which shares pool, counters and threads with `app`.
fn build_app(app: &App, config: &Config, url: &str, outbox: Arc<Outbox>) -> anyhow::Result<Arc<App>> {
    let mut config = config.clone();
    desk::apply_policy(&mut config.policy, url);
    let app = app::rebuild(app, &config, EmailDelivery::Outbox(outbox), true).context("preparing the desk")?;
    Ok(Arc::new(app))
}

/// The desk of a server.
pub(super) struct BuiltDesk {
    /// Answers requests.
    pub area: DeskArea,
    /// Replaces its application.
    pub replacement: DeskReplacement,
    /// The counters of page requests, which are written in the background.
    pub views: Arc<PageViews>,
}

impl BuiltDesk {
    /// Adds a section to the API; returns the desk and what replaces its application.
    pub(super) fn with_section(self, name: &'static str, section: Arc<dyn Section>) -> (DeskArea, DeskReplacement) {
        (self.area.with_section(name, section), self.replacement)
    }
}

/// Builds the desk, if the project has one.
pub(super) fn build(
    project: &Project,
    config: &Config,
    app: &App,
    url: &str,
    outbox: &Arc<Outbox>,
) -> anyhow::Result<Option<BuiltDesk>> {
    if !project.has_desk() {
        return Ok(None);
    }
    let replacement = DeskReplacement::new(app, config, url, Arc::clone(outbox))?;
    let own_urls = [url, &config.policy.site.site_url].into_iter().filter_map(|url| Url::parse(url).ok()).collect();
    let shop_name = project.file.basalt.mail_brand.name.clone().unwrap_or_else(|| PRODUCT.to_owned());
    let api = Desk::new(DeskSettings { shop_name, own_urls }, replacement.app.subscribe());
    let views = Arc::new(PageViews::new(Arc::clone(&app.clock)));
    let area = DeskArea { api, files: DeskFiles::load(), views: Arc::clone(&views) };
    Ok(Some(BuiltDesk { area, replacement, views }))
}

/// Creates the link that makes the first owner, at the first start of a project with a desk.
///
/// Returns the link if it is new.
pub(super) async fn prepare_first_start(project: &Project, pool: &Pool, url: &str) -> anyhow::Result<Option<String>> {
    if !project.has_desk() {
        return Ok(None);
    }
    let entropy = Entropy::from_system();
    let state = desk::prepare_first_start(pool, &SystemClock, &entropy).await.context("preparing the desk")?;
    match state {
        SetupState::Link(token) => Ok(Some(format_setup_link(url, &token))),
        SetupState::Waiting => {
            tracing::info!("the desk has no owner yet: open its link, or print another one with `basalt desk link`");
            Ok(None)
        }
        SetupState::Complete => Ok(None),
    }
}

/// Formats the link that makes the first owner. Browsers send no fragment, so no log has the token.
pub(crate) fn format_setup_link(url: &str, token: &str) -> String {
    format!("{}{}/#setup={token}", url.trim_end_matches('/'), desk::MOUNT)
}
