//! The orders of the shop: their settings, the checks before the start, and the payment simulator.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use gotrue_rs::app::App;
use gotrue_rs::config::Config;
use gotrue_rs::ports::clock::SharedClock;
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::mail::outbox::Outbox;
use gotrue_rs::store::Pool;
use orders::products::ProductFolder;
use orders::service::ListProducts;
use orders::settings::PaymentSettings;
use orders::simulator::{Simulator, simulate};
use orders::{OrderService, ServicePorts, ShopFacts};
use tokio::sync::watch;
use url::Url;

use crate::api_keys::LiveApiKeys;
use crate::assets::Shop;
use crate::catalogue::SIMULATOR_PATH;
use crate::dev::payment::PaymentPages;
use crate::outbound;
use crate::profiles;
use crate::project::Project;
use crate::serve::configure::Addresses;
use crate::serve::services::build_shop;
use crate::serve::submissions::PRODUCT;

/// What orders are built from.
pub(crate) struct OrderInputs<'a> {
    /// The project.
    pub project: &'a Project,
    /// The settings of the auth API.
    pub config: &'a Config,
    /// The URL of the server for clients.
    pub url: &'a str,
    /// The URL of the server for this machine.
    pub origin: &'a str,
    /// The database.
    pub pool: Pool,
    /// The queue of mails.
    pub outbox: Arc<Outbox>,
    /// The clock.
    pub clock: SharedClock,
    /// Randomness.
    pub entropy: Entropy,
    /// The host of `Message-ID`s.
    pub mail_host: &'a str,
}

impl<'a> OrderInputs<'a> {
    /// Returns the inputs of a server with this application.
    pub(super) fn of_app(
        project: &'a Project,
        config: &'a Config,
        addresses: &'a Addresses,
        app: &'a App,
        outbox: &Arc<Outbox>,
    ) -> Self {
        Self {
            project,
            config,
            url: &addresses.url,
            origin: &addresses.origin,
            pool: app.pool.clone(),
            outbox: Arc::clone(outbox),
            clock: Arc::clone(&app.clock),
            entropy: app.entropy.fork(),
            mail_host: &app.mail_host,
        }
    }
}

/// The shop with its orders.
pub(super) struct ShopServices {
    /// Replaces the shop.
    pub replace: watch::Sender<Arc<Shop>>,
    /// The shop.
    pub shop: watch::Receiver<Arc<Shop>>,
    /// The orders, if there is a shop.
    pub orders: Option<Arc<OrderService>>,
    /// The payment simulator, in development.
    pub payment: Option<PaymentPages>,
}

/// Builds the shop and its orders, which read the catalogue of the present shop.
pub(super) fn start_shop(inputs: OrderInputs<'_>, keys: &LiveApiKeys) -> anyhow::Result<ShopServices> {
    let (project, config) = (inputs.project, inputs.config);
    let is_development = profiles::has_development_pages(config, &project.file.basalt);
    let built = build_shop(project, keys, &config.policy.site.site_url, is_development);
    let (replace, shop) = watch::channel(Arc::new(built));
    if !project.has_shop {
        return Ok(ShopServices { replace, shop, orders: None, payment: None });
    }
    let on_sale = shop.clone();
    let (orders, simulator) = build_orders(inputs, Arc::new(move || on_sale.borrow().list_products()))?;
    Ok(ShopServices { replace, shop, orders: Some(orders), payment: simulator.map(PaymentPages::new) })
}

/// Builds the service of orders, and the simulator where development pages are served.
pub(crate) fn build_orders(
    inputs: OrderInputs<'_>,
    products: ListProducts,
) -> anyhow::Result<(Arc<OrderService>, Option<Arc<Simulator>>)> {
    let OrderInputs { project, config, url, origin, pool, outbox, clock, entropy, mail_host } = inputs;
    let basalt = &project.file.basalt;
    let is_simulated = profiles::has_development_pages(config, basalt);
    let mut settings = resolve_paths(project, basalt.payment.clone());
    if is_simulated {
        let api = Url::parse(&format!("{origin}{SIMULATOR_PATH}/api/"))
            .context("building the address of the payment simulator")?;
        settings = simulate(settings, &api, &entropy);
    }
    let facts = ShopFacts {
        name: basalt.mail_brand.name.clone().unwrap_or_else(|| PRODUCT.to_owned()),
        brand: basalt.mail_brand.clone(),
        owner: basalt.shop_owner.clone(),
        mail_host: mail_host.to_owned(),
        url: url.trim_end_matches('/').to_owned(),
    };
    let folder = read_products(project)?.unwrap_or_default();
    let outbound = outbound::outbound_options(config);
    let simulator_entropy = entropy.fork();
    let ports = ServicePorts { pool, outbox, clock, entropy, outbound, products };
    let service = Arc::new(OrderService::new(settings, facts, folder, ports));
    let simulator = is_simulated.then(|| Arc::new(Simulator::new(Arc::clone(&service), simulator_entropy)));
    Ok((service, simulator))
}

/// Returns the settings with paths that do not depend on the working folder.
fn resolve_paths(project: &Project, mut settings: PaymentSettings) -> PaymentSettings {
    let apis = [
        settings.stripe.as_mut().map(|it| &mut it.api),
        settings.paypal.as_mut().map(|it| &mut it.api),
        settings.lemon_squeezy.as_mut().map(|it| &mut it.api),
    ];
    for api in apis.into_iter().flatten() {
        api.ca_file = api.ca_file.take().map(|file| project.layout.folder.join(file));
    }
    settings
}

/// Returns the configured folder of products, or the one beside the binary or of the package.
fn find_products(project: &Project) -> Option<PathBuf> {
    let configured = project.file.basalt.payment.products.as_ref().map(|folder| project.layout.folder.join(folder));
    configured.or_else(|| ProductFolder::find_default(&std::env::current_exe().ok()?))
}

/// Reads the products; `None` if there is no folder.
fn read_products(project: &Project) -> anyhow::Result<Option<ProductFolder>> {
    let Some(folder) = find_products(project) else { return Ok(None) };
    let read = ProductFolder::read(&folder);
    read.map(Some).with_context(|| format!("reading {}/products.json, the index of what buyers get", folder.display()))
}

/// Returns a warning about payment links that lead nowhere.
pub(crate) fn describe_placeholders(project: &Project) -> Option<String> {
    let titles = project.catalogue.list_placeholders();
    (project.has_shop && !titles.is_empty()).then(|| {
        format!(
            "the payment links of these templates lead nowhere, give each a link in catalogue.toml: {}",
            titles.join(", ")
        )
    })
}

/// Refuses to sell what cannot be delivered, and links that lead nowhere on a public site.
pub(crate) fn check_payments(project: &Project, config: &Config) -> anyhow::Result<()> {
    if !project.has_shop {
        return Ok(());
    }
    let (basalt, is_development) =
        (&project.file.basalt, profiles::has_development_pages(config, &project.file.basalt));
    if let Some(warning) = describe_placeholders(project) {
        if !is_development && !basalt.payment.allow_placeholder_links {
            bail!("{warning}. A shop without payments sets allow_placeholder_links = true under [basalt.shop.payment]");
        }
        if is_development {
            tracing::warn!("{warning}; here they lead to the payment simulator");
        } else {
            tracing::warn!("{warning}");
        }
    }
    if !basalt.payment.has_provider() {
        return Ok(());
    }
    if config.smtp.is_none() && !is_development && basalt.inbox_token.is_none() {
        bail!("[basalt.shop.payment] needs a mail server for download links: set [auth.email.smtp]");
    }
    let Some(folder) = read_products(project)? else {
        bail!(
            "[basalt.shop.payment] needs the files for buyers, and there is no folder products beside the binary and no \
             /usr/share/basalt/products: set products to the folder that `npm run build` writes, frontend/products"
        );
    };
    let missing = folder.list_missing(&project.catalogue.list_for_sale());
    if !missing.is_empty() {
        bail!(
            "{} has no file for these templates, which have a payment link: {}. Add the files to it and to products.json, \
             or make them custom designs by link = \"\" in catalogue.toml",
            folder.path.display(),
            missing.join(", ")
        );
    }
    Ok(())
}
