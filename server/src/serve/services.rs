//! The services of `basalt serve`: auth, functions, shop and development pages, put behind one door.

use std::sync::Arc;
use std::time::Duration;

use functions_rs::functions::send_submission::digest::Digests;
use functions_rs::functions::send_submission::limits::SubmissionLimits;
use functions_rs::functions::send_submission::{SendSubmission, Settings};
use functions_rs::{ApiKey, Functions, TrustedProxies};
use gotrue_rs::app::{App, Delivery};
use gotrue_rs::config::Config;
use gotrue_rs::ports::clock::SystemClock;
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::mail::outbox::{Destination, Outbox};
use gotrue_rs::store::Pool;
use gotrue_rs::store::outbox::Table;
use gotrue_rules::domain::secret::Secret;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::api_keys::{ApiKeys, Gateway};
use crate::assets::{Shop, Site};
use crate::cli::Project;
use crate::config_file::FunctionSettings;
use crate::dev::consent;
use crate::dev::provider::{Provider, Registration};
use crate::dev::{Access, Dev, Inbox};
use crate::front::Front;
use crate::{gotrue, outside, profiles, upkeep};
use http_edge::Closing;

/// What the shop calls itself; the same word stands in `frontend/src/shared/product.ts`.
const PRODUCT: &str = "Email Templates";
/// The same text of the same visitor is the same submission this long.
const REPEAT_WITHIN: Duration = Duration::from_mins(2);

/// Everything that runs beside the requests.
pub struct Services {
    /// The door.
    pub front: Arc<Front>,
    /// The mails.
    pub outbox: Arc<Outbox>,
    /// Delivers mails until the end; without a mail server forgets old ones.
    pub worker: JoinHandle<()>,
    /// Keeps the database in shape until the end.
    pub upkeep: JoinHandle<()>,
}

/// What the services need of what was prepared.
pub struct Needs<'a> {
    /// The project.
    pub project: &'a Project,
    /// Its keys.
    pub keys: &'a Arc<ApiKeys>,
    /// The database, migrated.
    pub pool: Pool,
    /// Tells of the end.
    pub closing: Closing,
    /// The development provider, where it is wanted.
    pub provider: Option<Registration>,
    /// The page that asks for consent, where the operator has none.
    pub consent: Option<consent::Page>,
}

impl Services {
    /// Builds and starts them.
    pub fn start(config: &Config, needs: Needs<'_>) -> anyhow::Result<Self> {
        let Needs { project, keys, pool, closing, provider, consent } = needs;
        let entropy = Entropy::from_system();
        let site_url = config.policy.site.site_url.clone();
        let mail_server = outside::mail_server(config)?;
        let outbox = Arc::new(outbox(&pool, mail_server.is_some(), &entropy));
        let inbox = mail_server.is_none().then(|| Arc::new(outbox.inbox()) as Arc<dyn Inbox>);
        let mut until = closing.clone();
        let stop = async move { drop(until.wait_for(|closing| *closing).await) };
        let worker = match mail_server {
            Some(mail_server) => tokio::spawn(outbox.worker(mail_server).run(stop)),
            None => tokio::spawn(outbox.sweeper().run(stop)),
        };
        let app = Arc::new(gotrue::build(config, pool, Delivery::Outbox(Arc::clone(&outbox)))?);
        tokio::spawn(try_out_letters(Arc::clone(&app)));
        let upkeep = upkeep::start(watch::channel(Arc::clone(&app)).1, closing.clone());
        let digests = digests(project, &app, Arc::clone(&outbox));
        let mut until = closing.clone();
        let upkeep = tokio::spawn(async move {
            let digests = digests.run(async move { drop(until.wait_for(|closing| *closing).await) });
            drop(tokio::join!(upkeep, digests));
        });
        let provide = |registration| Provider::new(registration, Arc::new(SystemClock), entropy.fork());
        let provider = provider.map(provide).transpose()?;
        let basalt = &project.file.basalt;
        let proxies = TrustedProxies::new(basalt.trusted_proxies.iter().copied());
        let access = Access::new(profiles::has_development_pages(config, basalt), basalt.inbox_token.clone());
        let verifying = Arc::clone(&app);
        let verifies = move |token: &str| verifying.keys.verify(token, verifying.clock.now()).is_ok();
        let front = Front {
            auth: gotrue_rs::router(Arc::clone(&app)),
            functions: functions_rs::router(
                functions(project, &app, keys, Arc::clone(&outbox)).trusting(proxies.clone()),
            ),
            shop: Shop::open(&Site { url: "", key: &keys.publishable_key, site_url: &site_url }),
            dev: Dev::new(inbox.filter(|_| project.file.inbox_enabled()), access, closing)
                .watching(Arc::clone(&outbox))
                .providing(provider)
                .consenting(consent),
            gateway: Gateway::new(Arc::clone(keys), verifies),
            proxies,
            entropy,
        };
        Ok(Self { front: Arc::new(front), worker, upkeep, outbox })
    }
}

/// Texts of mails that are somewhere else are fetched beside the start: who wrote them need not wait for the first mail to
/// hear what is wrong with them.
async fn try_out_letters(app: Arc<App>) {
    for line in app.letters.try_out(app.clock.now()).await {
        tracing::warn!("{line}");
    }
}

/// Mails are rows of the writes that ask for them; without a mail server they stay where the inbox shows them.
fn outbox(pool: &Pool, has_mail_server: bool, entropy: &Entropy) -> Outbox {
    let destination = if has_mail_server { Destination::Server } else { Destination::Inbox };
    Outbox::new(Table::new(pool.clone()), Arc::new(SystemClock), entropy.fork(), destination)
}

/// The functions that are built in, as `[functions.NAME]` wants them.
fn functions(project: &Project, app: &Arc<App>, keys: &ApiKeys, outbox: Arc<Outbox>) -> Functions {
    let key = |key: &str, is_secret| ApiKey { key: Secret::from(key), is_secret };
    let known = vec![key(&keys.publishable_key, false), key(&keys.secret_key, true)];
    let checking = Arc::clone(app);
    let check_token = Arc::new(move |token: &str, now| checking.keys.verify(token, now).ok());
    let verifier = Arc::new(functions_rs::Credentials::new(known, check_token));
    let mut functions = Functions::new(verifier, app.clock.clone(), app.entropy.fork());

    let wanted = project.file.functions();
    let send_submission = FunctionSettings::of(&wanted, "send-submission");
    if send_submission.enabled {
        if project.file.basalt.shop_owner.is_none() {
            tracing::warn!("nobody is told of submissions: set [basalt.shop] owner in config.toml to an address");
        }
        let function = SendSubmission::new(app.pool.clone(), outbox, submissions(project, app));
        functions = functions.with(function, send_submission.verify_jwt);
    }
    for (name, settings) in &wanted {
        if settings.enabled && !functions.names().any(|known| known == name) {
            tracing::warn!(
                "[functions.{name}] names no function of this program; functions of your own are not run yet"
            );
        }
    }
    functions
}

/// What tells the owner of submissions beyond the hourly limit, also of those that an earlier server has stored.
fn digests(project: &Project, app: &App, outbox: Arc<Outbox>) -> Digests {
    let settings = submissions(project, app);
    Digests::new(app.pool.clone(), outbox, settings, app.clock.clone(), app.entropy.fork())
}

fn submissions(project: &Project, app: &App) -> Settings {
    let basalt = &project.file.basalt;
    let usual = SubmissionLimits::default();
    Settings {
        owner: basalt.shop_owner.clone(),
        shop: PRODUCT.to_owned(),
        host: app.mail_host.clone(),
        limits: SubmissionLimits { notices: basalt.notices_an_hour.unwrap_or(usual.notices), ..usual },
        repeat_within: REPEAT_WITHIN,
    }
}
