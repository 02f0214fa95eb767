//! The services of `basalt serve`: auth, functions, shop and development pages behind one router.

use std::sync::Arc;

use anyhow::{Context, bail};
use functions_rs::Functions;
use functions_rs::functions::send_submission::SendSubmission;
use functions_rs::gateway::CheckStanding;
use gateway::{Gateway, PublicOrigin, Service};
use gotrue_rs::app::{App, EmailDelivery};
use gotrue_rs::config::Config;
use gotrue_rs::services::sessions::standing;
use platform::entropy::Entropy;
use platform::events::EventLog;
use platform::explanation::{ExplanationStore, Explanations};
use platform::mail::outbox::Outbox;
use platform::mail::{MailFaultInjector, SharedMailer};
use platform::store::Pool;
use platform::store::outbox::OutboxTable;
use provider_simulator::Simulator;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use url::Url;

use super::configure::Addresses;
use super::data_api::RunningDataApi;
use super::desk::{self, DeskInputs, DeskReplacement, ShopParts, StartedDesk};
use super::live_shop::{DeskChanges, LiveShop};
use super::payments::{OrderInputs, ShopServices, start_shop};
use super::storage::RunningStorage;
use super::submissions::{JobLifetime, start_jobs, submission_settings, template_titles, wait_for_shutdown};
use crate::api_keys::{ApiKeyGateway, LiveApiKeys};
use crate::app::SharedPorts;
use crate::assets::{ServedPaths, Shop};
use crate::config_file::FunctionSettings;
use crate::dev::consent;
use crate::dev::{Access, DevelopmentPages, InboxPages, KeptMessages, MailPreview, ShopMails, UserPages};
use crate::mailed_links::{LinkFacts, MailedLinks};
use crate::project::Project;
use crate::router::{
    AllowedSenders, ContentHost, EdgeRouter, FormVisits, ForwardedServices, RouterExplanations, TransportSecurity,
};
use crate::upkeep::JobLeases;
use crate::{app, database, outbound, profiles, project_schema, upkeep};
use http_edge::ShutdownSignal;
use http_edge::request::TrustedProxies;

/// The functions that can be served.
pub(crate) const BUILT_IN_FUNCTIONS: [&str; 1] = ["send-submission"];

/// Replaces what serves requests, for all later ones.
pub(super) struct Replacements {
    /// The application of the auth API.
    pub app: watch::Sender<Arc<App>>,
    pub shop: Arc<LiveShop>,
    /// The application of the owner's desk, if there is one.
    pub desk: Option<DeskReplacement>,
    /// The keys of the data API, if there is one.
    pub data_api: Option<RunningDataApi>,
    /// The keys of the storage API, if there is one.
    pub storage: Option<RunningStorage>,
}

/// The router and the background tasks of a running server.
pub(super) struct Services {
    /// The request entry point.
    pub router: Arc<EdgeRouter>,
    /// The application of the auth API.
    pub app: Arc<App>,
    /// Replaces what serves requests.
    pub replace: Replacements,
    /// The queue of e-mail messages.
    pub outbox: Arc<Outbox>,
    /// Delivers e-mail until shutdown; without a mail server deletes old messages instead.
    pub worker: JoinHandle<()>,
    /// Maintains the database until shutdown.
    pub upkeep: JoinHandle<()>,
    /// The inbox of kept messages, if they can be read.
    pub inbox: Option<InboxPages>,
    /// Access to the development pages.
    pub access: Access,
}

/// Dependencies of the services.
pub(super) struct Dependencies<'a> {
    pub project: &'a Project,
    /// What its owners have changed of the catalogue.
    pub changes: DeskChanges,
    pub keys: &'a LiveApiKeys,
    /// The database, migrated.
    pub pool: Pool,
    /// The clock and the threads for hashing.
    pub shared: SharedPorts,
    /// The leases of the maintenance, if several servers may use the database.
    pub leases: Option<JobLeases>,
    /// Whether the database is new, so that nothing in it is due for deletion.
    pub is_new: bool,
    /// Where the server is reached; the development pages are below its URL.
    pub addresses: &'a Addresses,
    /// Records what happens, which only test servers do.
    pub events: Option<EventLog>,
    pub closing: ShutdownSignal,
    /// The provider simulator, if it is enabled.
    pub provider: Option<Arc<Simulator>>,
    /// The built-in consent page, if the operator configures none.
    pub consent: Option<consent::ConsentPage>,
    /// The data API, if there is one.
    pub data_api: Option<RunningDataApi>,
    /// The storage API, if there is one.
    pub storage: Option<RunningStorage>,
}

impl Services {
    /// Builds the services and starts their background tasks.
    pub(super) fn start(config: &Config, dependencies: Dependencies<'_>) -> anyhow::Result<Self> {
        let Dependencies {
            project,
            changes,
            keys,
            pool,
            shared,
            leases,
            is_new,
            addresses,
            events,
            closing,
            provider,
            consent,
            data_api,
            storage,
        } = dependencies;
        let (entropy, url) = (Entropy::from_system(), addresses.url.as_str());
        let mail_server = outbound::build_mailer(config)?;
        let is_development = profiles::has_development_pages(config, &project.file.basalt);
        let kept = KeptMessages::new(mail_server.is_some(), is_development, project.file.basalt.inbox_token.is_some());
        let outbox = Arc::new(build_outbox(&pool, &shared, kept, &entropy));
        let inbox = (kept.has_inbox && project.file.inbox_enabled())
            .then(|| InboxPages::new(&outbox, project.file.mail_sender(&project.display_name()), closing.clone()));
        let worker = start_worker(&outbox, mail_server, is_new, closing.clone());
        // The limits of a test environment read its clock, so they are counted in its process.
        let is_world = events.is_some();
        let explanations = build_explanations(project, config, &BackendAddress { url, events }, &entropy);
        let replica = database::build_replica(&config.database, &config.policy.api)?;
        let app = app::build(config, &shared, pool, EmailDelivery::Outbox(Arc::clone(&outbox)))?.with_replica(replica);
        let app = if is_world { app } else { app::with_limit_store(app, config)? };
        let app = Arc::new(app.with_explanations(explanations.clone()));
        http_edge::spawn_task(check_mail_templates(Arc::clone(&app)));
        let (replace, current) = watch::channel(Arc::clone(&app));
        let lifetime = JobLifetime::new(leases.as_ref(), &closing);
        let upkeep = if is_new {
            upkeep::start_with_indexes(current.clone(), closing.clone())
        } else {
            upkeep::start(current.clone(), leases, closing.clone())
        };
        let served = list_served_paths(project, data_api.is_some(), storage.is_some(), is_development);
        let ShopServices { live, shop, orders, payment } =
            start_shop(OrderInputs::of_app(project, config, addresses, &app, &outbox), changes, keys, served)?;
        let parts = ShopParts { live: &live, shop: &shop, orders: &orders };
        let inputs = DeskInputs { project, config, app: &app, url, outbox: &outbox, parts };
        let StartedDesk { area: desk, replacement, upkeep: desk_upkeep } =
            desk::start(inputs, wait_for_shutdown(closing))?;
        let jobs = start_jobs(project, &app, &outbox, template_titles(shop.clone()), lifetime);
        let upkeep = http_edge::spawn_task(async move { drop(tokio::join!(upkeep, jobs, desk_upkeep)) });
        let basalt = &project.file.basalt;
        let proxies = TrustedProxies::new(basalt.trusted_proxies.iter().copied());
        let access = Access::new(is_development, basalt.inbox_token.clone());
        let serving = current.clone();
        let functions = build_functions(project, &current, keys, Arc::clone(&outbox), shop.clone())
            .with_trusted_proxies(proxies.clone())
            .with_explanations(explanations.clone());
        let replace = Replacements {
            app: replace,
            shop: live,
            desk: replacement,
            data_api: data_api.clone(),
            storage: storage.clone(),
        };
        let is_https = basalt.tls.is_some() || url.starts_with("https:");
        let links = MailedLinks::new(link_facts(project), config, url, serving.clone());
        let users = UserPages::new(serving.clone());
        let shop_mails = orders
            .clone()
            .map(|orders| ShopMails { orders, submissions: submission_settings(project, &app.mail_host) });
        let mails = MailPreview::new(serving.clone(), shop_mails);
        let front = EdgeRouter {
            auth: gotrue_rs::reloadable_router(move || Arc::clone(&serving.borrow())),
            forwarded: build_forwarded(project, &functions, url, access.clone(), build_standing_check(&current))?,
            functions: functions_rs::router(functions),
            data_api: data_api.as_ref().map(|running| Arc::clone(&running.api)),
            content_host: find_content_host(project, url, storage.is_some())?,
            storage: storage.as_ref().map(|running| Arc::clone(&running.api)),
            shop,
            desk,
            form_visits: FormVisits::new(app.clock.clone()),
            orders: orders.map(orders::http::router),
            dev: DevelopmentPages::new(inbox.clone(), access.clone())
                .with_outbox(Arc::clone(&outbox))
                .with_mails(mails)
                .with_users(users)
                .with_provider(provider)
                .with_consent(consent)
                .with_payment(payment)
                .with_explanations(explanations.store().cloned()),
            senders: build_allowed_senders(url, &current),
            is_in_development: is_development || is_world,
            gateway: build_api_key_gateway(keys, current),
            proxies,
            transport_security: TransportSecurity::new(is_https, basalt.hsts_max_age),
            explanations: RouterExplanations::new(Arc::clone(&app)),
            links: Some(links),
            entropy,
        };
        Ok(Self { router: Arc::new(front), app, replace, worker, upkeep, outbox, inbox, access })
    }
}

/// Returns what the status page names; the others are answered by this process.
fn list_served_paths(project: &Project, has_data_api: bool, has_storage: bool, is_development: bool) -> ServedPaths {
    let is_forwarded = |service| project.file.basalt.upstreams.get(service).is_some();
    ServedPaths {
        has_data_api: has_data_api || is_forwarded(Service::Rest),
        has_storage: has_storage || is_forwarded(Service::Storage),
        has_development_pages: is_development,
    }
}

/// Returns the host of stored content, if the settings name one: it has nothing else, so no other part may be there.
fn find_content_host(project: &Project, url: &str, is_served: bool) -> anyhow::Result<Option<ContentHost>> {
    let basalt = &project.file.basalt;
    let Some(content) = basalt.storage.content_url.as_deref().and_then(|url| Url::parse(url).ok()) else {
        return Ok(None);
    };
    let place = |url: &Url| (url.host_str().map(str::to_owned), url.port_or_known_default());
    let others = [Some(url), basalt.desk_url.as_deref()].into_iter().flatten().filter_map(|url| Url::parse(url).ok());
    if others.map(|other| place(&other)).any(|other| other == place(&content)) {
        bail!("[basalt.storage] content_url must have a host of its own: nothing else is answered there");
    }
    if !is_served {
        tracing::warn!("[basalt.storage] content_url has no effect: this server does not serve the storage API");
        return Ok(None);
    }
    Ok(Some(ContentHost::new(&content)))
}

/// Returns what the pages of mailed links know about a project.
///
/// Without a shop, an operator who names a site has one, which can be at the address of the server behind a proxy.
fn link_facts(project: &Project) -> LinkFacts {
    LinkFacts {
        name: project.display_name(),
        brand: project.file.basalt.mail_brand.clone(),
        is_built_in: project.has_shop || !project.file.names_site(),
        settings: project.file.basalt.mailed_links,
    }
}

/// Starts the delivery of mail; without a mail server old messages are deleted.
fn start_worker(
    outbox: &Arc<Outbox>,
    mail_server: Option<SharedMailer>,
    is_new: bool,
    closing: ShutdownSignal,
) -> JoinHandle<()> {
    let stop = wait_for_shutdown(closing);
    match mail_server {
        Some(mail_server) => http_edge::spawn_task(outbox.build_worker(mail_server).run(stop)),
        None if is_new => http_edge::spawn_task(outbox.build_cleanup().starting_later().run(stop)),
        None => http_edge::spawn_task(outbox.build_cleanup().run(stop)),
    }
}

/// Builds the check of API keys, which accepts tokens of the present application.
fn build_api_key_gateway(keys: &LiveApiKeys, current: watch::Receiver<Arc<App>>) -> ApiKeyGateway {
    ApiKeyGateway::new(keys.clone(), move |token: &str, ago| {
        let app = Arc::clone(&current.borrow());
        app.keys.verify(token, app.clock.now() - ago).ok()
    })
}

/// Builds the check of senders while the keys are published: pages that may decide about OAuth clients are allowed.
fn build_allowed_senders(url: &str, current: &watch::Receiver<Arc<App>>) -> AllowedSenders {
    let current = current.clone();
    AllowedSenders::new(url, move |origin| current.borrow().redirect_allow_list.allows(origin))
}

/// Builds the check whether users may still call functions, by the present application.
fn build_standing_check(current: &watch::Receiver<Arc<App>>) -> CheckStanding {
    let current = current.clone();
    Arc::new(move |user, journal| {
        let app = Arc::clone(&current.borrow());
        Box::pin(async move {
            let now = app.clock.now();
            standing::is_in_good_standing(&app, user.id, user.session_id, journal, now).await.ok()
        })
    })
}

/// Builds the gateway to the services of `[basalt.upstreams]`, if there are any.
fn build_forwarded(
    project: &Project,
    functions: &Functions,
    url: &str,
    access: Access,
    check_standing: CheckStanding,
) -> anyhow::Result<Option<ForwardedServices>> {
    let basalt = &project.file.basalt;
    if basalt.upstreams.is_empty() {
        return Ok(None);
    }
    let gateway = Gateway::new(basalt.upstreams.clone(), basalt.upstream_limits, PublicOrigin::parse(url))
        .context("reading the root certificates for the addresses of [basalt.upstreams]")?;
    Ok(Some(ForwardedServices { gateway, built_in_functions: functions.names().collect(), access, check_standing }))
}

/// Fetches and validates remote mail templates at startup, in the background.
/// Template errors are thus logged before the first message is sent.
async fn check_mail_templates(app: Arc<App>) {
    for problem in app.email_templates.check_remote(app.clock.now()).await {
        tracing::warn!(problem, "mail template unusable");
    }
}

/// The address of a backend, and the record of its events.
struct BackendAddress<'a> {
    url: &'a str,
    events: Option<EventLog>,
}

/// Builds the explanations of refusals, which only development keeps.
fn build_explanations(
    project: &Project,
    config: &Config,
    backend: &BackendAddress<'_>,
    entropy: &Entropy,
) -> Explanations {
    let mut explanations = Explanations::default().with_names(Arc::new(project.file.locations()));
    if profiles::has_development_pages(config, &project.file.basalt) {
        let id_prefix = entropy.base32(5).to_ascii_lowercase();
        explanations = explanations.with_store(Arc::new(ExplanationStore::new(backend.url, &id_prefix)));
    }
    match &backend.events {
        Some(events) => explanations.with_events(events.clone()),
        None => explanations,
    }
}

/// Builds the outbox.
/// Messages are rows of the transactions that enqueue them; without a mail server they stay for the inbox.
pub(crate) fn build_outbox(pool: &Pool, shared: &SharedPorts, kept: KeptMessages, entropy: &Entropy) -> Outbox {
    let (table, clock) = (OutboxTable::new(pool.clone()), Arc::clone(&shared.clock));
    let outbox = kept.apply_to(Outbox::new(table, clock, entropy.fork(), kept.destination));
    match &shared.faults {
        Some(faults) => outbox.with_faults(Arc::clone(faults) as Arc<dyn MailFaultInjector>),
        None => outbox,
    }
}

/// Builds the built-in functions with the settings of `[functions.NAME]`.
fn build_functions(
    project: &Project,
    current: &watch::Receiver<Arc<App>>,
    keys: &LiveApiKeys,
    outbox: Arc<Outbox>,
    shop: watch::Receiver<Arc<Shop>>,
) -> Functions {
    let (app, checking) = (Arc::clone(&current.borrow()), current.clone());
    let check_token = Arc::new(move |token: &str, now| Arc::clone(&checking.borrow()).keys.verify(token, now).ok());
    let verifier = Arc::new(functions_rs::CredentialVerifier::new(keys.opaque_ring(), check_token));
    let mut functions = Functions::new(verifier, app.clock.clone(), app.entropy.fork())
        .with_standing_check(build_standing_check(current));

    let wanted = project.file.functions();
    let send_submission = FunctionSettings::for_function(&wanted, BUILT_IN_FUNCTIONS[0]);
    if send_submission.enabled {
        if project.has_shop && project.file.basalt.shop_owner.is_none() {
            tracing::warn!("submission notices are disabled: set [basalt.shop] owner in config.toml to an address");
        }
        let function = SendSubmission::new(app.pool.clone(), outbox, submission_settings(project, &app.mail_host))
            .with_template_titles(template_titles(shop));
        functions = functions.with_function(function, send_submission.verify_jwt);
    }
    let unserved = project_schema::list_unserved_functions(project, &BUILT_IN_FUNCTIONS);
    if !unserved.is_empty() && project.file.basalt.upstreams.get(Service::Functions).is_none() {
        tracing::warn!(functions = unserved.join(", "), "the functions of the project are not served");
    }
    functions
}
