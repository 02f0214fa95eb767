//! The owner's desk of the shop: its application, its API and its files.

use std::sync::Arc;

use anyhow::Context;
use desk::{Desk, DeskSettings, Figures, Orders, PageViews, SetupState};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use gotrue_rs::app::{App, EmailDelivery};
use gotrue_rs::config::Config;
use gotrue_rs::ports::clock::SystemClock;
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::mail::outbox::Outbox;
use gotrue_rs::store::Pool;
use orders::OrderService;
use tokio::sync::watch;
use url::{Position, Url};

use super::shop::PRODUCT;
use super::submissions::build_section;
use crate::app;
use crate::assets::{DeskFiles, Shop};
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

/// Builds an application with the policy of the desk; pool, counters and threads are those of `app`.
fn build_app(app: &App, config: &Config, url: &str, outbox: Arc<Outbox>) -> anyhow::Result<Arc<App>> {
    let mut config = config.clone();
    desk::apply_policy(&mut config.policy, url);
    let app = app::rebuild(app, &config, EmailDelivery::Outbox(outbox), true).context("preparing the desk")?;
    Ok(Arc::new(app))
}

/// What the desk shares with the other services.
#[derive(Clone, Copy)]
pub(super) struct DeskInputs<'a> {
    /// The project.
    pub project: &'a Project,
    /// The settings of the auth API.
    pub config: &'a Config,
    /// The application of the auth API.
    pub app: &'a Arc<App>,
    /// The URL of the server for clients.
    pub url: &'a str,
    /// The queue of mails.
    pub outbox: &'a Arc<Outbox>,
    /// The shop.
    pub shop: &'a watch::Receiver<Arc<Shop>>,
    /// The orders of the shop.
    pub orders: &'a Option<Arc<OrderService>>,
}

/// The desk of a server, if the project has one.
pub(super) struct StartedDesk {
    /// Answers requests.
    pub area: Option<DeskArea>,
    /// Replaces its application.
    pub replacement: Option<DeskReplacement>,
    /// Writes views and deletes expired sessions until shutdown.
    pub upkeep: BoxFuture<'static, ()>,
}

/// Builds the desk; its upkeep ends after `stop`.
pub(super) fn start(
    inputs: DeskInputs<'_>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<StartedDesk> {
    let DeskInputs { project, config, app, url, outbox, .. } = inputs;
    if !project.has_desk() {
        return Ok(StartedDesk { area: None, replacement: None, upkeep: ready(()).boxed() });
    }
    let desk_url = project.desk_url(url);
    let replacement = DeskReplacement::new(app, config, desk_url, Arc::clone(outbox))?;
    let views = Arc::new(PageViews::new(Arc::clone(&app.clock)));
    let upkeep = desk::maintain(Arc::clone(app), Arc::clone(&views), stop).boxed();
    let api = build_api(&inputs, replacement.app.subscribe());
    let own_origin = project.file.basalt.desk_url.as_deref().and_then(|url| Url::parse(url).ok());
    let host = own_origin.map(|url| url[Position::BeforeHost..Position::AfterPort].to_owned());
    let area = Some(DeskArea { api, files: DeskFiles::load(), views, host });
    Ok(StartedDesk { area, replacement: Some(replacement), upkeep })
}

/// Builds the API with its sections.
fn build_api(inputs: &DeskInputs<'_>, app: watch::Receiver<Arc<App>>) -> Desk {
    let DeskInputs { project, config, app: main, url, outbox, .. } = *inputs;
    let own_urls = match &project.file.basalt.desk_url {
        Some(own) => vec![own.as_str()],
        None => vec![url, &config.policy.site.site_url],
    };
    let own_urls = own_urls.into_iter().filter_map(|url| Url::parse(url).ok()).collect();
    let shop_name = project.file.basalt.mail_brand.name.clone().unwrap_or_else(|| PRODUCT.to_owned());
    let shop = inputs.shop.clone();
    let figures = Figures::new(Arc::new(move || shop.borrow().list_titles()));
    let submissions = build_section(project, main, outbox, inputs.shop.clone());
    let api = Desk::new(DeskSettings { shop_name, own_urls }, app)
        .with_section("figures", Arc::new(figures))
        .with_section("submissions", submissions);
    match inputs.orders {
        Some(orders) => api.with_section("orders", Arc::new(Orders::new(Arc::clone(orders)))),
        None => api,
    }
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
        SetupState::Link(token) => Ok(Some(format_setup_link(project.desk_url(url), &token))),
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
