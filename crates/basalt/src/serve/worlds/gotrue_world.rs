//! Worlds that behave as `basalt gotrue`, with settings in its variables.

use std::sync::Arc;

use axum::extract::Request;
use futures::FutureExt;
use gotrue_rs::app::EmailDelivery;
use gotrue_rs::config::{Config, Vars, load};
use http::Uri;
use http_edge::request::with_path;
use messages::{MessageSender, MessageStore};
use platform::entropy::Entropy;
use platform::explanation::{ExplanationStore, Explanations};
use platform::mail::outbox::{MailDestination, Outbox};
use platform::store::outbox::OutboxTable;
use test_bench::backend::{Backend, BackendPlan};
use test_bench::faults::FaultyMailer;
use tokio::sync::watch;
use tower::ServiceExt;

use super::WorldBackends;
use crate::dev::{Access, DevelopmentPages, is_explanation_path};
use crate::{app, profiles, reload};

/// The path below which clients of Supabase find the auth API.
const MOUNT: &str = "/auth/v1";

impl WorldBackends {
    /// Builds a backend of this profile: the auth API at the world's URL and at `/auth/v1` below it.
    pub(super) fn build_gotrue(&self, plan: &BackendPlan, entropy: &Entropy) -> anyhow::Result<Backend> {
        let mut config = read_settings(plan)?;
        profiles::apply_gotrue_profile(&mut config.policy);
        let pool = self.build_pool(&mut config, &plan.database)?;
        let shared = self.ports(plan);
        let table = OutboxTable::new(pool.clone());
        // Tests read the messages of every world.
        let outbox = Outbox::new(table, Arc::clone(&plan.clock), entropy.fork(), MailDestination::Inbox);
        let (closing, signal) = watch::channel(false);
        let messages = MessageStore::new(outbox.inbox(), MessageSender::default(), signal);
        // As in `basalt gotrue`, a request waits for the mail server, and fails with it.
        let mailer = FaultyMailer::new(Arc::new(outbox), Arc::clone(&plan.faults));
        let app = app::build(&config, &shared, pool, EmailDelivery::Synchronous(Arc::new(mailer)))?;
        let id_prefix = entropy.base32(5).to_ascii_lowercase();
        let store = Arc::new(ExplanationStore::new(&plan.url, &id_prefix));
        let explanations = Explanations::default().with_events(plan.events.clone()).with_store(Arc::clone(&store));
        let app = Arc::new(app.with_explanations(explanations));
        let router = gotrue_rs::router(Arc::clone(&app));
        // As in `basalt gotrue`, there are no other development pages.
        let pages = Arc::new(DevelopmentPages::new(None, Access::new(true, None)).with_explanations(Some(store)));
        let handler = Arc::new(move |mut request: Request| {
            let (router, pages) = (router.clone(), Arc::clone(&pages));
            async move {
                if is_explanation_path(request.uri().path()) {
                    return pages.answer(request).await;
                }
                *request.uri_mut() = without_mount(request.uri());
                let Ok(response) = router.oneshot(request).await;
                response
            }
            .boxed()
        });
        Ok(Backend { app, handler, messages, providers: None, pause: None, closing, tasks: Vec::new() })
    }
}

/// Reads the variables; those that a world decides have defaults, and its links stay below its URL.
fn read_settings(plan: &BackendPlan) -> anyhow::Result<Config> {
    let mut vars = plan.settings.env.clone();
    let defaults = [
        ("GOTRUE_SITE_URL", "http://localhost:3000"),
        ("GOTRUE_JWT_SECRET", &plan.keys.jwt_secret),
        ("GOTRUE_DB_DRIVER", "postgres"),
    ];
    for (name, value) in defaults {
        vars.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    vars.retain(|name, _| !name.ends_with("API_EXTERNAL_URL"));
    vars.insert("API_EXTERNAL_URL".to_owned(), format!("{}{MOUNT}", plan.url));
    for kind in ["INVITE", "CONFIRMATION", "RECOVERY", "EMAIL_CHANGE"] {
        let path = vars.entry(format!("GOTRUE_MAILER_URLPATHS_{kind}")).or_insert_with(|| format!("{MOUNT}/verify"));
        // A path alone would replace that of the world.
        if path.starts_with('/') {
            path.insert_str(0, &plan.url);
        }
    }
    // A placeholder; the URL is set when the pool is built.
    vars.insert("DATABASE_URL".to_owned(), "postgresql://localhost/postgres".to_owned());
    load(&Vars::from_map(vars)).map_err(|problems| anyhow::Error::msg(reload::format_problems(&problems)))
}

fn without_mount(uri: &Uri) -> Uri {
    let path = match uri.path().strip_prefix(MOUNT) {
        Some("") => "/",
        Some(rest) if rest.starts_with('/') => rest,
        _ => uri.path(),
    };
    with_path(uri, path)
}
