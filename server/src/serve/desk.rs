//! The owner's desk of the shop: its application, its API and its files.

use std::sync::Arc;

use anyhow::Context;
use desk::{Desk, DeskSettings};
use gotrue_rs::app::{App, EmailDelivery};
use gotrue_rs::config::Config;
use gotrue_rs::ports::mail::outbox::Outbox;
use tokio::sync::watch;
use url::Url;

use super::services::PRODUCT;
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

/// Builds the desk, if the project has one.
pub(super) fn build(
    project: &Project,
    config: &Config,
    app: &App,
    url: &str,
    outbox: &Arc<Outbox>,
) -> anyhow::Result<Option<(DeskArea, DeskReplacement)>> {
    if !project.has_desk() {
        return Ok(None);
    }
    let replacement = DeskReplacement::new(app, config, url, Arc::clone(outbox))?;
    let own_urls = [url, &config.policy.site.site_url].into_iter().filter_map(|url| Url::parse(url).ok()).collect();
    let shop_name = project.file.basalt.mail_brand.name.clone().unwrap_or_else(|| PRODUCT.to_owned());
    let api = Desk::new(DeskSettings { shop_name, own_urls }, replacement.app.subscribe());
    Ok(Some((DeskArea { api, files: DeskFiles::load() }, replacement)))
}
