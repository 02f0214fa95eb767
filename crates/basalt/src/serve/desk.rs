//! The owner's desk of the shop: its application, its API and its files.

use std::sync::Arc;

use anyhow::Context;
use desk::{
    CatalogueEditor, Checklist, Desk, DeskSettings, Figures, FindReadiness, FindSaleState, Orders, PageViews, Sale,
    SaleState, Sections, SetupState, ShopReadiness,
};
use foundation::time::Time;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use gotrue_rs::app::{App, EmailDelivery};
use gotrue_rs::config::Config;
use gotrue_rules::domain::redirect::is_loopback_url;
use orders::OrderService;
use platform::clock::SystemClock;
use platform::entropy::Entropy;
use platform::mail::outbox::Outbox;
use platform::store::Pool;
use tokio::sync::watch;
use url::Url;

use super::live_shop::LiveShop;
use super::submissions::build_section;
use crate::app;
use crate::assets::{DeskFiles, Shop};
use crate::catalogue::is_placeholder;
use crate::product::PRODUCT;
use crate::profiles;
use crate::project::Project;
use crate::router::{DeskArea, OwnHost};

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
    pub project: &'a Project,
    /// The settings of the auth API.
    pub config: &'a Config,
    /// The application of the auth API.
    pub app: &'a Arc<App>,
    /// The URL of the server for clients.
    pub url: &'a str,
    /// The queue of mails.
    pub outbox: &'a Arc<Outbox>,
    pub parts: ShopParts<'a>,
}

/// The shop with what changes it.
#[derive(Clone, Copy)]
pub(super) struct ShopParts<'a> {
    /// Its catalogue, which owners change.
    pub live: &'a Arc<LiveShop>,
    /// The present pages.
    pub shop: &'a watch::Receiver<Arc<Shop>>,
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
    let is_development = profiles::has_development_pages(config, &project.file.basalt);
    let views = Arc::new(PageViews::new(Arc::clone(&app.clock), is_development));
    let upkeep = desk::maintain(Arc::clone(app), Arc::clone(&views), stop).boxed();
    let api = build_api(&inputs, replacement.app.subscribe());
    let own_origin = project.file.basalt.desk_url.as_deref().and_then(|url| Url::parse(url).ok());
    let host = own_origin.as_ref().map(OwnHost::new);
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
    let shop = inputs.parts.shop.clone();
    let figures = Figures::new(Arc::new(move || shop.borrow().list_titles()));
    let submissions = build_section(project, main, outbox, inputs.parts.shop.clone());
    let sections = Sections::default()
        .with(build_catalogue_editor(inputs))
        .with(Checklist::new(find_readiness(inputs)))
        .with(figures)
        .with(submissions);
    let sections = match inputs.parts.orders {
        Some(orders) => sections.with(Orders::new(Arc::clone(orders))),
        None => sections,
    };
    Desk::new(DeskSettings { shop_name, own_urls }, app, sections)
}

fn build_catalogue_editor(inputs: &DeskInputs<'_>) -> CatalogueEditor {
    let orders = inputs.parts.orders.clone();
    let basalt = &inputs.project.file.basalt;
    // Without a provider, links lead to a shop elsewhere, which delivers.
    let delivers = basalt.payment.has_provider() || profiles::has_development_pages(inputs.config, basalt);
    let find_state: FindSaleState = Arc::new(move |id, link| {
        let file = orders.as_ref().and_then(|orders| orders.find_file(id));
        let state = match link {
            "" => SaleState::MadeToOrder,
            _ if file.is_none() => SaleState::NoProductFile,
            link if is_placeholder(link) => SaleState::PlaceholderLink,
            _ => SaleState::Sells,
        };
        Sale {
            state,
            file,
            has_folder_file: orders.as_ref().is_some_and(|orders| orders.has_folder_file(id)),
            owes_file: delivers && !link.is_empty() && !is_placeholder(link),
        }
    });
    let has_own_origin = basalt.desk_url.is_some();
    let shop_origin = if has_own_origin { inputs.url.trim_end_matches('/').to_owned() } else { String::new() };
    CatalogueEditor::new(Arc::clone(inputs.parts.live) as _, find_state, shop_origin)
}

/// Returns what the shop has and lacks, as the checklist of the desk shows it.
fn find_readiness(inputs: &DeskInputs<'_>) -> FindReadiness {
    let DeskInputs { project, config, .. } = *inputs;
    let site_url = config.policy.site.site_url.clone();
    let (has_mail_server, is_address_public) = (config.smtp.is_some(), !is_loopback_url(&site_url));
    let has_provider = project.file.basalt.payment.has_provider();
    let (shop, orders) = (inputs.parts.shop.clone(), inputs.parts.orders.clone());
    Arc::new(move || {
        let shop = shop.borrow();
        let on_sale = shop.list_for_sale();
        ShopReadiness {
            has_mail_server,
            address: site_url.clone(),
            is_address_public,
            missing_files: orders.as_ref().map(|orders| orders.list_missing_files(&on_sale)).unwrap_or_default(),
            has_provider,
            unpayable: shop.list_unpayable(),
        }
    })
}

/// Creates the link that makes the first owner, at each start of a project with a desk until there is one.
///
/// `None` if there is an owner, or a link that another server has printed since `kept_since`.
pub(super) async fn prepare_start(
    project: &Project,
    pool: &Pool,
    url: &str,
    kept_since: Time,
) -> anyhow::Result<Option<String>> {
    if !project.has_desk() {
        return Ok(None);
    }
    let entropy = Entropy::from_system();
    let state = desk::prepare_start(pool, &SystemClock, &entropy, kept_since).await;
    match state.context("preparing the desk")? {
        SetupState::Link(token) => Ok(Some(format_setup_link(project.desk_url(url), &token))),
        SetupState::Waiting => {
            tracing::info!(
                "the desk has no owner yet: another server has printed the link, or it is being used; `basalt desk link` prints another one"
            );
            Ok(None)
        }
        SetupState::Complete => Ok(None),
    }
}

/// Formats the link that makes the first owner. Browsers send no fragment, so no log has the token.
pub(crate) fn format_setup_link(url: &str, token: &str) -> String {
    format!("{}/#setup={token}", format_desk_url(url))
}

/// Formats the link by which an owner gets back in.
pub(crate) fn format_reset_link(url: &str, token: &str) -> String {
    format!("{}/#reset={token}", format_desk_url(url))
}

/// Formats the address of the desk of a server or site at `url`, by the host at which passkeys work.
pub(crate) fn format_desk_url(url: &str) -> String {
    format!("{}{}", desk::prefer_localhost(url), desk::MOUNT)
}

/// Returns the address of the desk of a project whose server is at `url`, if it has one.
pub(crate) fn find_desk_url(project: &Project, url: &str) -> Option<String> {
    project.has_desk().then(|| format!("{}/", format_desk_url(project.desk_url(url))))
}
