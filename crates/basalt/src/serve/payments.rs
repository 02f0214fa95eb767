//! The orders of the shop: their settings and the payment simulator.

use std::sync::Arc;

use anyhow::Context;
use gotrue_rs::app::App;
use gotrue_rs::config::Config;
use orders::service::{FindUploaded, ListProducts};
use orders::settings::PaymentSettings;
use orders::simulator::{SIMULATOR_PATH, Simulator, simulate};
use orders::{OrderService, ServicePorts, ShopFacts, ShopFonts};
use platform::clock::SharedClock;
use platform::entropy::Entropy;
use platform::mail::outbox::Outbox;
use platform::store::Pool;
use tokio::sync::watch;
use url::Url;

use crate::api_keys::LiveApiKeys;
use crate::assets::{ServedPaths, Shop, find_font};
use crate::dev::payment::PaymentPages;
use crate::outbound;
use crate::product::PRODUCT;
use crate::profiles;
use crate::project::Project;
use crate::serve::configure::Addresses;
use crate::serve::live_shop::{DeskChanges, LiveShop, ShopSettings};
use crate::serve::payment_checks::{describe_missing_seller, read_products, warn_about_missing_products};

/// What orders are built from.
pub(crate) struct OrderInputs<'a> {
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
    /// The shop with what changes it.
    pub live: Arc<LiveShop>,
    /// The present pages.
    pub shop: watch::Receiver<Arc<Shop>>,
    /// The orders, if there is a shop.
    pub orders: Option<Arc<OrderService>>,
    /// The payment simulator, in development.
    pub payment: Option<PaymentPages>,
}

/// Builds the shop and its orders, which read the catalogue of the present shop.
pub(super) fn start_shop(
    inputs: OrderInputs<'_>,
    changes: DeskChanges,
    keys: &LiveApiKeys,
    served: ServedPaths,
) -> anyhow::Result<ShopServices> {
    let (project, config) = (inputs.project, inputs.config);
    let is_development = profiles::has_development_pages(config, &project.file.basalt);
    let settings = ShopSettings::of_project(project, &config.policy.site.site_url, is_development);
    let live = Arc::new(LiveShop::new(settings, changes, keys.clone(), served));
    let shop = live.subscribe();
    if !project.has_shop {
        return Ok(ShopServices { live, shop, orders: None, payment: None });
    }
    if let Some(missing) = describe_missing_seller(project, !is_development) {
        tracing::warn!(missing, "a public shop lacks what it has to tell its buyers");
    }
    let (known, on_sale, uploading) = (shop.clone(), shop.clone(), Arc::clone(&live));
    let uploads: FindUploaded = Arc::new(move |template| uploading.find_product(template));
    let (orders, simulator) = build_orders(inputs, Arc::new(move || known.borrow().list_products()), uploads)?;
    warn_about_missing_products(project, config, &orders, &shop.borrow());
    let list_for_sale: ListProducts = Arc::new(move || on_sale.borrow().list_for_sale());
    let payment = simulator.map(|simulator| PaymentPages::new(simulator, list_for_sale));
    Ok(ShopServices { live, shop, orders: Some(orders), payment })
}

/// Builds the service of orders, and the simulator where development pages are served.
pub(crate) fn build_orders(
    inputs: OrderInputs<'_>,
    products: ListProducts,
    uploads: FindUploaded,
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
        seller: project.identify_seller(),
        mail_host: mail_host.to_owned(),
        url: url.trim_end_matches('/').to_owned(),
        fonts: find_fonts(),
    };
    let folder = read_products(project)?.unwrap_or_default();
    let outbound = outbound::outbound_options(config);
    let simulator_entropy = entropy.fork();
    let ports = ServicePorts { pool, outbox, clock, entropy, outbound, products };
    let service = Arc::new(OrderService::new(settings, facts, folder, ports).with_uploads(uploads));
    let simulator = is_simulated.then(|| Arc::new(Simulator::new(Arc::clone(&service), simulator_entropy)));
    Ok((service, simulator))
}

/// Returns the paths of the fonts of the built shop.
fn find_fonts() -> ShopFonts {
    ShopFonts { besley: find_font("besley"), libre_franklin: find_font("libre-franklin") }
}

/// Returns the settings with paths that do not depend on the working folder.
fn resolve_paths(project: &Project, mut settings: PaymentSettings) -> PaymentSettings {
    let apis = [
        settings.stripe.as_mut().map(|stripe| &mut stripe.api),
        settings.paypal.as_mut().map(|paypal| &mut paypal.api),
        settings.lemon_squeezy.as_mut().map(|lemon_squeezy| &mut lemon_squeezy.api),
    ];
    for api in apis.into_iter().flatten() {
        api.ca_file = api.ca_file.take().map(|file| project.layout.folder.join(file));
    }
    settings
}
